//! From a case that fails to a small one that fails in the same way.

mod cut;

use std::time::Instant;

use ubtile_testkit::{component, encode};
use ubtile_tiling::Dtype;

use super::cases::Tree;
use super::{Case, Finding, Verdict};

/// The smallest case that is found in time: first a simpler problem with data of its own, then fewer images, channels and points of
/// it, then plain data, which may let go of more.
pub(crate) fn smallest(
    mut tree: Tree,
    case: Case,
    finding: Finding,
    mut attempt: impl FnMut(&Case) -> Verdict,
    until: Instant,
) -> (Case, Finding) {
    let kind = finding.kind;
    let mut best = (case, finding);
    let mut fails = |case: &Case| match attempt(case) {
        Verdict::Wrong(finding) if finding.kind == kind => Some(finding),
        _ => None,
    };
    let in_time = || Instant::now() < until;
    let mut more = tree.simplify();
    while more && in_time() {
        let failed = tree.case().and_then(|case| fails(&case).map(|finding| (case, finding)));
        more = match failed {
            Some(simpler) => {
                best = simpler;
                tree.simplify()
            }
            None => tree.complicate(),
        };
    }
    fewer(&mut best, &mut fails, in_time);
    plain_data(&mut best, &mut fails, in_time);
    fewer(&mut best, &mut fails, in_time);
    best
}

/// Leaves out what does not matter.
fn fewer(best: &mut (Case, Finding), fails: &mut impl FnMut(&Case) -> Option<Finding>, in_time: impl Fn() -> bool) {
    while in_time() {
        let smaller = cut::parts(&best.0).find_map(|part| fails(&part).map(|finding| (part, finding)));
        match smaller {
            Some(smaller) => *best = smaller,
            None => return,
        }
    }
}

/// Sets elements to 0, and those that matter to 1, in runs of half the length each time.
fn plain_data(
    best: &mut (Case, Finding),
    fails: &mut impl FnMut(&Case) -> Option<Finding>,
    in_time: impl Fn() -> bool,
) {
    for number in 0..best.0.inputs.tensors().len() {
        let Some(desc) = best.0.inputs.tensors().get(number).map(|(_, data)| *data.desc()) else { continue };
        let dtype = component(desc.dtype).0;
        let offsets: Vec<_> = best.0.inputs.tensors().get(number).map_or_else(Vec::new, |(_, d)| d.offsets().collect());
        for plain in [0, one(dtype)] {
            let mut length = offsets.len();
            while length > 0 && in_time() {
                for run in offsets.chunks(length).take_while(|_| in_time()) {
                    let mut candidate = best.0.clone();
                    let mut tensors = candidate.inputs.tensors_mut();
                    let Some((_, data)) = tensors.get_mut(number) else { continue };
                    // A 0 is as plain as can be.
                    let changes = run.iter().filter(|&&at| data.bits(at) != plain && data.bits(at) != 0).count();
                    for &at in run {
                        if data.bits(at) != 0 {
                            data.set_bits(at, plain);
                        }
                    }
                    if changes > 0
                        && let Some(finding) = fails(&candidate)
                    {
                        *best = (candidate, finding);
                    }
                }
                length /= 2;
            }
        }
    }
}

fn one(dtype: Dtype) -> u64 {
    encode(dtype, 1.0)
}
