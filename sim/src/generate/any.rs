//! Programs of anything that has a text.

use std::ops::{Deref, DerefMut};

use ubtile_tiling::Dtype;

use crate::product::{Element, Rounding};
use crate::program::{
    Assume, Buffer, BufferId, Burst, Condition, Content, Expr, Extent, Flag, Float, FloatOp, For, Global, Granularity,
    If, Instruction, IntOp, Load, Local, Mask, Move, Node, Numbers, Operand, Pad, Pipe, Place, Read, Reg, Relation,
    Role, Rows, Scalar, Source, Statement, Store, SyncAll, TensorId, Tile, Transpose, Value, Vector, Write, is_float,
    mnemonic,
};

use super::choices::Choices;

const TENSORS: u16 = 3;
const BUFFERS: u16 = 3;

/// Behind the core's index and a constant of each core.
const REGISTERS: [(&str, Content); 8] = [
    ("i2", Content::Int),
    ("i3", Content::Int),
    ("i4", Content::Int),
    ("n5", Content::Int),
    ("n6", Content::Int),
    ("n7", Content::Int),
    ("f8", Content::Float),
    ("f9", Content::Float),
];

/// The first register that loops count in, of as many as there are loops in loops.
const COUNTER: u16 = 2;
const DEEPEST: u16 = 3;

/// Choices, and what there is to choose from.
pub(super) struct Any<'c, 'b> {
    choices: &'c mut Choices<'b>,
    tensors: u16,
    buffers: u16,
    /// Registers whose value expressions take, whole numbers that can be set, and floating-point numbers.
    read: Vec<Reg>,
    ints: Vec<Reg>,
    floats: Vec<Reg>,
}

impl<'c, 'b> Any<'c, 'b> {
    /// What a program has.
    pub(super) fn new(source: &Source, choices: &'c mut Choices<'b>) -> Self {
        let registers = || (0..).map(Reg).zip(&source.registers);
        let of = |wanted: Content| {
            let same = registers().filter(|(_, register)| register.content == wanted);
            same.map(|(reg, _)| reg).collect::<Vec<_>>()
        };
        let read = registers().filter(|(_, register)| register.content != Content::Float).map(|(reg, _)| reg).collect();
        let count = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        let (tensors, buffers) = (count(source.tensors.len()), count(source.buffers.len()));
        Self { choices, tensors, buffers, read, ints: of(Content::Int), floats: of(Content::Float) }
    }
}

impl<'b> Deref for Any<'_, 'b> {
    type Target = Choices<'b>;

    fn deref(&self) -> &Choices<'b> {
        self.choices
    }
}

impl DerefMut for Any<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.choices
    }
}

/// A program of a few statements.
pub(super) fn source(c: &mut Choices<'_>) -> Source {
    let mut source = Source::new(c.between(1, 4));
    for i in 0..TENSORS {
        let shape: Vec<_> = (0..c.below(4)).map(|_| c.below(12)).collect();
        let (dtype, role) = (*c.pick(&Dtype::ALL), c.pick(&Role::ALL).0);
        source.tensor(&format!("t{i}"), dtype, &shape, role);
    }
    for i in 0..BUFFERS {
        // Blocks for the most part, and sizes that no product has.
        let mut size = |most: u32| if c.one_in(8) { c.bits(20) as u32 } else { 32 * c.between(0, most) };
        let (bytes, address) = (size(64), size(2000));
        source.buffers.push(Buffer { name: format!("b{i}"), bytes, slots: c.between(1, 3), address, field: field(c) });
    }
    source.register("first", Content::PerCore((0..i64::from(source.cores)).map(|core| core * 32).collect()));
    for (name, content) in REGISTERS {
        source.register(name, content);
    }
    source.body = body(&mut Any::new(&source, c), DEEPEST);
    source
}

fn field(c: &mut Choices<'_>) -> Option<String> {
    c.one_in(3).then(|| (*c.pick(&["tile_rows", "field", "step"])).to_owned())
}

fn body(c: &mut Any<'_, '_>, depth: u16) -> Vec<Node> {
    (0..c.between(0, 4)).map(|_| node(c, depth)).collect()
}

fn node(c: &mut Any<'_, '_>, depth: u16) -> Node {
    match if depth == 0 { 0 } else { c.below(10) } {
        7 => {
            // Each depth has a register of its own, so that loops end.
            let var = Reg(COUNTER + depth - 1);
            let from = c.below(4) as i64 - 1;
            let to = Expr::from(c.below(7) as i64) + Reg::CORE * (c.below(3) as i64 - 1);
            Node::For(For {
                var,
                from: from.into(),
                to,
                step: 1 + c.below(3) as i64,
                body: body(c, depth - 1),
                field: field(c),
            })
        }
        8 => {
            let float = c.one_in(2);
            let (left, right) = (scalar(c, float), scalar(c, float));
            let condition = Condition { left, relation: c.pick(&Relation::ALL).0, right };
            Node::If(If { condition, then: body(c, depth - 1), otherwise: body(c, depth - 1) })
        }
        9 => Node::Tile(Tile { name: "tile".into(), body: body(c, depth - 1) }),
        _ => Node::Do(Statement { instruction: instruction(c), field: field(c) }),
    }
}

/// Small multiples of a block for the most part, and the ends of everything.
fn constant(c: &mut Any<'_, '_>) -> i64 {
    match c.below(8) {
        0..=3 => 32 * c.below(12) as i64,
        4 => c.below(20) as i64 - 9,
        5 => c.bits(32) as i32 as i64,
        6 => *c.pick(&[i64::MAX, i64::MIN, i64::from(i32::MAX), 1 << 32, 65536, 255, 256]),
        _ => c.bits(64) as i64,
    }
}

/// An expression.
pub(super) fn expr(c: &mut Any<'_, '_>) -> Expr {
    let mut sum = Expr::from(constant(c));
    for _ in 0..c.below(3) {
        let factor = c.bits(17) as i64 - 50_000;
        let term = any_of(c.choices, &c.read).unwrap_or(Reg::CORE) * if c.one_in(2) { factor } else { 32 };
        sum = sum.checked_add_scaled(&term, 1).unwrap_or(term);
    }
    sum
}

fn float(c: &mut Any<'_, '_>) -> Float {
    let register = if c.one_in(2) { any_of(c.choices, &c.floats) } else { None };
    register.map_or_else(|| f32::from_bits(c.bits(32) as u32).into(), Float::Reg)
}

fn scalar(c: &mut Any<'_, '_>, floating: bool) -> Scalar {
    if floating { Scalar::Float(float(c)) } else { Scalar::Int(expr(c)) }
}

/// One of some registers; `None` where there are none.
fn any_of(c: &mut Choices<'_>, of: &[Reg]) -> Option<Reg> {
    of.get(c.index(of.len())).copied()
}

/// A register that can be set to such a number.
fn settable(c: &mut Any<'_, '_>, float: bool) -> Option<Reg> {
    if float { any_of(c.choices, &c.floats) } else { any_of(c.choices, &c.ints) }
}

fn element(c: &mut Any<'_, '_>) -> Element {
    c.pick(&Element::ALL).0
}

fn pipe(c: &mut Any<'_, '_>) -> Pipe {
    c.pick(&Pipe::ALL).0
}

fn local(c: &mut Any<'_, '_>) -> Local {
    let slot = if c.one_in(4) { expr(c) } else { Expr::default() };
    BufferId(c.choices.below(c.buffers.into()) as u16).slot(slot, expr(c))
}

fn global(c: &mut Any<'_, '_>) -> Global {
    TensorId(c.choices.below(c.tensors.into()) as u16).at(expr(c))
}

fn place(c: &mut Any<'_, '_>) -> Place {
    if c.one_in(2) { Place::Global(global(c)) } else { Place::Local(local(c)) }
}

/// Few blocks of few bytes, or anything.
fn burst(c: &mut Any<'_, '_>) -> Burst {
    let mut few =
        |least: i64, unit: i64| if c.one_in(6) { expr(c) } else { (unit * (least + c.below(5) as i64)).into() };
    Burst { blocks: few(1, 1), bytes: few(1, 32), from_gap: few(0, 32), to_gap: few(0, 32) }
}

fn granularity(c: &mut Any<'_, '_>) -> Granularity {
    *c.pick(&[Granularity::Blocks, Granularity::Bytes])
}

fn pad(c: &mut Any<'_, '_>) -> Pad {
    let element = element(c);
    Pad { left: expr(c), right: expr(c), element, value: scalar(c, is_float(element)) }
}

fn stride(c: &mut Any<'_, '_>, usual: u16) -> u16 {
    if c.one_in(6) { c.bits(16) as u16 } else { usual }
}

fn vector(c: &mut Any<'_, '_>) -> Vector {
    let ops = mnemonic::all().collect::<Vec<_>>();
    let op = *c.pick(&ops);
    let operand = |c: &mut Any<'_, '_>, (block, repeat): (u16, u16)| Operand {
        at: local(c),
        block_stride: stride(c, block),
        repeat_stride: stride(c, repeat),
    };
    let operands = op.parts().iter().map(|part| operand(c, part.default_strides(op.lanes()))).collect();
    let scalar = op.takes_scalar().then(|| scalar(c, op.takes_float()));
    let repeats = if c.one_in(4) { expr(c) } else { (c.below(6) as i64).into() };
    let extent = match c.below(4) {
        0 => Extent::Count(if c.one_in(4) { expr(c) } else { (c.below(300) as i64).into() }),
        1 => Extent::Repeats {
            repeats,
            mask: Mask::First(if c.one_in(4) { expr(c) } else { (c.below(130) as i64).into() }),
        },
        2 => Extent::Repeats { repeats, mask: Mask::Bits(u128::from(c.bits(64)) << 64 | u128::from(c.bits(64))) },
        _ => Extent::Repeats { repeats, mask: Mask::All },
    };
    Vector { op, operands, scalar, extent }
}

fn value(c: &mut Any<'_, '_>) -> Value {
    match c.below(6) {
        0 => Value::Int(expr(c)),
        1 => Value::IntOp(c.pick(&IntOp::ALL).0, expr(c), expr(c)),
        2 => Value::Float(float(c)),
        3 => Value::FloatOp(c.pick(&FloatOp::ALL).0, float(c), float(c)),
        4 => Value::FromInt(expr(c)),
        _ => Value::ToInt(c.pick(&Rounding::ALL).0, float(c)),
    }
}

fn flag(c: &mut Any<'_, '_>) -> Flag {
    let id = if c.one_in(4) { expr(c) } else { (c.below(9) as i64).into() };
    Flag { from: pipe(c), to: pipe(c), id }
}

fn rows(c: &mut Any<'_, '_>) -> Rows {
    Rows { at: local(c), row: stride(c, 1), pair: stride(c, 2), repeat: stride(c, 16) }
}

/// Any instruction.
pub(super) fn instruction(c: &mut Any<'_, '_>) -> Instruction {
    match c.below(14) {
        0 => {
            let granularity = granularity(c);
            let pad = (granularity == Granularity::Bytes && c.one_in(2)).then(|| pad(c));
            Instruction::Load(Load {
                to: local(c),
                from: global(c),
                burst: burst(c),
                granularity,
                pad,
                bypass: c.one_in(2),
            })
        }
        1 => {
            let add = c.one_in(3).then(|| element(c));
            let (to, from, burst, granularity) = (global(c), local(c), burst(c), granularity(c));
            Instruction::Store(Store { to, from, burst, granularity, add, bypass: c.one_in(2) })
        }
        2 => Instruction::Move(Move { to: local(c), from: local(c), burst: burst(c) }),
        3..=5 => Instruction::Vector(vector(c)),
        6 => {
            let (element, to, from, repeats) = (element(c), rows(c), rows(c), (c.below(4) as i64).into());
            Instruction::Transpose(Transpose {
                element,
                to,
                from,
                repeats,
                to_high: c.one_in(2),
                from_high: c.one_in(2),
            })
        }
        7 => {
            let value = value(c);
            let float = matches!(value, Value::Float(_) | Value::FloatOp(..) | Value::FromInt(_));
            settable(c, float).map_or(Instruction::Barrier(None), |into| Instruction::Let(into, value))
        }
        8 => {
            let element = element(c);
            let Some(into) = settable(c, is_float(element)) else { return Instruction::Barrier(None) };
            let assume = match c.below(4) {
                0 => Some(Assume::Each(Numbers { from: constant(c), to: constant(c), step: 1 + c.below(999) as i64 })),
                1 => Some(Assume::Quotient { of: expr(c), by: constant(c) }),
                _ => None,
            };
            Instruction::Read(Read { into, element, from: place(c), assume })
        }
        9 => {
            let element = element(c);
            Instruction::Write(Write { to: place(c), element, value: scalar(c, is_float(element)) })
        }
        10 => Instruction::SetFlag(flag(c)),
        11 => Instruction::WaitFlag(flag(c)),
        12 => Instruction::Barrier(c.one_in(2).then(|| pipe(c))),
        _ if c.one_in(2) => Instruction::SyncAll(SyncAll::Soft { workspace: global(c), local: local(c) }),
        _ => Instruction::SyncAll(SyncAll::Hard),
    }
}
