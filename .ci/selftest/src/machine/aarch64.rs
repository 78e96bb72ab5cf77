//! Arm's virt machine of QEMU: a serial port, and semihosting to exit.

use core::arch::{asm, global_asm};

global_asm!(
    r#"
    .section .head, "ax"
    .global _start
_start:
    // Access to the floating-point unit (CPACR_EL1.FPEN).
    mov x0, #(3 << 20)
    msr cpacr_el1, x0
    isb
    msr fpcr, xzr
    adr x0, vectors
    msr vbar_el1, x0
    ldr x0, =stack_top
    mov sp, x0
    bl image_main
    .ltorg

    .balign 2048
vectors:
    .rept 16
    b fault
    .balign 128
    .endr
"#
);

/// Prints a byte.
pub(crate) fn put(byte: u8) {
    // SAFETY: the data register of the machine's serial port.
    unsafe { (0x0900_0000 as *mut u32).write_volatile(u32::from(byte)) };
}

/// Ends the machine (SYS_EXIT_EXTENDED, ADP_Stopped_ApplicationExit).
pub(crate) fn exit(good: bool) -> ! {
    let block = [0x20026u64, u64::from(!good)];
    // SAFETY: QEMU takes the instruction as a call that reads two words.
    unsafe { asm!("hlt #0xF000", in("x0") 0x20, in("x1") block.as_ptr()) };
    loop {}
}

/// Ends the machine as if all were well, without a word.
#[cfg(feature = "plant-crash")]
pub(crate) fn crash() -> ! {
    exit(true)
}
