//! RISC-V's virt machine of QEMU: a serial port, and the test device to exit.

use core::arch::global_asm;

#[cfg(target_arch = "riscv64")]
global_asm!(
    r#"
    .section .head, "ax"
    .global _start
_start:
    # Access to the floating-point unit (mstatus.FS), and round to nearest.
    li t0, 0x2000
    csrs mstatus, t0
    csrw fcsr, zero
    la t0, fault
    csrw mtvec, t0
    la sp, stack_top
    call image_main
"#
);
#[cfg(target_arch = "riscv32")]
global_asm!(
    r#"
    .section .head, "ax"
    .global _start
_start:
    la t0, fault
    csrw mtvec, t0
    la sp, stack_top
    call image_main
"#
);

/// Prints a byte.
pub(crate) fn put(byte: u8) {
    // SAFETY: the data register of the machine's serial port.
    unsafe { (0x1000_0000 as *mut u8).write_volatile(byte) };
}

/// Ends the machine.
pub(crate) fn exit(good: bool) -> ! {
    // SAFETY: the register of the machine's test device.
    unsafe { (0x10_0000 as *mut u32).write_volatile(if good { 0x5555 } else { 0x1_3333 }) };
    loop {}
}

/// Ends the machine as if all were well, without a word.
#[cfg(feature = "plant-crash")]
pub(crate) fn crash() -> ! {
    exit(true)
}
