//! The static library `libubtile.a`: the C functions, and the panic handler that a program without Rust's library needs.
#![no_std]

pub use ubtile_capi::*;

/// No function of the library can panic: the CI proves that none of a linked image reaches this.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
