//! Computes what the words behind [`MARK`] in its file ask for, and prints the elements of the result; 0 if it could not.
//! `.ci/firmware-costs.py` writes the words and counts the machine's instructions.
#![no_std]
#![no_main]

#[cfg_attr(target_arch = "arm", path = "../machine/cortex_m.rs")]
#[cfg_attr(any(target_arch = "riscv32", target_arch = "riscv64"), path = "../machine/riscv.rs")]
#[cfg_attr(target_arch = "aarch64", path = "../machine/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "../machine/x86_64.rs")]
mod machine;

use ubtile_kernels::Level;
use ubtile_selftest::{MARK, Memory, measure};

/// The tensors' memory.
static mut MEMORY: Memory = Memory::new();

/// Mark, operator, dtype, runs: changed in the file, so never taken for constants.
static REQUEST: [u32; 7] = [MARK[0], MARK[1], MARK[2], MARK[3], 0, 0, 1];

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    machine::exit(false)
}

/// An exception that nothing here expects.
#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    machine::exit(false)
}

#[unsafe(no_mangle)]
extern "C" fn image_main() -> ! {
    // SAFETY: reads an array that is there.
    let [.., operator, dtype, runs] = unsafe { (&raw const REQUEST).read_volatile() };
    // SAFETY: this runs once, on one core, and nothing else names it.
    let memory = unsafe { &mut *(&raw mut MEMORY) };
    let level = Level::available().last().unwrap_or(Level::detect());
    let elements = measure(operator, dtype, runs, level, memory);
    for place in [1000, 100, 10, 1] {
        machine::put(b'0' + (elements / place % 10) as u8);
    }
    machine::exit(elements > 0)
}
