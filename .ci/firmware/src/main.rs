//! A bare-metal image that checks, plans and runs the four F32 operators.
//!
//! It shows what gets linked with them: `.ci/firmware-gate.sh` looks into the linked image. Everything that a caller decides
//! (sizes, strides, attributes, lengths of buffers) comes from memory that the compiler knows nothing about, so no check in
//! the libraries can be optimised away because this image happens to ask for something harmless.
#![no_std]
#![no_main]
// An image without any operator shows what the image itself costs.
#![cfg_attr(
    not(any(
        feature = "grid-sampler-2d-backward",
        feature = "max-unpool2d-backward",
        feature = "replication-pad2d-backward",
        feature = "im2col-backward",
    )),
    allow(dead_code, unused_variables)
)]

mod request;

#[cfg(feature = "grid-sampler-2d-backward")]
mod grid_sampler_2d_backward;
#[cfg(feature = "im2col-backward")]
mod im2col_backward;
#[cfg(feature = "max-unpool2d-backward")]
mod max_unpool2d_backward;
#[cfg(feature = "replication-pad2d-backward")]
mod replication_pad2d_backward;

use request::{Arena, Refusal, Request, report};

core::arch::global_asm!(include_str!("boot.s"));

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        safe fn panic_reached() -> !;
    }
    panic_reached()
}

/// Serves requests for ever: one word says which operator, the rest is the operator's.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    loop {
        let mut request = Request::open();
        let operator = request.word();
        let outcome = serve(operator, &mut request, Arena::open());
        report(&mut request, outcome);
    }
}

fn serve(operator: u32, request: &mut Request, arena: Arena) -> Result<(), Refusal> {
    match operator {
        #[cfg(feature = "grid-sampler-2d-backward")]
        0 => grid_sampler_2d_backward::serve(request, arena),
        #[cfg(feature = "max-unpool2d-backward")]
        1 => max_unpool2d_backward::serve(request, arena),
        #[cfg(feature = "replication-pad2d-backward")]
        2 => replication_pad2d_backward::serve(request, arena),
        #[cfg(feature = "im2col-backward")]
        3 => im2col_backward::serve(request, arena),
        _ => Err(Refusal::Malformed),
    }
}
