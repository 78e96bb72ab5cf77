//! Where things lie in the UB, and the vector instructions that programs are made of.

use super::LowerError;
use super::builder::{Builder, int};
use super::{bits_of, element};
use crate::product::{Element, Rounding};
use crate::program::{
    BLOCK, BinaryOp, Burst, Expr, Global, Local, Mask, Pad, REPEAT, Scalar, ScalarOp, UnaryOp, Vector, VectorOp,
    size_of,
};
use ubtile_tiling::Dtype;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = BLOCK as usize;
/// Lanes of 32 bits that a repeat works on.
pub(super) const LANES: usize = REPEAT as usize / 4;
/// Lanes of f32 in a block.
pub(super) const PER_BLOCK: usize = BLOCK_BYTES / 4;
/// Most blocks from a repeat to the next one.
pub(super) const MOST_STRIDE: usize = 255;

/// Blocks as a stride; sizes of a program that fits the UB are small enough.
pub(super) fn stride(blocks: usize) -> u16 {
    u16::try_from(blocks).unwrap_or(u16::MAX)
}

/// So many bytes in whole blocks.
pub(super) const fn blocks(bytes: usize) -> usize {
    bytes.next_multiple_of(BLOCK_BYTES)
}

/// The largest `n` up to `most` for which `bytes(n)` stays within the budget.
pub(super) fn largest(most: usize, budget: usize, bytes: impl Fn(usize) -> usize) -> Result<usize, LowerError> {
    let (mut fits, mut beyond) = (0, most + 1);
    while beyond - fits > 1 {
        let middle = fits.midpoint(beyond);
        if bytes(middle) <= budget { fits = middle } else { beyond = middle }
    }
    if fits == 0 { Err(LowerError::LocalBytes { got: budget, want: bytes(1) }) } else { Ok(fits) }
}

/// An element type with the type that sums of it are made in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compute {
    /// As it is stored.
    pub(super) element: Element,
    /// Bytes of a stored element.
    pub(super) size: usize,
}

impl Compute {
    pub(super) fn of(dtype: Dtype) -> Result<Self, LowerError> {
        match element(dtype)? {
            element @ (Element::F16 | Element::Bf16 | Element::F32) => Ok(Self { element, size: dtype.size() }),
            _ => Err(LowerError::NotOnCore(dtype)),
        }
    }

    /// Whether sums are of another type than what is stored.
    pub(super) const fn is_short(self) -> bool {
        self.size < 4
    }

    /// Stored elements of a block.
    pub(super) const fn per_block(self) -> usize {
        BLOCK_BYTES / self.size
    }
}

/// A run of bytes of a row in the UB, padded with zeros to whole blocks.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Where its first block begins, in bytes.
    pub(super) start: Expr,
    /// Bytes of its blocks.
    pub(super) whole: Expr,
    bytes: Expr,
    left: Expr,
    right: Expr,
}

impl Run {
    /// `bytes` at `at`, both in bytes.
    pub(super) fn new(b: &mut Builder, at: Expr, bytes: Expr) -> Self {
        let start = b.div("block", at.clone(), BLOCK_BYTES) * int(BLOCK_BYTES);
        let left = at - start.clone();
        let used = left.clone() + bytes.clone();
        let whole = b.round_up("blocks", used.clone(), BLOCK_BYTES);
        Self { right: whole.clone() - used, start, whole, bytes, left }
    }

    /// Loads it for several rows, `pitch` bytes apart in the UB and `from_pitch` in global memory.
    pub(super) fn load(
        &self,
        b: &mut Builder,
        to: Local,
        from: Global,
        rows: Expr,
        pitch: usize,
        (from_pitch, element): (Expr, Element),
    ) {
        let burst = Burst {
            blocks: rows,
            bytes: self.bytes.clone(),
            from_gap: from_pitch - self.bytes.clone(),
            to_gap: Expr::from(int(pitch)) - self.whole.clone(),
        };
        let pad = (self.left.as_constant(), self.right.as_constant()) != (Some(0), Some(0));
        // Products that compute BF16 need not pad with it; zero is zero.
        let (element, value) = (bits_of(element), 0.into());
        let pad = pad.then(|| Pad { left: self.left.clone(), right: self.right.clone(), element, value });
        b.load(to, from, burst, pad);
    }
}

/// `to` = `a` op `b`, so many lanes.
pub(super) fn binary(b: &mut Builder, op: BinaryOp, e: Element, operands: [Local; 3], lanes: impl Into<Expr>) {
    b.vector(Vector::new(VectorOp::Binary(op, e), operands).count(lanes));
}

/// `to` += `from`, so many lanes of f32.
pub(super) fn add(b: &mut Builder, to: &Local, from: Local, lanes: impl Into<Expr>) {
    binary(b, BinaryOp::Add, Element::F32, [to.clone(), to.clone(), from], lanes);
}

/// `to` = `from` op number, so many lanes.
pub(super) fn scalar(
    b: &mut Builder,
    op: ScalarOp,
    e: Element,
    [to, from]: [Local; 2],
    number: impl Into<Scalar>,
    lanes: impl Into<Expr>,
) {
    b.vector(Vector::new(VectorOp::WithScalar(op, e), [to, from]).scalar(number).count(lanes));
}

/// A number into so many lanes.
pub(super) fn fill(b: &mut Builder, to: Local, e: Element, number: impl Into<Scalar>, lanes: impl Into<Expr>) {
    b.vector(Vector::new(VectorOp::Duplicate(e), [to]).scalar(number).count(lanes));
}

/// The rounding of a conversion of a number that may not fit: to nearest even; where all fit, the one without a name.
const fn rounding(to: Element, from: Element) -> Rounding {
    match (from, to) {
        (Element::F32, _)
        | (Element::F16 | Element::Bf16, Element::I8 | Element::U8 | Element::I16 | Element::I32)
        | (Element::I16 | Element::I32 | Element::I64, Element::F16 | Element::Bf16 | Element::F32) => Rounding::Even,
        _ => Rounding::Plain,
    }
}

/// Between types.
pub(super) fn cast_op(to: Element, from: Element) -> VectorOp {
    VectorOp::Cast { to, from, rounding: rounding(to, from) }
}

/// So many lanes in another type.
pub(super) fn cast(b: &mut Builder, to: (Local, Element), from: (Local, Element), lanes: impl Into<Expr>) {
    b.vector(Vector::new(cast_op(to.1, from.1), [to.0, from.0]).count(lanes));
}

/// Each of so many elements, a multiple of 8, fills a block.
pub(super) fn broadcast(b: &mut Builder, e: Element, to: Local, from: Local, elements: usize) {
    let size = size_of(e) as usize;
    for first in (0..elements).step_by(8 * MOST_STRIDE) {
        let repeats = (elements - first).min(8 * MOST_STRIDE) / 8;
        let [to, from] = [to.further(int(first * BLOCK_BYTES)), from.further(int(first * size))];
        b.vector(Vector::new(VectorOp::Broadcast(e), [to, from]).repeats(int(repeats)));
    }
}

/// One lane of so many rows, `pitch` bytes apart, from the same lane of blocks in a row.
pub(super) fn insert(b: &mut Builder, e: Element, to: &Local, at: usize, pitch: usize, from: Local, rows: Expr) {
    let size = size_of(e) as usize;
    let block = at / BLOCK_BYTES * BLOCK_BYTES;
    let lane = (at - block) / size;
    let vector = Vector::new(VectorOp::Unary(UnaryOp::Copy, e), [to.further(int(block)), from]);
    b.vector(vector.strides(0, 1, stride(pitch / BLOCK_BYTES)).strides(1, 1, 1).masked(rows, Mask::Bits(1 << lane)));
}
