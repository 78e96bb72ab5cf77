//! Writes a source: code in a row, with loops and conditions around it that are left out where they are known to be needless.

mod scalar_unit;

use ubtile_tiling::Choice;

use super::room::Room;
use crate::product::Element;
use crate::program::{
    Access, BufferId, Burst, Condition, Content, Expr, Flag, For, Global, Granularity, If, Instruction, Load, Local,
    Move, Node, Pad, Pipe, Reg, Relation, Scalar, Source, Statement, Store, SyncAll, TensorId, Tile, Transpose, Vector,
};

/// A source in the making.
#[derive(Debug)]
pub(super) struct Builder {
    source: Source,
    /// What the innermost open loop, condition or tile holds; the last one is open.
    bodies: Vec<Vec<Node>>,
    /// The next free flag of each pair of pipes.
    flags: Vec<((Pipe, Pipe), u8)>,
    /// Where the next buffer begins.
    address: u32,
    pending: Pending,
    room: Room,
    pieces: Vec<Choice>,
}

/// What vector instructions may still be at, since the last barrier of their pipe.
#[derive(Debug, Default)]
struct Pending {
    /// Buffers, each with whether it is written.
    buffers: Vec<(BufferId, bool)>,
    /// Whether there may be any others: at the start and behind the end of loops and conditions.
    unknown: bool,
}

impl Pending {
    /// Whether an instruction on these buffers must wait.
    fn holds(&self, used: &[(BufferId, bool)]) -> bool {
        let meet = |(buffer, writes): &(BufferId, bool)| {
            self.buffers.iter().any(|(other, written)| other == buffer && (*written || *writes))
        };
        self.unknown || used.iter().any(meet)
    }
}

impl Builder {
    /// A program for so many cores.
    pub(super) fn new(cores: usize, room: Room) -> Self {
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        Self {
            source: Source::new(cores),
            bodies: vec![Vec::new()],
            flags: Vec::new(),
            address: 0,
            pending: Pending::default(),
            room,
            pieces: Vec::new(),
        }
    }

    /// The same declarations for other code; and the code.
    pub(super) fn resume(mut source: Source, room: Room) -> (Self, Vec<Node>) {
        let body = std::mem::take(&mut source.body);
        (Self { source, ..Self::new(1, room) }, body)
    }

    /// What it may use.
    pub(super) const fn room(&self) -> Room {
        self.room
    }

    /// Says how large pieces are, those of a core's first part where it has several.
    pub(super) fn piece(&mut self, size: Choice) {
        if !self.pieces.iter().any(|other| other.name == size.name) {
            self.pieces.push(size);
        }
    }

    /// The source, once everything is closed.
    pub(super) fn finish(self) -> Source {
        self.finish_in_pieces().0
    }

    /// The source, and how large its pieces are.
    pub(super) fn finish_in_pieces(mut self) -> (Source, Vec<Choice>) {
        self.source.body = self.bodies.pop().unwrap_or_default();
        (self.source, self.pieces)
    }

    /// What has no code: tensors and buffers.
    pub(super) const fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// Bytes of a tensor.
    pub(super) fn bytes_of(&self, TensorId(tensor): TensorId) -> i64 {
        let bytes = self.source.tensors.get(usize::from(tensor)).map_or(0, |tensor| tensor.bytes());
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// A buffer of so many slots.
    pub(super) fn buffer(&mut self, name: &str, bytes: usize, slots: u32, field: Option<&str>) -> BufferId {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let buffer = self.source.buffer(&self.own_name(name), bytes, slots, field);
        if let Some(made) = self.source.buffers.last_mut() {
            made.address = self.address;
            self.address = self.address.saturating_add(made.bytes.saturating_mul(slots));
        }
        buffer
    }

    /// A buffer behind all others.
    pub(super) fn buffer_behind(&mut self, name: &str, bytes: usize) -> BufferId {
        let (name, bytes) = (self.own_name(name), u32::try_from(bytes).unwrap_or(u32::MAX));
        self.source.buffer(&name, bytes, 1, None)
    }

    /// What follows uses the whole local memory and all flags again, once everything before is done.
    pub(super) fn begin_anew(&mut self) {
        self.emit(Instruction::Barrier(None));
        self.free_all();
    }

    /// The same, once all cores have come here.
    pub(super) fn begin_together(&mut self) {
        self.emit(Instruction::SyncAll(SyncAll::Hard));
        self.free_all();
    }

    fn free_all(&mut self) {
        self.pending = Pending::default();
        self.flags.clear();
        self.address = 0;
    }

    /// A number for each core; a constant where it is the same for all.
    pub(super) fn per_core(&mut self, name: &str, values: Vec<i64>) -> Expr {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => (*first).into(),
            _ => self.register(name, Content::PerCore(values)).into(),
        }
    }

    /// A register with a name of its own.
    pub(super) fn register(&mut self, name: &str, content: Content) -> Reg {
        let name = self.own_name(name);
        self.source.register(&name, content)
    }

    /// A name that nothing has: this one, or with a number.
    fn own_name(&self, name: &str) -> String {
        let taken = |name: &str| {
            let Source { registers, tensors, buffers, .. } = &self.source;
            registers.iter().any(|r| r.name == name)
                || tensors.iter().any(|t| t.name == name)
                || buffers.iter().any(|b| b.name == name)
        };
        let own = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{name}{n}"))).find(|name| !taken(name));
        own.unwrap_or_default()
    }

    /// How many flags from one pipe to another are free.
    pub(super) fn free_flags(&self, from: Pipe, to: Pipe) -> u8 {
        let used = self.flags.iter().find(|(pair, _)| *pair == (from, to)).map_or(0, |(_, used)| *used);
        self.room.flags(from, to).saturating_sub(used)
    }

    /// The next free flag from one pipe to another.
    pub(super) fn flag_id(&mut self, from: Pipe, to: Pipe) -> u8 {
        let at = self.flags.iter().position(|(pair, _)| *pair == (from, to)).unwrap_or_else(|| {
            self.flags.push(((from, to), 0));
            self.flags.len() - 1
        });
        let id = self.flags[at].1;
        assert!(id < self.room.flags(from, to), "more flags from {} to {} than a product has", from.name(), to.name());
        self.flags[at].1 += 1;
        id
    }

    pub(super) fn push(&mut self, node: Node) {
        if let Some(body) = self.bodies.last_mut() {
            body.push(node);
        }
    }

    /// Code that is not put anywhere yet.
    pub(super) fn within(&mut self, body: impl FnOnce(&mut Self)) -> Vec<Node> {
        self.bodies.push(Vec::new());
        body(self);
        self.bodies.pop().unwrap_or_default()
    }

    /// Code that runs any number of times.
    fn sometimes(&mut self, body: impl FnOnce(&mut Self)) -> Vec<Node> {
        self.interrupt();
        let body = self.within(body);
        self.interrupt();
        body
    }

    pub(super) fn emit(&mut self, instruction: Instruction) {
        self.push(Node::Do(Statement { instruction, field: None }));
    }

    /// `body` for each of `from`, `from + step`, ... below `to`.
    pub(super) fn repeat(
        &mut self,
        name: &str,
        (from, to, step): (impl Into<Expr>, impl Into<Expr>, usize),
        field: Option<&str>,
        body: impl FnOnce(&mut Self, Expr),
    ) {
        let (from, to, step) = (from.into(), to.into(), int(step.max(1)));
        if let Some(iterations) = (to.clone() - from.clone()).as_constant()
            && iterations <= step
        {
            if iterations > 0 {
                body(self, from);
            }
            return;
        }
        let var = self.register(name, Content::Int);
        let body = self.sometimes(|b| body(b, var.into()));
        if !body.is_empty() {
            self.push(Node::For(For { var, from, to, step, body, field: field.map(Into::into) }));
        }
    }

    /// `then` where the relation holds.
    pub(super) fn when(
        &mut self,
        left: impl Into<Expr>,
        relation: Relation,
        right: impl Into<Expr>,
        then: impl FnOnce(&mut Self),
    ) {
        self.either(left, relation, right, then, |_| {});
    }

    /// `then` where the relation holds, else `otherwise`.
    pub(super) fn either(
        &mut self,
        left: impl Into<Expr>,
        relation: Relation,
        right: impl Into<Expr>,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) {
        let (left, right) = (left.into(), right.into());
        if let Some(difference) = (left.clone() - right.clone()).as_constant() {
            return if relation.holds(Some(difference.cmp(&0))) { then(self) } else { otherwise(self) };
        }
        let (then, otherwise) = (self.sometimes(then), self.sometimes(otherwise));
        let condition = Condition { left: Scalar::Int(left), relation, right: Scalar::Int(right) };
        self.push(Node::If(If { condition, then, otherwise }));
    }

    /// Code of a tile.
    pub(super) fn tile(&mut self, name: &str, body: impl FnOnce(&mut Self)) {
        let body = self.within(body);
        self.push(Node::Tile(Tile { name: name.into(), body }));
    }

    pub(super) fn set(&mut self, from: Pipe, to: Pipe, id: impl Into<Expr>) {
        self.emit(Instruction::SetFlag(Flag { from, to, id: id.into() }));
    }

    pub(super) fn wait(&mut self, from: Pipe, to: Pipe, id: impl Into<Expr>) {
        self.emit(Instruction::WaitFlag(Flag { from, to, id: id.into() }));
    }

    /// What one pipe does from here on follows what the other has done until now; `id` must be free.
    pub(super) fn after(&mut self, from: Pipe, to: Pipe, id: u8) {
        self.set(from, to, i64::from(id));
        self.wait(from, to, i64::from(id));
    }

    /// A load of any number of bytes.
    pub(super) fn load(&mut self, to: Local, from: Global, burst: Burst, pad: Option<Pad>) {
        let granularity = Granularity::Bytes;
        self.emit(Instruction::Load(Load { to, from, burst, granularity, pad, bypass: false }));
    }

    /// A load of whole blocks.
    pub(super) fn load_blocks(&mut self, to: Local, from: Global, burst: Burst) {
        let granularity = Granularity::Blocks;
        self.emit(Instruction::Load(Load { to, from, burst, granularity, pad: None, bypass: false }));
    }

    /// A store of any number of bytes.
    pub(super) fn store(&mut self, to: Global, from: Local, burst: Burst) {
        self.store_adding(to, from, burst, None);
    }

    /// A store of whole blocks.
    pub(super) fn store_blocks(&mut self, to: Global, from: Local, burst: Burst) {
        let granularity = Granularity::Blocks;
        self.emit(Instruction::Store(Store { to, from, burst, granularity, add: None, bypass: false }));
    }

    /// A store of any number of bytes, that perhaps adds.
    pub(super) fn store_adding(&mut self, to: Global, from: Local, burst: Burst, add: Option<Element>) {
        let granularity = Granularity::Bytes;
        self.emit(Instruction::Store(Store { to, from, burst, granularity, add, bypass: false }));
    }

    /// A vector instruction, behind a barrier if one before it uses the same buffers.
    pub(super) fn vector(&mut self, vector: Vector) {
        let used = Self::used(&vector);
        self.order(&used);
        self.emit(Instruction::Vector(vector));
    }

    /// A vector instruction that touches nothing of the buffers it writes that one before it touches: only those that it reads alone
    /// may need a barrier.
    pub(super) fn vector_apart(&mut self, vector: Vector) {
        let used = Self::used(&vector);
        let is_written = |buffer| used.contains(&(buffer, true));
        self.order(&used.iter().copied().filter(|(buffer, _)| !is_written(*buffer)).collect::<Vec<_>>());
        self.pending.buffers.extend(used);
        self.emit(Instruction::Vector(vector));
    }

    /// A transposition, like [`vector`](Self::vector).
    pub(super) fn transpose(&mut self, transpose: Transpose) {
        self.order(&[(transpose.to.at.buffer, true), (transpose.from.at.buffer, false)]);
        self.emit(Instruction::Transpose(transpose));
    }

    /// A transposition, like [`vector_apart`](Self::vector_apart).
    pub(super) fn transpose_apart(&mut self, transpose: Transpose) {
        self.order(&[(transpose.from.at.buffer, false)]);
        self.pending.buffers.push((transpose.to.at.buffer, true));
        self.emit(Instruction::Transpose(transpose));
    }

    /// A copy of blocks within the UB, like [`vector`](Self::vector).
    pub(super) fn copy(&mut self, copy: Move) {
        self.order(&[(copy.to.buffer, true), (copy.from.buffer, false)]);
        self.emit(Instruction::Move(copy));
    }

    /// Code that others wrote comes before: any of its vector instructions may still be running.
    pub(super) fn interrupt(&mut self) {
        self.pending = Pending { buffers: Vec::new(), unknown: true };
    }

    /// Code that others wrote follows, and expects no vector instruction but its own.
    pub(super) fn settle(&mut self) {
        self.emit(Instruction::Barrier(Some(Pipe::V)));
        self.pending = Pending::default();
    }

    fn used(vector: &Vector) -> Vec<(BufferId, bool)> {
        let parts = vector.op.parts();
        let operands = vector.operands.iter().zip(parts.iter());
        operands.map(|(operand, part)| (operand.at.buffer, part.access != Access::Read)).collect()
    }

    fn order(&mut self, used: &[(BufferId, bool)]) {
        if self.pending.holds(used) {
            self.emit(Instruction::Barrier(Some(Pipe::V)));
            self.pending = Pending::default();
        }
        self.pending.buffers.extend_from_slice(used);
    }
}

/// A size as a number of a program. More than that is more than any memory has, which the check of the program says.
pub(super) fn int(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
