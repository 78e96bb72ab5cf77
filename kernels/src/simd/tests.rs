//! Every operation at every level.

mod apart;
mod compress;
mod conversions;
mod operations;
mod pairs;
mod transpose;

use super::Isa;
use crate::level::{Kernel, Level};

/// A kernel on the instruction set with fewer lanes.
struct OnQuad<K>(K);

impl<K: Kernel> Kernel for OnQuad<K> {
    type Output = K::Output;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> K::Output {
        self.0.run(isa.quad())
    }
}

/// What a kernel gives at every level, and there on the instruction sets with fewer and with more lanes.
fn everywhere<K: Kernel>(kernel: impl Fn() -> K) -> impl Iterator<Item = (String, K::Output)> {
    Level::available().flat_map(move |level| {
        let (own, quad) = (level.dispatch(kernel()), level.dispatch(OnQuad(kernel())));
        let widest = level.dispatch_widest(true, kernel());
        [(level.to_string(), own), (format!("{level}, four lanes"), quad), (format!("{level}, all lanes"), widest)]
    })
}
