//! Structured code in a row, for walking.

use super::expr::{Expr, Reg};
use super::instruction::Instruction;
use super::scalar::Condition;
use super::source::{For, If, Node, NodeId, Tile};

/// A piece of code; positions are those of the row.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "most of it is instructions")]
pub(super) enum Op {
    Do(NodeId, Instruction),
    /// Begins a loop, or goes behind its end.
    For(NodeId, Head),
    /// The end of the innermost loop.
    Next,
    /// Goes on, or goes to the position.
    If(NodeId, Condition, usize),
    Jump(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) var: Reg,
    pub(super) from: Expr,
    pub(super) to: Expr,
    pub(super) step: i64,
    pub(super) exit: usize,
}

pub(super) fn flatten(body: &[Node]) -> Vec<Op> {
    let mut code = Vec::new();
    append(body, &mut 0, &mut code);
    code
}

fn append(body: &[Node], next: &mut u32, code: &mut Vec<Op>) {
    for node in body {
        let id = NodeId(*next);
        *next += 1;
        match node {
            Node::Do(statement) => code.push(Op::Do(id, statement.instruction.clone())),
            Node::Tile(Tile { body, .. }) => append(body, next, code),
            Node::For(For { var, from, to, step, body, .. }) => {
                let at = code.len();
                code.push(Op::Next);
                append(body, next, code);
                code.push(Op::Next);
                let head = Head { var: *var, from: from.clone(), to: to.clone(), step: *step, exit: code.len() };
                code[at] = Op::For(id, head);
            }
            Node::If(If { condition, then, otherwise }) => {
                let at = code.len();
                code.push(Op::Next);
                append(then, next, code);
                let jump = code.len();
                if !otherwise.is_empty() {
                    code.push(Op::Next);
                }
                code[at] = Op::If(id, condition.clone(), code.len());
                append(otherwise, next, code);
                if !otherwise.is_empty() {
                    code[jump] = Op::Jump(code.len());
                }
            }
        }
    }
}
