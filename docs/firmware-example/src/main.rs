//! Folds the four 2 x 2 windows of a 3 x 3 image back, on a Cortex-M4 without an operating system.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

use ubtile_kernels::im2col_backward::{Inputs, Outputs, run};
use ubtile_kernels::{Level, Values, ValuesMut};
use ubtile_tiling::im2col_backward::{Desc, check, plan};
use ubtile_tiling::{Dtype, Edition, PlanOptions, TargetSpec, TensorDesc};

/// The image; `None` if anything was refused.
fn fold() -> Option<[f32; 9]> {
    // Every window is full of ones, so each pixel counts its windows.
    let grad_output = [1f32; 4 * 4];
    let mut out = [0f32; 9];
    let desc = Desc {
        grad_output: TensorDesc::contiguous(Dtype::F32, &[1, 4, 4]).ok()?,
        input_size: &[3, 3],
        kernel_size: &[2, 2],
        dilation: &[1, 1],
        padding: &[0, 0],
        stride: &[1, 1],
        out: TensorDesc::contiguous(Dtype::F32, &[1, 1, 3, 3]).ok()?,
    };
    let problem = check(&desc, None, Edition::Any).ok()?;
    let target = TargetSpec::from_name("cortex-m4")?;
    let plan = plan(&problem, &target, &PlanOptions::default()).ok()?;
    // This operator needs no workspace: plan.workspace_bytes() is 0.
    let inputs = Inputs { grad_output: Values::F32(&grad_output) };
    let outputs = Outputs { out: ValuesMut::F32(&mut out) };
    run(&plan, Level::scalar(), inputs, outputs, &mut []).ok()?;
    Some(out)
}

#[unsafe(no_mangle)]
extern "C" fn main() -> ! {
    let good = match fold() {
        Some(image) => {
            for row in image.chunks_exact(3) {
                row.iter().for_each(|&count| [b'0' + count as u8, b' '].into_iter().for_each(put));
                put(b'\n');
            }
            image == [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]
        }
        None => false,
    };
    exit(good)
}

/// Prints a byte by semihosting (SYS_WRITEC).
fn put(byte: u8) {
    // SAFETY: a debugger or QEMU takes the breakpoint as a call that reads a byte.
    unsafe { asm!("bkpt 0xAB", inout("r0") 3 => _, in("r1") &raw const byte) };
}

/// Ends QEMU (SYS_EXIT_EXTENDED).
fn exit(good: bool) -> ! {
    let block = [0x20026, u32::from(!good)];
    // SAFETY: as above, two words.
    unsafe { asm!("bkpt 0xAB", inout("r0") 0x20 => _, in("r1") block.as_ptr()) };
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    exit(false)
}

global_asm!(
    r#"
    .syntax unified
    .section .vectors, "a"
    .word stack_top
    .word reset
    .rept 14
    .word stopped
    .endr

    .section .text.reset, "ax"
    .global reset
    .thumb_func
reset:
    @ The floating-point unit is off after a reset (CPACR).
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    orr r1, r1, #(0xF << 20)
    str r1, [r0]
    dsb
    isb
    bl main
    .ltorg
    .thumb_func
stopped:
    b stopped
"#
);
