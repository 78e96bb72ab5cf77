//! The end of a sum: rounded once and written to `out`, of any dtype.

use half::{bf16, f16};

use crate::built::{BF16, F16, F32, F64};
use crate::cast::Round;
use crate::element::{Element, make_canonical};
use crate::level::Kernel;
use crate::simd::{Isa, Real, Vector};
use crate::values::ValuesMut;

/// Cells of `out`: `count` of them from `at`, `step` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) at: usize,
    pub(super) step: usize,
    pub(super) count: usize,
}

impl Run {
    /// Reads the sums that an earlier tile left in these cells to `sums[to..]`.
    pub(super) fn read<A: Real>(self, left: &[A], to: usize, sums: &mut [A]) {
        for (k, sum) in sums.get_mut(to..).unwrap_or_default().iter_mut().enumerate().take(self.count) {
            *sum = left.get(self.at.wrapping_add(k.wrapping_mul(self.step))).copied().unwrap_or_default();
        }
    }
}

/// Ends sums where they were made: those of types that need no rounding.
pub(super) struct End<'a, T>(pub(super) &'a mut [T]);

impl<T: Element> Kernel for End<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        make_canonical(isa, self.0);
    }
}

/// Rounds runs of sums and writes them.
pub(super) struct Write<'a, 'o, I, A> {
    /// Where each run begins in `sums`, and its cells.
    pub(super) runs: I,
    pub(super) sums: &'a [A],
    pub(super) out: &'a mut ValuesMut<'o>,
}

impl<I, A> Kernel for Write<'_, '_, I, A>
where
    I: Iterator<Item = (usize, Run)>,
    A: Real + Round<f16> + Round<bf16> + Round<f32> + Round<f64>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        match self.out {
            ValuesMut::F16(out) if F16 => write(isa, self.runs, self.sums, out),
            ValuesMut::Bf16(out) if BF16 => write(isa, self.runs, self.sums, out),
            ValuesMut::F32(out) if F32 => write(isa, self.runs, self.sums, out),
            ValuesMut::F64(out) if F64 => write(isa, self.runs, self.sums, out),
            // The contract has no other, and what is not built has been refused.
            _ => {}
        }
    }
}

#[inline(always)]
fn write<S: Isa, A: Round<O>, O: bytemuck::Pod>(
    isa: S,
    runs: impl Iterator<Item = (usize, Run)>,
    sums: &[A],
    out: &mut [O],
) {
    let lanes = A::V::<S>::LANES;
    for (from, Run { at, step, count }) in runs {
        let sums = sums.get(from..).and_then(|s| s.get(..count)).unwrap_or(&[]);
        let mut rest = out.get_mut(at..).unwrap_or_default();
        if step == 1 {
            for sums in sums.chunks(lanes) {
                let Some((cells, behind)) = rest.split_at_mut_checked(sums.len()) else { break };
                A::round(isa, Vector::load(isa, sums), cells);
                rest = behind;
            }
            continue;
        }
        let mut at = 0usize;
        for sums in sums.chunks(lanes) {
            let mut cells = [O::zeroed(); 8];
            A::round(isa, Vector::load(isa, sums), cells.get_mut(..lanes).unwrap_or_default());
            for (cell, _) in cells.into_iter().zip(sums) {
                if let Some(to) = rest.get_mut(at) {
                    *to = cell;
                }
                at = at.wrapping_add(step);
            }
        }
    }
}
