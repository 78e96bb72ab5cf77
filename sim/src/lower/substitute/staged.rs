//! The scalar unit beside the copies: blocks come and go through a buffer, and it shifts their elements.

use super::Substitute;
use super::scalar_unit::transport;
use crate::lower::builder::{Builder, int};
use crate::lower::shape::BLOCK_BYTES;
use crate::program::{BufferId, Burst, Expr, Pipe, Place, Relation, TensorId};

/// Bytes of the buffer.
pub(super) const STAGING: usize = 1024;
/// Bytes that fit wherever in a block they begin.
const CHUNK: usize = STAGING - 2 * BLOCK_BYTES;
/// Bytes of whole blocks from which on a copy of them pays for its latency.
const WORTHWHILE: i64 = 128;

impl Substitute<'_> {
    fn staging(&mut self, b: &mut Builder) -> BufferId {
        *self.staging.get_or_insert_with(|| b.buffer_behind("staging", STAGING))
    }

    /// Elements of a tensor from one byte to before another one, each to its place, in the place of MTE2.
    pub(super) fn fetch(
        &mut self,
        b: &mut Builder,
        (tensor, size): (TensorId, usize),
        (first, last): (&Expr, &Expr),
        to: &dyn Fn(Expr) -> Place,
    ) {
        let (staging, flag) = (self.staging(b), self.room.stand_in_flag());
        // What is behind the last whole block of the tensor comes one by one.
        let whole = b.bytes_of(tensor) / int(BLOCK_BYTES) * int(BLOCK_BYTES);
        b.repeat("chunk", (first.clone(), last.clone(), CHUNK), None, |b, chunk| {
            let end = b.min("end", last.clone(), chunk.clone() + int(CHUNK));
            let low = b.div("low", chunk.clone(), BLOCK_BYTES) * int(BLOCK_BYTES);
            let high = b.round_up("high", end.clone(), BLOCK_BYTES);
            let high = b.min("high", whole, high);
            b.when(low.clone(), Relation::Lt, high.clone(), |b| {
                b.after(Pipe::S, Pipe::Mte2, flag);
                b.load_blocks(staging.at(0), tensor.at(low.clone()), Burst::of(high.clone() - low.clone()));
                b.after(Pipe::Mte2, Pipe::S, flag);
            });
            let there = b.min("there", end.clone(), high.clone());
            b.repeat("k", (chunk.clone(), there, size), None, |b, k| {
                transport(b, to(k.clone()), Place::Local(staging.at(k - low)), size);
            });
            let rest = b.max("rest", chunk, high);
            b.repeat("k", (rest, end, size), None, |b, k| {
                transport(b, to(k.clone()), Place::Global(tensor.at(k)), size);
            });
        });
    }

    /// Elements from their places to a tensor, from one byte to before another one, in the place of MTE3.
    pub(super) fn deliver(
        &mut self,
        b: &mut Builder,
        (tensor, size): (TensorId, usize),
        (first, last): (&Expr, &Expr),
        from: &dyn Fn(Expr) -> Place,
    ) {
        let (staging, flag) = (self.staging(b), self.room.stand_in_flag());
        let one_by_one = |b: &mut Builder, first: Expr, last: Expr| {
            b.repeat("k", (first, last, size), None, |b, k| {
                transport(b, Place::Global(tensor.at(k.clone())), from(k), size);
            });
        };
        let up = b.round_up("up", first.clone(), BLOCK_BYTES);
        let down = b.div("down", last.clone(), BLOCK_BYTES) * int(BLOCK_BYTES);
        b.either(
            down.clone() - up.clone(),
            Relation::Lt,
            WORTHWHILE,
            |b| one_by_one(b, first.clone(), last.clone()),
            |b| {
                one_by_one(b, first.clone(), up.clone());
                b.repeat("chunk", (up.clone(), down.clone(), STAGING), None, |b, chunk| {
                    let end = b.min("end", down.clone(), chunk.clone() + int(STAGING));
                    b.repeat("k", (chunk.clone(), end.clone(), size), None, |b, k| {
                        let to = Place::Local(staging.at(k.clone() - chunk.clone()));
                        transport(b, to, from(k), size);
                    });
                    b.after(Pipe::S, Pipe::Mte3, flag);
                    b.store_blocks(tensor.at(chunk.clone()), staging.at(0), Burst::of(end - chunk));
                    b.after(Pipe::Mte3, Pipe::S, flag);
                });
                one_by_one(b, down.clone(), last.clone());
            },
        );
    }
}
