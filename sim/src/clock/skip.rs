//! Loops of a core that do the same again and again are not walked through.
//!
//! A loop is left out only where nothing else can tell: its body touches neither global memory nor other cores, and no number that time
//! depends on depends on the loop's variable or on what the loop reads, so each iteration does the same to the core's pipes. Once the
//! core's state, relative to its own time, is at the beginning of an iteration what it was at the beginning of the one before, all
//! further ones take as long. The last one is walked through: addresses that are in range at both ends are so between them.

use crate::program::{
    Assume, Condition, Expr, Extent, Flag, Float, Instruction, Local, LoopState, Mask, Move, Node, NodeId, Operand,
    Pipe, Place, Program, Read, Reg, Rows, Scalar, Statement, Vector, Write, visit,
};

use super::core::{Core, Halt, ScalarCounts, Stop, V};
use super::pipe::Counts;
use super::tick::Tick;

/// Ticks of a core, and its steps, beyond which sums over all cores would not fit: a day of a product's.
const MOST: u64 = 1 << 57;

/// What is known of a core's loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Skips {
    /// By node: whether it is a loop of which iterations can be left out.
    regular: Vec<bool>,
    /// The last beginnings, of outer loops before inner ones.
    seen: Vec<Seen>,
}

/// A core at the beginning of an iteration.
#[derive(Clone, Debug)]
struct Seen {
    node: NodeId,
    depth: usize,
    now: Tick,
    state: Vec<u64>,
    counts: ScalarCounts,
    vector: Counts,
}

impl Skips {
    /// Finds a program's regular loops.
    pub(super) fn of(program: &Program) -> Self {
        let mut regular = Vec::new();
        visit(&program.source().body, &mut |node, item| {
            regular.resize(node.0 as usize + 1, false);
            if let Node::For(repeated) = item {
                let mut vars = vec![repeated.var];
                visit(&repeated.body, &mut |_, item| match item {
                    Node::Do(Statement { instruction: Instruction::Read(read), .. }) => vars.push(read.into),
                    Node::For(inner) => vars.push(inner.var),
                    _ => {}
                });
                regular[node.0 as usize] = is_regular(&repeated.body, &vars);
            }
        });
        Self { regular, seen: Vec::new() }
    }

    /// Whether all that a loop does is take time, the same each time.
    pub(super) fn is_regular(&self, node: NodeId) -> bool {
        self.regular.get(node.0 as usize).copied().unwrap_or(false)
    }
}

/// Whether some code does the same whatever `vars` are.
fn is_regular(body: &[Node], vars: &[Reg]) -> bool {
    body.iter().all(|node| match node {
        Node::Do(statement) => is_same(&statement.instruction, vars),
        Node::Tile(tile) => is_regular(&tile.body, vars),
        Node::If(branch) => {
            let Condition { left, right, .. } = &branch.condition;
            number(left, vars)
                && number(right, vars)
                && is_regular(&branch.then, vars)
                && is_regular(&branch.otherwise, vars)
        }
        Node::For(inner) => {
            // What depends on an inner variable does the same each time the inner loop runs; outside of it there is what it left.
            let others: Vec<Reg> = vars.iter().copied().filter(|var| *var != inner.var).collect();
            expr(&inner.from, vars) && expr(&inner.to, vars) && is_regular(&inner.body, &others)
        }
    })
}

fn expr(expr: &Expr, vars: &[Reg]) -> bool {
    expr.terms().iter().all(|(reg, _)| !vars.contains(reg))
}

fn number(scalar: &Scalar, vars: &[Reg]) -> bool {
    match scalar {
        Scalar::Int(value) => expr(value, vars),
        Scalar::Float(Float::Reg(reg)) => !vars.contains(reg),
        Scalar::Float(Float::Bits(_)) => true,
    }
}

fn is_same(instruction: &Instruction, vars: &[Reg]) -> bool {
    let local = |Local { slot, offset, .. }: &Local| expr(slot, vars) && expr(offset, vars);
    match instruction {
        Instruction::Vector(Vector { operands, extent, .. }) => {
            operands.iter().all(|Operand { at, .. }| local(at))
                && match extent {
                    Extent::Count(count) => expr(count, vars),
                    Extent::Repeats { repeats, mask: Mask::First(lanes) } => expr(repeats, vars) && expr(lanes, vars),
                    Extent::Repeats { repeats, .. } => expr(repeats, vars),
                }
        }
        Instruction::Move(Move { to, from, burst }) => {
            local(to)
                && local(from)
                && [&burst.blocks, &burst.bytes, &burst.from_gap, &burst.to_gap].map(|e| expr(e, vars)) == [true; 4]
        }
        Instruction::Transpose(transpose) => {
            let rows = |Rows { at, .. }: &Rows| local(at);
            rows(&transpose.to) && rows(&transpose.from) && expr(&transpose.repeats, vars)
        }
        Instruction::SetFlag(Flag { from, to, id }) | Instruction::WaitFlag(Flag { from, to, id }) => {
            let copies = |pipe: &Pipe| matches!(pipe, Pipe::Mte2 | Pipe::Mte3);
            !copies(from) && !copies(to) && expr(id, vars)
        }
        Instruction::Barrier(pipe) => matches!(pipe, Some(Pipe::V | Pipe::S)),
        // Any address of the UB takes as long; but a run without data must find the same each time.
        Instruction::Read(Read { from: Place::Local(_), assume, .. }) => {
            assume.as_ref().is_some_and(|assume| match assume {
                Assume::Each(values) => values.count() == 1,
                Assume::Quotient { of, .. } => expr(of, vars),
            })
        }
        Instruction::Write(Write { to: Place::Local(_), .. }) => true,
        Instruction::Load(_)
        | Instruction::Store(_)
        | Instruction::Let(..)
        | Instruction::Read(_)
        | Instruction::Write(_)
        | Instruction::SyncAll(_) => false,
    }
}

impl Core<'_> {
    /// At the beginning of an iteration: leaves out the rest of a loop if that is the same again.
    pub(super) fn skip(&mut self, node: NodeId) -> Result<(), Stop> {
        let depth = self.walker.loops().len();
        // What an inner loop did in the iteration before is over.
        while self.skips.seen.last().is_some_and(|seen| seen.depth > depth) {
            self.skips.seen.pop();
        }
        if !self.skips.is_regular(node) {
            return Ok(());
        }
        let now = self.now;
        let before = self.skips.seen.pop_if(|seen| seen.depth == depth);
        // Copies go on meanwhile: the loop neither asks for any nor waits for them.
        if !self.pipes[V].is_idle() {
            return Ok(());
        }
        let state = self.relative();
        let remaining = self.walker.loops().last().map_or(0, LoopState::remaining);
        let before = match before {
            Some(before) if before.node == node && before.state == state && remaining > 1 => before,
            _ => {
                let (counts, vector) = (self.counts, self.pipes[V].counts);
                self.skips.seen.push(Seen { node, depth, now, state, counts, vector });
                return Ok(());
            }
        };
        let remaining = remaining - 1;
        let (by, left_out) = (now - before.now, self.counts.steps - before.counts.steps);
        let all = |since: u64, each: u64| each.checked_mul(remaining).filter(|all| *all <= MOST.saturating_sub(since));
        let (Some(by), Some(left_out)) = (all(now, by), all(self.counts.steps, left_out)) else {
            return Err(Halt::TooLong { core: self.walker.core(), node }.into());
        };
        self.walker.skip(remaining);
        self.now += by;
        self.pipes[V].shift(by, remaining, &before.vector);
        self.flags.shift(by);
        let ScalarCounts { busy, steps, skipped, waited, queue_full, .. } = &mut self.counts;
        *busy += (*busy - before.counts.busy) * remaining;
        *waited += (*waited - before.counts.waited) * remaining;
        *queue_full += (*queue_full - before.counts.queue_full) * remaining;
        *steps += left_out;
        *skipped += left_out;
        Ok(())
    }

    /// All that decides how such a loop goes on, as seen from now.
    fn relative(&self) -> Vec<u64> {
        let mut state = Vec::with_capacity(96);
        let vector = &self.pipes[V];
        vector.relative(self.now, &mut state);
        self.flags.relative(self.now, &mut state);
        state.extend([
            vector.before.total,
            vector.before.repeats,
            vector.written.start.into(),
            vector.written.end.into(),
        ]);
        state
    }
}
