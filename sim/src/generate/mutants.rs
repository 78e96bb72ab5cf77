//! Programs that differ from another in one place.

use crate::program::{
    Expr, Flag, For, If, Instruction, Limits, Local, Node, NodeId, Place, Program, Source, Statement, SyncAll, Tile,
    visit,
};
use crate::text;

/// What a mutant changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A flag, or all between two pipes.
    Flag,
    /// The size of a buffer.
    Buffer,
    /// An address of an instruction.
    Address,
}

impl Change {
    /// Every kind with its name.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Flag, "flags"), (Self::Buffer, "buffers"), (Self::Address, "addresses")];
}

/// A program that differs from another in one place.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What kind of place.
    pub change: Change,
    /// The change in words.
    pub what: String,
    /// The program, which need not be one that a product can run.
    pub source: Source,
}

/// All mutants: each flag dropped, moved by one in both directions, given the next number, and swapped with the next one; all flags
/// between two pipes dropped; each buffer grown by a block in place and to the end of the UB and one block more; each address shifted by
/// a block and by an element of four bytes in both directions.
#[must_use]
pub fn mutants(program: &Program) -> Vec<Mutant> {
    let mut all = flags(program);
    all.extend(buffers(program.source(), program.limits()));
    all.extend(addresses(program));
    all
}

fn flags(program: &Program) -> Vec<Mutant> {
    let original = program.source();
    let mut found = Vec::new();
    visit(&original.body, &mut |id, node| {
        if let Some(flag) = flag(node) {
            found.push((id, (flag.from, flag.to)));
        }
    });
    let mut all = Vec::new();
    let mut add = |what: String, edit: &mut dyn FnMut(&mut Source) -> bool| {
        let mut source = original.clone();
        if edit(&mut source) {
            all.push(Mutant { change: Change::Flag, what, source });
        }
    };
    for (i, (id, _)) in found.iter().enumerate() {
        let line = format!("{}: {}", program.locate(*id), text::describe(original, *id));
        add(format!("{line} dropped"), &mut |source| {
            at(&mut source.body, *id, |body, i| drop(body.remove(i)));
            true
        });
        for (by, way) in [(-1, "up"), (1, "down")] {
            add(format!("{line} moved {way}"), &mut |source| {
                let mut moved = false;
                at(&mut source.body, *id, |body, i| {
                    if let Some(other) = i.checked_add_signed(by).filter(|other| *other < body.len()) {
                        moved = body[i] != body[other];
                        body.swap(i, other);
                    }
                });
                moved
            });
        }
        add(format!("{line} with the next number"), &mut |source| {
            at(&mut source.body, *id, |body, i| {
                if let Some(flag) = flag_mut(&mut body[i]) {
                    flag.id = flag.id.clone() + 1;
                }
            });
            true
        });
        if let Some((next, _)) = found.get(i + 1) {
            add(format!("{line} swapped with {}", program.locate(*next)), &mut |source| {
                let mut nodes = [None, None];
                for (slot, id) in nodes.iter_mut().zip([*id, *next]) {
                    at(&mut source.body, id, |body, i| *slot = Some(body[i].clone()));
                }
                let [first, second] = nodes;
                let differ = first != second;
                for (node, id) in [second, first].into_iter().flatten().zip([*id, *next]) {
                    at(&mut source.body, id, |body, i| body[i] = node.clone());
                }
                differ
            });
        }
    }
    let mut pairs: Vec<_> = found.iter().map(|(_, pipes)| *pipes).collect();
    pairs.sort_unstable();
    pairs.dedup();
    for (from, to) in pairs {
        add(format!("all flags {} {} dropped", from.name(), to.name()), &mut |source| {
            retain(&mut source.body, &|node| flag(node).is_none_or(|flag| (flag.from, flag.to) != (from, to)));
            true
        });
    }
    all
}

fn buffers(original: &Source, limits: &Limits) -> Vec<Mutant> {
    let mut all = Vec::new();
    for (i, buffer) in original.buffers.iter().enumerate() {
        let to_the_end = limits.ub_bytes.saturating_sub(buffer.address) / buffer.slots / 32 * 32 + 32;
        for bytes in [buffer.bytes + 32, to_the_end] {
            let mut source = original.clone();
            source.buffers[i].bytes = bytes;
            let what = format!("{} grown from {} to {bytes} bytes", buffer.name, buffer.bytes);
            all.push(Mutant { change: Change::Buffer, what, source });
        }
    }
    all
}

fn addresses(program: &Program) -> Vec<Mutant> {
    let original = program.source();
    let mut all = Vec::new();
    visit(&original.body, &mut |id, node| {
        let Node::Do(statement) = node else { return };
        let count = offsets(&mut statement.instruction.clone()).len();
        for (operand, by) in (0..count).flat_map(|operand| [-32, -4, 4, 32].map(|by| (operand, by))) {
            let mut source = original.clone();
            at(&mut source.body, id, |body, i| {
                if let Node::Do(Statement { instruction, .. }) = &mut body[i] {
                    let offset = &mut *offsets(instruction)[operand];
                    *offset = offset.clone() + by;
                }
            });
            let line = text::describe(original, id);
            let what = format!("{}: {line}: address {operand} shifted by {by}", program.locate(id));
            all.push(Mutant { change: Change::Address, what, source });
        }
    });
    all
}

/// The offsets of an instruction's operands.
pub(super) fn offsets(instruction: &mut Instruction) -> Vec<&mut Expr> {
    fn place(place: &mut Place) -> &mut Expr {
        match place {
            Place::Local(Local { offset, .. }) => offset,
            Place::Global(global) => &mut global.offset,
        }
    }
    match instruction {
        Instruction::Load(load) => vec![&mut load.to.offset, &mut load.from.offset],
        Instruction::Store(store) => vec![&mut store.to.offset, &mut store.from.offset],
        Instruction::Move(step) => vec![&mut step.to.offset, &mut step.from.offset],
        Instruction::Vector(vector) => vector.operands.iter_mut().map(|operand| &mut operand.at.offset).collect(),
        Instruction::Transpose(step) => vec![&mut step.to.at.offset, &mut step.from.at.offset],
        Instruction::Read(read) => vec![place(&mut read.from)],
        Instruction::Write(write) => vec![place(&mut write.to)],
        Instruction::SyncAll(SyncAll::Soft { workspace, local }) => vec![&mut workspace.offset, &mut local.offset],
        _ => Vec::new(),
    }
}

fn flag(node: &Node) -> Option<&Flag> {
    match node {
        Node::Do(Statement { instruction: Instruction::SetFlag(flag) | Instruction::WaitFlag(flag), .. }) => Some(flag),
        _ => None,
    }
}

fn flag_mut(node: &mut Node) -> Option<&mut Flag> {
    match node {
        Node::Do(Statement { instruction: Instruction::SetFlag(flag) | Instruction::WaitFlag(flag), .. }) => Some(flag),
        _ => None,
    }
}

/// Calls `edit` with the row that a node is in, and where.
pub(super) fn at(body: &mut Vec<Node>, id: NodeId, edit: impl FnOnce(&mut Vec<Node>, usize)) {
    fn find<'a>(body: &'a mut Vec<Node>, next: &mut u32, id: u32) -> Option<(&'a mut Vec<Node>, usize)> {
        let mut inside = None;
        for i in 0..body.len() {
            if *next == id {
                return Some((body, i));
            }
            let first = *next;
            *next += 1;
            count(&body[i], next);
            if id < *next {
                inside = Some((i, first + 1));
                break;
            }
        }
        let (i, mut next) = inside?;
        match &mut body[i] {
            Node::Do(_) => None,
            Node::For(For { body, .. }) | Node::Tile(Tile { body, .. }) => find(body, &mut next, id),
            Node::If(If { then, otherwise, .. }) => {
                let mut end = next;
                then.iter().for_each(|node| {
                    end += 1;
                    count(node, &mut end);
                });
                if id < end { find(then, &mut next, id) } else { find(otherwise, &mut end, id) }
            }
        }
    }
    /// Adds the nodes inside of one.
    fn count(node: &Node, next: &mut u32) {
        visit(std::slice::from_ref(node), &mut |_, _| *next += 1);
        *next -= 1;
    }
    if let Some((body, i)) = find(body, &mut 0, id.0) {
        edit(body, i);
    }
}

fn retain(body: &mut Vec<Node>, keep: &impl Fn(&Node) -> bool) {
    body.retain(|node| keep(node));
    for node in body {
        match node {
            Node::Do(_) => {}
            Node::For(For { body, .. }) | Node::Tile(Tile { body, .. }) => retain(body, keep),
            Node::If(If { then, otherwise, .. }) => {
                retain(then, keep);
                retain(otherwise, keep);
            }
        }
    }
}
