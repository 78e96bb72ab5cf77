//! Slots of a buffer that pass from pipe to pipe, so that one fills a slot while another empties the one before.

use super::builder::{Builder, int};
use crate::program::{BufferId, Content, Expr, Local, Pipe, Reg};

/// A buffer whose slots go round the same pipes: each hands a slot on by a flag, the last one back to the first.
#[derive(Debug)]
pub(super) struct Ring {
    buffer: BufferId,
    slots: u32,
    /// The slot in hand, where there are several.
    slot: Option<Reg>,
    /// The pipes in order, each with the first flag towards the next.
    stages: Vec<(Pipe, u8)>,
}

impl Ring {
    /// A buffer for these pipes, with no more slots than flags allow beside those of others; they begin free.
    pub(super) fn new(
        b: &mut Builder,
        (name, bytes, slots): (&str, usize, u32),
        field: Option<&str>,
        pipes: &[Pipe],
    ) -> Self {
        let slots = b.room().slots(slots);
        Self::alone(b, (name, bytes, slots), field, pipes)
    }

    /// The only buffer for these pipes, which has all their flags.
    pub(super) fn alone(
        b: &mut Builder,
        (name, bytes, slots): (&str, usize, u32),
        field: Option<&str>,
        pipes: &[Pipe],
    ) -> Self {
        let next = |i: usize| pipes[(i + 1) % pipes.len()];
        let free = pipes.iter().enumerate().map(|(i, pipe)| u32::from(b.free_flags(*pipe, next(i)))).min();
        let slots = slots.min(free.unwrap_or(1)).max(1);
        let buffer = b.buffer(name, bytes, slots, field);
        let slot = (slots > 1).then(|| b.register(&format!("{name}_slot"), Content::Int));
        let stages = pipes.iter().enumerate().map(|(i, pipe)| {
            let first = b.flag_id(*pipe, next(i));
            (1..slots).for_each(|_| _ = b.flag_id(*pipe, next(i)));
            (*pipe, first)
        });
        Self { buffer, slots, slot, stages: stages.collect() }
    }

    /// Before the first use, behind whatever its last pipe has to do first.
    pub(super) fn begin(&self, b: &mut Builder) {
        if let Some(slot) = self.slot {
            b.assign(slot, 0);
        }
        let (from, to, id) = self.flag(self.stages.len() - 1);
        (0..self.slots).for_each(|slot| b.set(from, to, i64::from(id) + i64::from(slot)));
    }

    /// After the last use.
    pub(super) fn end(&self, b: &mut Builder) {
        let (from, to, id) = self.flag(self.stages.len() - 1);
        (0..self.slots).for_each(|slot| b.wait(from, to, i64::from(id) + i64::from(slot)));
    }

    /// Takes the next slot: its first pipe waits until it is free.
    pub(super) fn enter(&self, b: &mut Builder) {
        if let Some(slot) = self.slot {
            let next = if self.slots == 2 {
                Expr::from(1) - slot
            } else {
                b.op("next", crate::program::IntOp::Mod, slot + 1, i64::from(self.slots))
            };
            b.assign(slot, next);
        }
        let (from, to, id) = self.flag(self.stages.len() - 1);
        b.wait(from, to, self.slot() + i64::from(id));
    }

    /// The slot goes from this pipe to the next one.
    pub(super) fn pass(&self, b: &mut Builder, stage: usize) {
        let (from, to, id) = self.flag(stage);
        b.set(from, to, self.slot() + i64::from(id));
        b.wait(from, to, self.slot() + i64::from(id));
    }

    /// The last pipe gives the slot back.
    pub(super) fn leave(&self, b: &mut Builder) {
        let (from, to, id) = self.flag(self.stages.len() - 1);
        b.set(from, to, self.slot() + i64::from(id));
    }

    /// So many bytes into the slot in hand.
    pub(super) fn at(&self, offset: impl Into<Expr>) -> Local {
        self.buffer.slot(self.slot(), offset)
    }

    /// So many bytes into any slot.
    pub(super) fn slot_at(&self, slot: u32, offset: usize) -> Local {
        self.buffer.slot(i64::from(slot), int(offset))
    }

    /// How many slots there are.
    pub(super) const fn slots(&self) -> u32 {
        self.slots
    }

    fn slot(&self) -> Expr {
        self.slot.map_or_else(Expr::default, Expr::from)
    }

    fn flag(&self, stage: usize) -> (Pipe, Pipe, u8) {
        let (from, id) = self.stages[stage];
        (from, self.stages[(stage + 1) % self.stages.len()].0, id)
    }
}
