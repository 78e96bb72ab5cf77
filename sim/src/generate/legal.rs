//! Programs that are right: loops, conditions and tiles around pieces, and loops whose loads, arithmetic and stores overlap.

use ubtile_tiling::Dtype;

use crate::program::{
    BinaryOp, BufferId, Burst, Condition, Content, Expr, Flag, Granularity, Instruction, IntOp, Load, Pipe, Reg,
    Relation, Role, Scalar, Source, Store, Value, Vector, VectorOp, size_of,
};

use super::builder::Builder;
use super::choices::Choices;
use super::has::Has;

/// Loops in loops.
const MOST_LOOPS: usize = 2;

/// A program at random.
pub(super) fn legal(has: &Has, choices: &mut Choices<'_>) -> Source {
    let mut builder = Builder::new(has, choices);
    for _ in 0..builder.choices.between(1, 6) {
        builder.part(2);
    }
    // Something comes of it.
    builder.store();
    builder.finish()
}

impl Builder<'_, '_, '_> {
    /// A part of the code; what is nested is at most so deep.
    fn part(&mut self, depth: u32) {
        match self.choices.below(8) {
            2 if depth > 0 && self.loops.len() < MOST_LOOPS => {
                let most = if self.loops.is_empty() { 24 } else { 5 };
                let count = self.choices.between(1, most);
                self.repeat(count, |this| this.parts(depth - 1));
            }
            3 if depth > 0 => {
                let condition = self.condition();
                self.branch(condition, &mut |this: &mut Self| this.parts(depth - 1));
            }
            4 if depth > 0 => self.tile(|this| this.parts(depth - 1)),
            5 if self.loops.is_empty() => self.exchange(),
            6 => self.overlapped(),
            7 => self.barrier(),
            _ => self.piece(),
        }
    }

    fn parts(&mut self, depth: u32) {
        for _ in 0..self.choices.between(1, 4) {
            self.part(depth);
        }
    }

    /// Of the core, of a loop, or of a constant.
    fn condition(&mut self) -> Condition {
        let of = match (self.choices.below(3), self.loops.last()) {
            (0, _) => Expr::from(Reg::CORE),
            (1, Some(counter)) => Expr::from(counter.var),
            _ => Expr::from(1),
        };
        let relation = Relation::ALL[self.choices.index(Relation::ALL.len())].0;
        let right = i64::from(self.choices.between(0, 4));
        Condition { left: Scalar::Int(of), relation, right: Scalar::Int(right.into()) }
    }

    /// A loop over tiles of two tensors with a slot, or several, of its own for each: while one tile is computed, the next one is loaded
    /// and the one before stored. The flags of each slot say when it is full and when it is free.
    fn overlapped(&mut self) {
        let sum = |op: VectorOp| VectorOp::Binary(BinaryOp::Add, op.element());
        let usable = |op: &&VectorOp| matches!(op, VectorOp::Binary(..)) && self.has.lanes.contains(&sum(**op));
        let ops: Vec<_> = self.has.lanes.iter().filter(usable).copied().collect();
        if ops.is_empty() {
            return;
        }
        let op = *self.choices.pick(&ops);
        let (slots, tiles, size) = (self.choices.between(1, 3), self.choices.between(1, 12), size_of(op.element()));
        let bytes = 256 * self.choices.between(1, 4);
        // A tile may be shorter than its slot, and end anywhere.
        let short = self.choices.one_in(3) && self.has.limits.copy_granule == 1;
        let used = if short { size * self.choices.between(1, bytes / size) } else { bytes };
        let number = self.source.buffers.len();
        let [left, right, result] =
            ["l", "r", "o"].map(|name| self.source.buffer(&format!("{name}{number}"), bytes, slots, None));
        let slot = self.register("s", Content::Int);
        let overlapped = Overlapped {
            op,
            sum: sum(op),
            slots,
            used,
            short,
            left,
            right,
            result,
            slot,
            again: self.choices.between(0, 2),
        };
        self.barrier();
        for flag in (0..slots).flat_map(|slot| free(&i64::from(slot).into())) {
            self.put(Instruction::SetFlag(flag));
        }
        let in_tile = self.choices.one_in(2);
        self.counted(tiles, |this| {
            if in_tile {
                this.tile(|this| this.overlapped_tile(&overlapped))
            } else {
                this.overlapped_tile(&overlapped)
            }
        });
        for flag in (0..slots).flat_map(|slot| free(&i64::from(slot).into())) {
            self.put(Instruction::WaitFlag(flag));
        }
        self.barrier();
    }

    /// One tile of it.
    fn overlapped_tile(&mut self, of: &Overlapped) {
        let Overlapped { op, sum, slots, used, short, left, right, result, slot, again } = *of;
        let Some(counter) = self.loops.last().copied() else { return };
        let (id, bytes, lanes) = (Expr::from(slot), i64::from(used), i64::from(used / size_of(op.element())));
        let granularity = if short { Granularity::Bytes } else { Granularity::Blocks };
        let [freed, written] = free(&id);
        let [loaded, computed] =
            [(Pipe::Mte2, Pipe::V), (Pipe::V, Pipe::Mte3)].map(|(from, to)| Flag { from, to, id: id.clone() });
        self.put(Instruction::Let(slot, Value::IntOp(IntOp::Mod, counter.var.into(), i64::from(slots).into())));
        self.put(Instruction::WaitFlag(freed.clone()));
        for buffer in [left, right] {
            let (tensor, at) = self.input(used);
            let (to, from, burst) = (buffer.slot(slot, 0), tensor.at(at), Burst::of(bytes));
            self.put(Instruction::Load(Load { to, from, burst, granularity, pad: None, bypass: false }));
        }
        self.put(Instruction::SetFlag(loaded.clone()));
        self.put(Instruction::WaitFlag(loaded));
        self.put(Instruction::WaitFlag(written.clone()));
        // The first one gives all lanes values, which others may add to.
        let operands = || [result, left, right].map(|buffer| buffer.slot(slot, 0));
        self.put(Instruction::Vector(Vector::new(sum, operands()).count(lanes)));
        for _ in 0..again {
            self.put(Instruction::Barrier(Some(Pipe::V)));
            self.put(Instruction::Vector(Vector::new(op, operands()).count(lanes)));
        }
        self.put(Instruction::SetFlag(freed));
        self.put(Instruction::SetFlag(computed.clone()));
        self.put(Instruction::WaitFlag(computed));
        // Elements of 2 bytes fit any tile.
        let (tensor, at) = self.results(Dtype::F16, used, Role::Output);
        let (to, from, burst) = (tensor.at(at), result.slot(slot, 0), Burst::of(bytes));
        self.put(Instruction::Store(Store { to, from, burst, granularity, add: None, bypass: false }));
        self.put(Instruction::SetFlag(written));
    }
}

/// A loop whose loads, arithmetic and stores overlap.
#[derive(Clone, Copy)]
struct Overlapped {
    op: VectorOp,
    sum: VectorOp,
    slots: u32,
    /// Bytes of a tile.
    used: u32,
    short: bool,
    left: BufferId,
    right: BufferId,
    result: BufferId,
    /// The register that says which slot is used.
    slot: Reg,
    /// How often more than once something is computed.
    again: u32,
}

/// The flags that say that the slots of the loads and of the results are free.
fn free(slot: &Expr) -> [Flag; 2] {
    [(Pipe::V, Pipe::Mte2), (Pipe::Mte3, Pipe::V)].map(|(from, to)| Flag { from, to, id: slot.clone() })
}
