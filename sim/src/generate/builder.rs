//! A program that grows by one piece after the other and stays legal.

use std::collections::HashSet;

use ubtile_tiling::Dtype;

use crate::program::{
    BufferId, Condition, Content, Expr, Flag, For, If, Instruction, Local, Node, Pipe, Reg, Role, Source, Statement,
    TensorId, Tile,
};

use super::choices::Choices;
use super::has::Has;
use super::order::{Need, Object, Order, Use};

/// Types of the elements of tensors. An element of 2 bytes or more keeps every address even.
pub(super) const DTYPES: [Dtype; 5] = [Dtype::F32, Dtype::F16, Dtype::I32, Dtype::I16, Dtype::Bf16];

/// A loop around the code that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub(super) var: Reg,
    pub(super) from: i64,
    pub(super) step: i64,
    pub(super) count: i64,
}

/// A slot of a buffer that all pieces use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) buffer: BufferId,
    pub(super) number: u16,
}

impl Slot {
    pub(super) const fn object(self) -> Object {
        Object::Local(self.buffer, self.number)
    }

    pub(super) fn at(self, offset: u32) -> Local {
        self.buffer.slot(i64::from(self.number), i64::from(offset))
    }
}

/// A program in the making.
pub(super) struct Builder<'g, 'c, 'b> {
    pub(super) has: &'g Has,
    pub(super) choices: &'c mut Choices<'b>,
    pub(super) source: Source,
    order: Order,
    /// Bytes of a slot, a multiple of 256.
    pub(super) slot_bytes: u32,
    pub(super) slots: Vec<Slot>,
    /// Slots all of whose bytes have been written.
    whole: HashSet<Object>,
    pub(super) loops: Vec<Counter>,
    bodies: Vec<Vec<Node>>,
    /// Conditions around.
    conditions: u32,
    /// Whether the scalar unit has touched memory in the innermost loop.
    pub(super) scalar: bool,
    /// Bytes of the tensors that are read.
    pub(super) given: Vec<(TensorId, u64)>,
}

impl<'g, 'c, 'b> Builder<'g, 'c, 'b> {
    pub(super) fn new(has: &'g Has, choices: &'c mut Choices<'b>) -> Self {
        let source = Source::new(choices.between(1, has.limits.cores.min(4)));
        let flags = u8::try_from(has.limits.event_ids.min(6)).unwrap_or(6).saturating_sub(1);
        let mut this = Self {
            has,
            slot_bytes: 256 * choices.between(2, 8),
            choices,
            source,
            order: Order::new(flags),
            slots: Vec::new(),
            whole: HashSet::new(),
            loops: Vec::new(),
            bodies: vec![Vec::new()],
            conditions: 0,
            scalar: false,
            given: Vec::new(),
        };
        for n in 0..this.choices.between(3, 5) {
            let slots = this.choices.between(1, 2);
            let field = this.choices.one_in(2).then_some("tile_elements");
            let buffer = this.source.buffer(&format!("b{n}"), this.slot_bytes, slots, field);
            this.slots.extend((0..slots as u16).map(|number| Slot { buffer, number }));
        }
        this
    }

    /// The program.
    pub(super) fn finish(mut self) -> Source {
        for (tensor, bytes) in std::mem::take(&mut self.given) {
            let tensor = &mut self.source.tensors[usize::from(tensor.0)];
            tensor.shape = vec![bytes.div_ceil(tensor.dtype.size() as u64)];
        }
        self.source.body = self.bodies.pop().unwrap_or_default();
        self.source
    }

    /// Puts an instruction as it is.
    pub(super) fn put(&mut self, instruction: Instruction) {
        let field = self.choices.one_in(8).then(|| "tile_rows".to_owned());
        self.node(Node::Do(Statement { instruction, field }));
    }

    fn node(&mut self, node: Node) {
        if let Some(body) = self.bodies.last_mut() {
            body.push(node);
        }
    }

    /// Puts an instruction behind what it must wait for.
    pub(super) fn emit(&mut self, uses: &[Use], instruction: Instruction) {
        let pipe = instruction.pipe();
        while let Some(need) = self.order.need(pipe, uses) {
            self.need(need);
        }
        self.order.step(pipe, uses);
        self.scalar |= pipe == Pipe::S;
        self.put(instruction);
    }

    fn need(&mut self, need: Need) {
        match need {
            Need::Flag(from, to, id) => {
                let flag = Flag { from, to, id: i64::from(id).into() };
                self.scalar |= to == Pipe::S;
                self.put(Instruction::SetFlag(flag.clone()));
                self.put(Instruction::WaitFlag(flag));
            }
            Need::Barrier(pipe) => self.put(Instruction::Barrier(pipe)),
        }
    }

    /// Waits for everything.
    pub(super) fn barrier(&mut self) {
        let need = self.order.barrier(None);
        self.need(need);
    }

    /// All cores wait for each other.
    pub(super) fn synced(&mut self, instruction: Instruction) {
        self.order.barrier(None);
        self.put(instruction);
    }

    /// Whether a piece may be for all cores together: each core comes here as often as the others.
    pub(super) fn is_common(&self) -> bool {
        self.conditions == 0
    }

    /// A number below `n`, of a register's name.
    pub(super) fn register(&mut self, prefix: &str, content: Content) -> Reg {
        let name = format!("{prefix}{}", self.source.registers.len());
        self.source.register(&name, content)
    }

    /// A tensor of which each core and each iteration has a region of so many bytes; where the region is.
    pub(super) fn results(&mut self, dtype: Dtype, bytes: u32, role: Role) -> (TensorId, Expr) {
        let (at, total) = self.region(bytes);
        let role = if role == Role::Output && self.conditions > 0 { Role::ZeroedOutput } else { role };
        (self.tensor(dtype, total, role), at)
    }

    /// A tensor of so many bytes.
    pub(super) fn tensor(&mut self, dtype: Dtype, bytes: u64, role: Role) -> TensorId {
        let prefix = if role.is_result() { 'z' } else { 't' };
        let name = format!("{prefix}{}", self.source.tensors.len());
        let (elements, cores) = (bytes.div_ceil(dtype.size() as u64), u64::from(self.source.cores));
        let shape = if elements.is_multiple_of(cores) { vec![cores, elements / cores] } else { vec![elements] };
        self.source.tensor(&name, dtype, &shape, role)
    }

    /// Where the region of this core and iteration begins, and how many bytes all have.
    pub(super) fn region(&mut self, bytes: u32) -> (Expr, u64) {
        let (mut at, mut stride) = (Expr::default(), i64::from(bytes));
        for Counter { var, from, step, count } in self.loops.iter().rev() {
            // Of a loop that goes two at a time, strides are even, as all elements are.
            at = at + *var * (stride / step) - from * (stride / step);
            stride *= count;
        }
        at = at + Reg::CORE * stride;
        (at, stride.unsigned_abs() * u64::from(self.source.cores))
    }

    /// A place in a tensor that is read, from which so many bytes can be read.
    pub(super) fn input(&mut self, bytes: u32) -> (TensorId, Expr) {
        let which = self.choices.index(3);
        let tensor = match self.given.get(which) {
            Some((tensor, _)) => *tensor,
            None => {
                let dtype = *self.choices.pick(&DTYPES);
                let tensor = self.source.tensor(&format!("x{}", self.source.tensors.len()), dtype, &[], Role::Input);
                self.given.push((tensor, 0));
                tensor
            }
        };
        // All read the same, or each core and iteration its own.
        let (at, total) = if self.choices.one_in(4) { (Expr::default(), u64::from(bytes)) } else { self.region(bytes) };
        let more = i64::from(32 * self.choices.between(0, 3));
        self.grow(tensor, total + more.unsigned_abs());
        (tensor, at + more)
    }

    /// Makes a tensor that is read at least so long.
    pub(super) fn grow(&mut self, tensor: TensorId, bytes: u64) {
        for (_, known) in self.given.iter_mut().filter(|(given, _)| *given == tensor) {
            *known = bytes.max(*known);
        }
    }

    /// Some slot.
    pub(super) fn slot(&mut self) -> Slot {
        let at = self.choices.index(self.slots.len());
        self.slots[at]
    }

    /// Some slot all of whose bytes have values.
    pub(super) fn whole_slot(&mut self) -> Slot {
        let slot = self.slot();
        if !self.whole.contains(&slot.object()) {
            self.fill(slot);
        }
        slot
    }

    /// Notes that all bytes of a slot have values.
    pub(super) fn filled(&mut self, slot: Slot) {
        self.whole.insert(slot.object());
    }

    /// Code that belongs to a tile.
    pub(super) fn tile(&mut self, inside: impl FnOnce(&mut Self)) {
        self.bodies.push(Vec::new());
        inside(self);
        let (body, name) = (self.bodies.pop().unwrap_or_default(), "tile".to_owned());
        self.node(Node::Tile(Tile { name, body }));
    }

    /// Code under a condition, or other code.
    pub(super) fn branch(&mut self, condition: Condition, inside: &mut impl FnMut(&mut Self)) {
        self.barrier();
        self.conditions += 1;
        let before = self.whole.clone();
        let mut after = Vec::new();
        for _ in 0..2 {
            self.bodies.push(Vec::new());
            inside(self);
            self.barrier();
            after.push(std::mem::replace(&mut self.whole, before.clone()));
        }
        self.conditions -= 1;
        // What has values on both ways has them.
        if let [then, otherwise] = &after[..] {
            self.whole = then.intersection(otherwise).copied().collect();
        }
        let otherwise = self.bodies.pop().unwrap_or_default();
        let then = self.bodies.pop().unwrap_or_default();
        self.node(Node::If(If { condition, then, otherwise }));
    }

    /// A loop. Each iteration comes after all that the one before did.
    pub(super) fn repeat(&mut self, count: u32, inside: impl FnOnce(&mut Self)) {
        let at_start = self.choices.one_in(3);
        if !at_start {
            self.barrier();
        }
        let before = std::mem::replace(&mut self.scalar, false);
        self.counted(count, |this| {
            if at_start {
                this.barrier();
            }
            inside(this);
            if !at_start && (this.scalar || this.choices.one_in(2)) {
                this.barrier();
            } else if !at_start {
                for need in this.order.join_pipes() {
                    this.need(need);
                }
            }
        });
        self.scalar |= before;
    }

    /// A loop, as it is.
    pub(super) fn counted(&mut self, count: u32, inside: impl FnOnce(&mut Self)) {
        let var = self.register("i", Content::Int);
        let (from, step) = (i64::from(self.choices.between(0, 2)), i64::from(self.choices.between(1, 2)));
        let count = i64::from(count);
        // The last iteration need not be a whole step from the end.
        let to = from + count * step - i64::from(self.choices.between(0, 1)) * (step - 1);
        self.bodies.push(Vec::new());
        self.loops.push(Counter { var, from, step, count });
        inside(self);
        self.loops.pop();
        let (body, field) = (self.bodies.pop().unwrap_or_default(), self.choices.one_in(4).then(|| "tiles".to_owned()));
        self.node(Node::For(For { var, from: from.into(), to: to.into(), step, body, field }));
    }
}
