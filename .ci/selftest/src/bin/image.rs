//! Computes the cases on a bare machine, prints a line for each, and exits with a status.
//!
//! A line says `ok` or `WRONG`, the case and its digest; the last one how many cases there were. The runner compares every
//! line, so an image that stops early, or is silent, does not pass.
#![no_std]
#![no_main]

#[cfg_attr(target_arch = "arm", path = "../machine/cortex_m.rs")]
#[cfg_attr(any(target_arch = "riscv32", target_arch = "riscv64"), path = "../machine/riscv.rs")]
#[cfg_attr(target_arch = "aarch64", path = "../machine/aarch64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "../machine/x86_64.rs")]
mod machine;

use ubtile_kernels::Level;
use ubtile_selftest::{Memory, expected, hex, run_all};

/// The tensors' memory.
static mut MEMORY: Memory = Memory::new();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    stop("panic\n")
}

fn stop(why: &str) -> ! {
    print(why);
    machine::exit(false)
}

fn print(text: &str) {
    text.bytes().for_each(machine::put);
}

/// An exception that nothing here expects.
#[unsafe(no_mangle)]
extern "C" fn fault() -> ! {
    stop("fault\n")
}

#[unsafe(no_mangle)]
extern "C" fn image_main() -> ! {
    #[cfg(feature = "plant-crash")]
    machine::crash();
    // SAFETY: this runs once, on one core, and nothing else names it.
    let memory = unsafe { &mut *(&raw mut MEMORY) };
    let (mut cases, mut good) = (0u8, true);
    for level in Level::available() {
        run_all(level, memory, |name, digest| {
            #[cfg(feature = "plant-wrong-bit")]
            let digest = digest.map(|digest| if name.starts_with("im2col,f32") { digest ^ 1 } else { digest });
            let digest = hex(digest.unwrap_or(0));
            let digest = core::str::from_utf8(&digest).unwrap_or("");
            let right = expected(name) == Some(digest);
            good &= right;
            cases = cases.wrapping_add(1);
            if cfg!(feature = "plant-lost-line") && name.starts_with("max-unpool,i8") {
                return;
            }
            for part in [if right { "ok " } else { "WRONG " }, level.name(), " ", name, " ", digest, "\n"] {
                print(part);
            }
        });
    }
    print("cases ");
    [cases / 100, cases / 10 % 10, cases % 10].into_iter().for_each(|digit| machine::put(b'0' + digit));
    print("\n");
    machine::exit(good)
}
