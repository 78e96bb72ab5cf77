//! Memory of all cores as the sanitizer sees it.

use std::ops::Range;

use crate::program::{
    Access, BLOCK, Instruction, Node, Place, Program, Space, Tensor, TensorId, Touch, Transfer, Write, visit,
};

use super::by_data::Pieces;
use super::clock::{Now, Order};
use super::shadow::{self, Shadow};
use super::state::{Conflict, Global, Local};

/// What a touch of a step shows, with the first byte of each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    /// It reads what nobody has written.
    pub(super) unwritten: Option<u64>,
    /// It collides with another pipe or core.
    pub(super) race: Option<(u64, Conflict)>,
    /// It collides with a step of the same queue.
    pub(super) queued: Option<(u64, Conflict)>,
}

impl Trouble {
    /// Some bytes of a block, of those that are written, and what they collide with.
    #[inline]
    fn note(&mut self, access: Access, base: u64, written: &mut u32, mask: u32, conflict: Option<Conflict>) {
        let first = |mask: u32| base + u64::from(mask.trailing_zeros());
        if access != Access::Write && *written & mask != mask {
            let at = first(!*written & mask);
            self.unwritten = Some(self.unwritten.map_or(at, |found| found.min(at)));
        }
        if access != Access::Read {
            *written |= mask;
        }
        if let Some(conflict) = conflict {
            let to = if conflict.order == Order::Queued { &mut self.queued } else { &mut self.race };
            let at = first(mask);
            if to.is_none_or(|(found, _)| at < found) {
                *to = Some((at, conflict));
            }
        }
    }
}

/// The tensors. Those that are given and that nobody writes are left out.
pub(super) struct Tensors(Vec<Option<Shadow<Global>>>);

impl Tensors {
    pub(super) fn new(program: &Program) -> Self {
        let mut written = vec![false; program.source().tensors.len()];
        visit(&program.source().body, &mut |_, node| {
            let Node::Do(statement) = node else { return };
            let to = match &statement.instruction {
                Instruction::Store(store) => Some(&store.to),
                Instruction::Write(Write { to: Place::Global(to), .. }) => Some(to),
                _ => None,
            };
            if let Some(written) = to.and_then(|to| written.get_mut(usize::from(to.tensor.0))) {
                *written = true;
            }
        });
        let shadow = |(tensor, written): (&Tensor, bool)| {
            let defined = tensor.role.is_given() || tensor.role.is_zeroed();
            (written || !defined).then(|| Shadow::new(tensor.bytes(), defined))
        };
        Self(program.source().tensors.iter().zip(written).map(shadow).collect())
    }

    /// The first byte of a tensor that nobody has written, and how many there are.
    pub(super) fn unwritten(&self, tensor: TensorId) -> Option<(u64, u64)> {
        self.0.get(usize::from(tensor.0))?.as_ref()?.unwritten()
    }
}

/// The UB of a core.
pub(super) fn local(program: &Program) -> Shadow<Local> {
    Shadow::new(program.local_bytes().into(), false)
}

/// Calls `row` for the pieces of a touch.
fn rows(touch: &Touch, mut row: impl FnMut(Range<u64>)) {
    if touch.rows > 0 && touch.pitch == u64::from(touch.bytes) {
        return row(touch.start..touch.end());
    }
    for i in 0..u64::from(touch.rows) {
        let start = touch.start + i * touch.pitch;
        row(start..start + u64::from(touch.bytes));
    }
}

/// Notes a touch of a step.
pub(super) fn touch(local: &mut Shadow<Local>, tensors: &mut Tensors, now: &Now, touch: &Touch) -> Trouble {
    let mut trouble = Trouble::default();
    let access = touch.access;
    match touch.space {
        Space::Local(..) => rows(touch, |range| {
            local.visit(range, |base, written, mask, state| {
                trouble.note(access, base, written, mask, state.touch(now, access));
            });
        }),
        Space::Global(tensor) => {
            if let Some(Some(shadow)) = tensors.0.get_mut(usize::from(tensor.0)) {
                rows(touch, |range| {
                    shadow.visit(range, |base, written, mask, state| {
                        trouble.note(access, base, written, mask, state.touch(now, access));
                    });
                });
            }
        }
    }
    trouble
}

/// Notes bytes of the UB that a step touches because data say so.
pub(super) fn touch_pieces(local: &mut Shadow<Local>, now: &Now, access: Access, pieces: &Pieces) -> Trouble {
    let mut trouble = Trouble::default();
    for (block, mask) in pieces.blocks() {
        local.visit_block(block, mask, |written, mask, state| {
            trouble.note(access, block * shadow::BLOCK, written, mask, state.touch(now, access));
        });
    }
    trouble
}

/// What a read of the UB finds that nobody has written, without noting it.
pub(super) fn unwritten(local: &mut Shadow<Local>, touch: &Touch) -> Trouble {
    let mut trouble = Trouble::default();
    rows(touch, |range| {
        local.visit(range, |base, written, mask, _| trouble.note(Access::Read, base, written, mask, None));
    });
    trouble
}

/// Makes undefined what a load leaves so: what is behind each block up to a multiple of 32 bytes.
pub(super) fn undefine_tails(local: &mut Shadow<Local>, transfer: &Transfer) {
    let (filled, pitch) = (transfer.local_bytes(), u64::from(transfer.local_pitch()));
    let whole = filled.next_multiple_of(BLOCK);
    if !transfer.load || whole == filled {
        return;
    }
    for block in 0..u64::from(transfer.blocks) {
        let start = u64::from(transfer.local.address) + block * pitch;
        local.set_written(start + u64::from(filled)..start + u64::from(whole), false);
    }
}

/// Makes written what a step would have written, had it been carried out.
pub(super) fn forgive(local: &mut Shadow<Local>, tensors: &mut Tensors, touch: &Touch) {
    if touch.access == Access::Read {
        return;
    }
    rows(touch, |range| match touch.space {
        Space::Local(..) => local.set_written(range, true),
        Space::Global(tensor) => {
            if let Some(Some(shadow)) = tensors.0.get_mut(usize::from(tensor.0)) {
                shadow.set_written(range, true);
            }
        }
    });
}
