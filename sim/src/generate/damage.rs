//! Changes to programs that were right.

use crate::program::{Expr, Instruction, Node, NodeId, Source, Statement, visit};

use super::any;
use super::choices::Choices;
use super::mutants::{at, offsets};

/// Changes a program in a few places: an instruction dropped, doubled, moved, or another one put in front; an address or the size of a
/// buffer or a tensor changed. Bounds of loops stay.
pub(super) fn damage(source: &mut Source, choices: &mut Choices<'_>) {
    for _ in 0..choices.between(1, 4) {
        match choices.below(8) {
            0 => {
                let buffer = choices.index(source.buffers.len());
                if let Some(buffer) = source.buffers.get_mut(buffer) {
                    buffer.bytes = 32 * choices.between(0, 20);
                }
            }
            1 => {
                let tensor = choices.index(source.tensors.len());
                if let Some(tensor) = source.tensors.get_mut(tensor) {
                    tensor.shape = vec![choices.below(3000)];
                }
            }
            change => {
                let nodes = instructions(&source.body);
                if nodes.is_empty() {
                    return;
                }
                let id = *choices.pick(&nodes);
                let other = any::instruction(&mut any::Any::new(source, choices));
                at(&mut source.body, id, |body, i| one(body, i, change, other, choices));
            }
        }
    }
}

fn instructions(body: &[Node]) -> Vec<NodeId> {
    let mut all = Vec::new();
    visit(body, &mut |id, node| {
        if matches!(node, Node::Do(_)) {
            all.push(id);
        }
    });
    all
}

/// Changes the instruction at a position of a body.
fn one(body: &mut Vec<Node>, i: usize, change: u64, other: Instruction, choices: &mut Choices<'_>) {
    match change {
        2 => drop(body.remove(i)),
        3 => body.insert(i, body[i].clone()),
        4 => {
            let to = choices.index(body.len());
            body.swap(i, to);
        }
        5 => body.insert(i, Node::Do(Statement { instruction: other, field: None })),
        _ => {
            let Node::Do(Statement { instruction, .. }) = &mut body[i] else { return };
            let mut offsets = offsets(instruction);
            if offsets.is_empty() {
                return;
            }
            let which = choices.index(offsets.len());
            let by = *choices.pick(&[32, -32, 4, -4, 1, 4096, -4096]);
            if let Some(offset) = offsets[which].checked_add_scaled(&Expr::from(1), by) {
                *offsets[which] = offset;
            }
        }
    }
}
