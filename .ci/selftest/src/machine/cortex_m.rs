//! Cortex-M under QEMU: text and exit by semihosting.

use core::arch::{asm, global_asm};

global_asm!(
    r#"
    .syntax unified
    .section .head, "a"
    .word stack_top
    .word _start
    .rept 14
    .word fault
    .endr

    .section .text._start, "ax"
    .global _start
    .thumb_func
_start:
    @ Access to the floating-point unit, where there is one (CPACR, CP10 and CP11).
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    orr r1, r1, #(0xF << 20)
    str r1, [r0]
    dsb
    isb
    bl image_main
    .ltorg
"#
);

fn semihosting(operation: u32, argument: *const u32) {
    // SAFETY: QEMU takes the breakpoint as a call that reads the words at `argument`.
    unsafe { asm!("bkpt 0xAB", inout("r0") operation => _, in("r1") argument) };
}

/// Prints a byte (SYS_WRITEC).
pub(crate) fn put(byte: u8) {
    semihosting(3, &u32::from(byte));
}

/// Ends the machine (SYS_EXIT_EXTENDED, ADP_Stopped_ApplicationExit).
pub(crate) fn exit(good: bool) -> ! {
    semihosting(0x20, [0x20026, u32::from(!good)].as_ptr());
    loop {}
}

/// Something that no handler survives: a fault whose handler's stack is not there.
#[cfg(feature = "plant-crash")]
pub(crate) fn crash() -> ! {
    // SAFETY: on purpose none.
    unsafe { asm!("movs r0, #0", "mov sp, r0", "udf #0", options(noreturn)) }
}
