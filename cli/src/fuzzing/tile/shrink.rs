//! From a case of a tile program that fails to a small one that fails in the same way.

use std::time::Instant;

use ubtile_sim::exec::Global;
use ubtile_sim::generate::{Choices, Values, inputs};
use ubtile_sim::program::TensorId;
use ubtile_tiling::TensorDesc;

use super::{Pair, TileCase};
use crate::fuzzing::{Finding, Kind};
use crate::program::given;

/// The smallest case that is found in time: fewer steps that wait; the simplest values in place of those that do not matter; and
/// again fewer steps. Tensors whose values are somebody's own stay as they are.
pub(crate) fn smallest_tile(
    pair: &Pair,
    case: TileCase,
    finding: Finding,
    fixed: &[String],
    until: Instant,
) -> (TileCase, Finding) {
    let mut shrink = Shrink { pair, best: (case, finding), until };
    shrink.delays();
    let simplest = inputs(&pair.program, Values::Whole, &mut Choices::of_bytes(&[]));
    if let (Some(simplest), Ok(tensors)) = (simplest, given(&pair.program)) {
        for (id, _, desc) in tensors.iter().filter(|(_, name, _)| !fixed.iter().any(|fixed| fixed == name)) {
            shrink.values(*id, desc, &simplest);
        }
    }
    shrink.delays();
    shrink.best
}

struct Shrink<'p> {
    pair: &'p Pair,
    best: (TileCase, Finding),
    until: Instant,
}

impl Shrink<'_> {
    fn in_time(&self) -> bool {
        Instant::now() < self.until
    }

    /// Takes a case that fails in the same way; whether it does.
    fn take(&mut self, case: TileCase) -> bool {
        match self.pair.attempt(&case) {
            Some(finding) if same(&finding, &self.best.1) => {
                self.best = (case, finding);
                true
            }
            _ => false,
        }
    }

    /// Leaves out steps that wait, in runs of half the length each time.
    fn delays(&mut self) {
        let mut length = self.best.0.delays.len();
        while length > 0 {
            let mut at = 0;
            while at < self.best.0.delays.len() && self.in_time() {
                let mut fewer = self.best.0.clone();
                let end = (at + length).min(fewer.delays.len());
                fewer.delays.drain(at..end);
                if !self.take(fewer) {
                    at += length;
                }
            }
            length /= 2;
        }
    }

    /// Puts the simplest values into a tensor, in runs of half the length each time.
    fn values(&mut self, id: TensorId, desc: &TensorDesc, simplest: &Global) {
        let size = desc.dtype.size();
        let simplest = simplest.tensor(id);
        let mut length = simplest.len() / size;
        while length > 0 {
            for (number, plain) in simplest.chunks(length * size).enumerate() {
                let at = number * length * size..number * length * size + plain.len();
                let known = self.best.0.values.tensor(id).get(at.clone());
                if known.is_none_or(|known| known == plain) {
                    continue;
                }
                if !self.in_time() {
                    return;
                }
                let mut simpler = self.best.0.clone();
                if let Some(to) = simpler.values.tensor_mut(id).get_mut(at) {
                    to.copy_from_slice(plain);
                }
                self.take(simpler);
            }
            length /= 2;
        }
    }
}

/// Whether two failures are of one kind; of the sanitizer's, of one of its kinds.
fn same(a: &Finding, b: &Finding) -> bool {
    let head = |finding: &Finding| finding.message.split(':').next().map(str::to_owned);
    a.kind == b.kind && (a.kind != Kind::Sanitizer || head(a) == head(b))
}
