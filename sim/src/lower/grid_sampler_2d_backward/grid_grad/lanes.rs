//! The lanes that instructions compute for `grid_grad`.

use crate::lower::builder::{Builder, int};
use crate::lower::shape::{self, BLOCK_BYTES, fill, stride};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, Mask, Vector, VectorOp};

/// Those of points, side by side.
#[derive(Clone, Copy)]
pub(super) enum Lanes<'a> {
    /// So many points of a channel.
    Points(&'a Expr),
    /// So many channels, each with all of so many points.
    Channels(&'a Expr, usize),
}

/// Where an operand is, and the bytes from a channel to the next one: 0 of what all channels share.
pub(super) type Operand = (Local, usize);

/// Bytes behind the begin of a buffer.
pub(super) type Place = (BufferId, usize);

/// What lies there.
pub(super) fn at((buffer, bytes): Place) -> Local {
    buffer.at(int(bytes))
}

/// Channels that are computed together: as many as sums have lanes.
pub(super) const TOGETHER: usize = 8;

impl Lanes<'_> {
    /// `to` = `a` op `by`.
    pub(super) fn binary(&self, b: &mut Builder, op: BinaryOp, operands: [Operand; 3]) {
        match *self {
            Self::Points(count) => {
                shape::binary(b, op, Element::F32, operands.map(|(at, _)| at), count.clone());
            }
            Self::Channels(channels, points) => {
                for first in (0..points).step_by(shape::LANES) {
                    let lanes = shape::LANES.min(points - first);
                    let at = operands.clone().map(|(at, _)| at.further(int(4 * first)));
                    let mut vector = Vector::new(VectorOp::Binary(op, Element::F32), at);
                    for (i, (_, pitch)) in operands.iter().enumerate() {
                        vector = vector.strides(i, 1, stride(pitch / BLOCK_BYTES));
                    }
                    let vector = vector.masked(channels.clone(), Mask::First(int(lanes).into()));
                    // Other points are other lanes.
                    if first == 0 { b.vector(vector) } else { b.vector_apart(vector) }
                }
            }
        }
    }

    /// Zeros.
    pub(super) fn clear(&self, b: &mut Builder, to: Local) {
        match *self {
            Self::Points(count) => fill(b, to, Element::F32, 0.0, count.clone()),
            Self::Channels(_, points) => fill(b, to, Element::F32, 0.0, int(TOGETHER * points)),
        }
    }
}
