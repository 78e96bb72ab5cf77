//! Sums in f32 in the workspace: zero at first, rounded in the end.

use std::ops::Range;

use ubtile_tiling::VendorPlan;

use crate::lower::builder::{Builder, int};
use crate::lower::ring::Ring;
use crate::lower::shape::{Compute, fill};
use crate::lower::{LowerError, field};
use crate::product::{Element, Rounding};
use crate::program::{Burst, Expr, Pipe, TensorId, Vector, VectorOp};

/// Elements of each core.
pub(super) fn parts(plan: &VendorPlan) -> Result<Vec<Range<usize>>, LowerError> {
    let of = |name| field(plan, name);
    let (used, each, tail) = (of("usedCoreNumCast")?, of("pNumPerCoreCast")?, of("tailPNumCast")?);
    let first = |core: usize| core.min(used) * each + core.min(tail);
    Ok((0..plan.block_dim()).map(|core| first(core)..first(core + 1)).collect())
}

/// `body` for each piece of a core's elements: the first one, and how many.
fn pieces(b: &mut Builder, parts: &[Range<usize>], step: usize, mut body: impl FnMut(&mut Builder, Expr, Expr)) {
    let first = b.per_core("first_element", parts.iter().map(|part| int(part.start)).collect());
    let last = b.per_core("last_element", parts.iter().map(|part| int(part.end)).collect());
    b.repeat("element", (first, last.clone(), step), Some("castElement"), |b, element| {
        let count = b.min("elements", int(step), last - element.clone());
        body(b, element, count);
    });
}

/// Fills the sums with zeros.
pub(super) fn zero(
    b: &mut Builder,
    parts: &[Range<usize>],
    sums: TensorId,
    plan: &VendorPlan,
) -> Result<(), LowerError> {
    let step = step(parts, plan)?;
    let zeros = b.buffer("zeros", 4 * step, 1, Some("castElement"));
    let flag = b.flag_id(Pipe::V, Pipe::Mte3);
    fill(b, zeros.at(0), Element::F32, 0.0, int(step));
    b.after(Pipe::V, Pipe::Mte3, flag);
    pieces(b, parts, step, |b, element, count| {
        b.tile("zero", |b| b.store(sums.at(element * 4), zeros.at(0), Burst::of(count * 4)));
    });
    Ok(())
}

/// Rounds them to the tensor's type.
pub(super) fn round(
    b: &mut Builder,
    parts: &[Range<usize>],
    (sums, to): (TensorId, TensorId),
    (compute, plan): (Compute, &VendorPlan),
) -> Result<(), LowerError> {
    let step = step(parts, plan)?;
    let tile = Some("castElement");
    let loaded = Ring::new(b, ("sums_f32", 4 * step, 1), tile, &[Pipe::Mte2, Pipe::V]);
    let stored = Ring::new(b, ("rounded", compute.size * step, 1), tile, &[Pipe::V, Pipe::Mte3]);
    loaded.begin(b);
    stored.begin(b);
    let size = int(compute.size);
    pieces(b, parts, step, |b, element, count| {
        b.tile("cast", |b| {
            loaded.enter(b);
            b.load(loaded.at(0), sums.at(element.clone() * 4), Burst::of(count.clone() * 4), None);
            loaded.pass(b, 0);
            stored.enter(b);
            let op = VectorOp::Cast { to: compute.element, from: Element::F32, rounding: Rounding::Away };
            b.vector(Vector::new(op, [stored.at(0), loaded.at(0)]).count(count.clone()));
            loaded.leave(b);
            stored.pass(b, 0);
            b.store(to.at(element * size), stored.at(0), Burst::of(count * size));
            stored.leave(b);
        });
    });
    loaded.end(b);
    stored.end(b);
    Ok(())
}

/// Elements at a time: `castElement`, or all where they are fewer.
fn step(parts: &[Range<usize>], plan: &VendorPlan) -> Result<usize, LowerError> {
    let most = parts.iter().map(Range::len).max().unwrap_or(1).max(1);
    Ok(field(plan, "castElement")?.min(most).max(1))
}
