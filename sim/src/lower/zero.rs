//! A problem with nothing to compute: outputs become zero.

use ubtile_tiling::Problem;

use super::builder::{Builder, int};
use super::room::Room;
use super::shape::fill;
use super::{LowerError, tensor};
use crate::product::Element;
use crate::program::{Burst, Pipe};

/// Bytes that a store takes, where there is so much memory.
const PIECE: usize = 32 * 1024;

/// Fills the outputs of a problem on one core.
pub(super) fn zero(problem: &Problem, room: Room) -> Result<crate::program::Source, LowerError> {
    let mut b = Builder::new(1, room);
    let piece = PIECE.min(room.local_bytes) / 32 * 32;
    if piece == 0 {
        return Err(LowerError::LocalBytes { got: room.local_bytes, want: 32 });
    }
    let zeros = b.buffer("zeros", piece, 1, Some("local_bytes"));
    let flag = b.flag_id(Pipe::V, Pipe::Mte3);
    fill(&mut b, zeros.at(0), Element::U16, 0, int(piece / 2));
    b.after(Pipe::V, Pipe::Mte3, flag);
    for slot in problem.tensors() {
        let to = tensor(&mut b, problem, slot.tensor)?;
        let bytes = slot.shape.as_slice().iter().product::<usize>() * slot.dtype.size();
        if slot.output {
            b.repeat("at", (0, int(bytes), piece), None, |b, at| {
                let n = b.min("bytes", int(piece), Into::<crate::program::Expr>::into(int(bytes)) - at.clone());
                b.tile("zero", |b| b.store(to.at(at), zeros.at(0), Burst::of(n)));
            });
        }
    }
    Ok(b.finish())
}
