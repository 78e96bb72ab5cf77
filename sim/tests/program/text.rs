//! The textual form of programs: reading what was written gives the same, and errors say where and what.

use proptest::prelude::*;
use ubtile_sim::product::{Element, Soc};
use ubtile_sim::program::*;
use ubtile_sim::text::{parse, parse_source, print};
use ubtile_tiling::Dtype;

fn a2() -> Soc {
    Soc::builtin("Ascend910B1").unwrap()
}

const TENSORS: u16 = 3;
const BUFFERS: u16 = 3;
const INTS: std::ops::Range<u16> = 2..5;
const FLOATS: std::ops::Range<u16> = 5..7;

fn expr() -> impl Strategy<Value = Expr> {
    let terms = proptest::collection::vec((0u16..INTS.end, -50_000i64..50_000), 0..3);
    let constant = prop_oneof![Just(0), -9i64..9, Just(i64::MIN), Just(i64::MAX), any::<i32>().prop_map(i64::from)];
    (constant, terms).prop_map(|(constant, terms)| {
        terms.into_iter().fold(Expr::from(constant), |sum, (reg, factor)| sum + Expr::from(Reg(reg)) * factor)
    })
}

fn float() -> impl Strategy<Value = Float> {
    prop_oneof![any::<u32>().prop_map(|bits| f32::from_bits(bits).into()), FLOATS.prop_map(|reg| Float::Reg(Reg(reg)))]
}

fn element() -> impl Strategy<Value = Element> {
    proptest::sample::select(Element::ALL.map(|(element, _)| element).to_vec())
}

fn local() -> impl Strategy<Value = Local> {
    (0..BUFFERS, expr(), expr()).prop_map(|(buffer, slot, offset)| BufferId(buffer).slot(slot, offset))
}

fn global() -> impl Strategy<Value = Global> {
    (0..TENSORS, expr()).prop_map(|(tensor, offset)| TensorId(tensor).at(offset))
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![local().prop_map(Place::Local), global().prop_map(Place::Global)]
}

fn number(float_wanted: bool) -> BoxedStrategy<Scalar> {
    if float_wanted { float().prop_map(Scalar::Float).boxed() } else { expr().prop_map(Scalar::Int).boxed() }
}

fn burst() -> impl Strategy<Value = Burst> {
    (expr(), expr(), expr(), expr()).prop_map(|(blocks, bytes, from_gap, to_gap)| Burst {
        blocks,
        bytes,
        from_gap,
        to_gap,
    })
}

fn granularity() -> impl Strategy<Value = Granularity> {
    prop_oneof![Just(Granularity::Blocks), Just(Granularity::Bytes)]
}

fn pipe() -> impl Strategy<Value = Pipe> {
    proptest::sample::select(Pipe::ALL.map(|(pipe, _)| pipe).to_vec())
}

fn vector() -> impl Strategy<Value = Vector> {
    let op = proptest::sample::select(mnemonic::all().collect::<Vec<_>>());
    let mask = prop_oneof![Just(Mask::All), expr().prop_map(Mask::First), any::<u128>().prop_map(Mask::Bits)];
    let extent = prop_oneof![
        expr().prop_map(Extent::Count),
        (expr(), mask).prop_map(|(repeats, mask)| Extent::Repeats { repeats, mask })
    ];
    op.prop_flat_map(move |op| {
        let operand = (local(), any::<u16>(), any::<u16>());
        let operands = proptest::collection::vec(operand, op.parts().len());
        let scalar =
            if op.takes_scalar() { number(op.takes_float()).prop_map(Some).boxed() } else { Just(None).boxed() };
        (Just(op), operands, scalar, extent.clone())
    })
    .prop_map(|(op, operands, scalar, extent)| {
        let operand = |(at, block_stride, repeat_stride)| Operand { at, block_stride, repeat_stride };
        Vector { op, operands: operands.into_iter().map(operand).collect(), scalar, extent }
    })
}

fn value() -> impl Strategy<Value = Value> {
    let int = proptest::sample::select(IntOp::ALL.map(|(op, _)| op).to_vec());
    let float_op = proptest::sample::select(FloatOp::ALL.map(|(op, _)| op).to_vec());
    let rounding = proptest::sample::select(ubtile_sim::product::Rounding::ALL.map(|(mode, _)| mode).to_vec());
    prop_oneof![
        expr().prop_map(Value::Int),
        (int, expr(), expr()).prop_map(|(op, a, b)| Value::IntOp(op, a, b)),
        float().prop_map(Value::Float),
        (float_op, float(), float()).prop_map(|(op, a, b)| Value::FloatOp(op, a, b)),
        expr().prop_map(Value::FromInt),
        (rounding, float()).prop_map(|(mode, a)| Value::ToInt(mode, a)),
    ]
}

fn assignment() -> impl Strategy<Value = Instruction> {
    value().prop_flat_map(|value| {
        let float = matches!(value, Value::Float(_) | Value::FloatOp(..) | Value::FromInt(_));
        let into = if float { FLOATS } else { INTS };
        into.prop_map(move |into| Instruction::Let(Reg(into), value.clone()))
    })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let pad = element().prop_flat_map(|element| (expr(), expr(), Just(element), number(is_float(element))));
    let pad = pad.prop_map(|(left, right, element, value)| Pad { left, right, element, value });
    let flag = || (pipe(), pipe(), expr()).prop_map(|(from, to, id)| Flag { from, to, id });
    let load = (local(), global(), burst(), granularity(), proptest::option::of(pad), any::<bool>());
    let store = (global(), local(), burst(), granularity(), proptest::option::of(element()), any::<bool>());
    let rows = || {
        (local(), any::<u16>(), any::<u16>(), any::<u16>()).prop_map(|(at, row, pair, repeat)| Rows {
            at,
            row,
            pair,
            repeat,
        })
    };
    let transpose = (element(), rows(), rows(), expr(), any::<bool>(), any::<bool>());
    let assume = (any::<i64>(), any::<i64>(), 1i64..1000).prop_map(|(from, to, step)| Assume { from, to, step });
    let read = (any::<u16>(), element(), place(), proptest::option::of(assume));
    let write = element().prop_flat_map(|element| (place(), Just(element), number(is_float(element))));
    prop_oneof![
        load.prop_map(|(to, from, burst, granularity, pad, bypass)| {
            let pad = pad.filter(|_| granularity == Granularity::Bytes);
            Instruction::Load(Load { to, from, burst, granularity, pad, bypass })
        }),
        store.prop_map(|(to, from, burst, granularity, add, bypass)| {
            Instruction::Store(Store { to, from, burst, granularity, add, bypass })
        }),
        (local(), local(), burst()).prop_map(|(to, from, burst)| Instruction::Move(Move { to, from, burst })),
        vector().prop_map(Instruction::Vector),
        transpose.prop_map(|(element, to, from, repeats, to_high, from_high)| {
            Instruction::Transpose(Transpose { element, to, from, repeats, to_high, from_high })
        }),
        assignment(),
        read.prop_map(|(into, element, from, assume)| {
            let registers = if is_float(element) { FLOATS } else { INTS };
            let into = Reg(registers.start + into % registers.len() as u16);
            Instruction::Read(Read { into, element, from, assume })
        }),
        write.prop_map(|(to, element, value)| Instruction::Write(Write { to, element, value })),
        flag().prop_map(Instruction::SetFlag),
        flag().prop_map(Instruction::WaitFlag),
        proptest::option::of(pipe()).prop_map(Instruction::Barrier),
        Just(Instruction::SyncAll(SyncAll::Hard)),
        (global(), local()).prop_map(|(workspace, local)| Instruction::SyncAll(SyncAll::Soft { workspace, local })),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let relation = proptest::sample::select(Relation::ALL.map(|(relation, ..)| relation).to_vec());
    any::<bool>()
        .prop_flat_map(move |float| (number(float), relation.clone(), number(float)))
        .prop_map(|(left, relation, right)| Condition { left, relation, right })
}

fn field() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(prop_oneof![Just("tile_rows".to_owned()), Just("field".to_owned()), Just("step".to_owned())])
}

fn body() -> impl Strategy<Value = Vec<Node>> {
    let statement = (instruction(), field());
    let leaf = statement.prop_map(|(instruction, field)| Node::Do(Statement { instruction, field }));
    let node = leaf.prop_recursive(3, 24, 4, |node| {
        let body = || proptest::collection::vec(node.clone(), 0..4);
        let repeated = (INTS, expr(), expr(), 1i64..9, body(), field());
        prop_oneof![
            repeated.prop_map(|(var, from, to, step, body, field)| {
                Node::For(For { var: Reg(var), from, to, step, body, field })
            }),
            (condition(), body(), body()).prop_map(|(condition, then, otherwise)| Node::If(If {
                condition,
                then,
                otherwise
            })),
            body().prop_map(|body| Node::Tile(Tile { name: "tile".into(), body })),
        ]
    });
    proptest::collection::vec(node, 1..4)
}

fn source() -> impl Strategy<Value = Source> {
    let tensor = (0..Role::ALL.len(), 0..Dtype::ALL.len(), proptest::collection::vec(0u64..99, 0..5));
    let tensors = proptest::collection::vec(tensor, usize::from(TENSORS));
    let buffers = proptest::collection::vec((any::<u16>(), 1u32..4, any::<u16>(), field()), usize::from(BUFFERS));
    (1u32..99, tensors, buffers, body()).prop_map(|(cores, tensors, buffers, body)| {
        let mut source = Source::new(cores);
        for (i, (role, dtype, shape)) in tensors.into_iter().enumerate() {
            source.tensor(&format!("t{i}"), Dtype::ALL[dtype], &shape, Role::ALL[role].0);
        }
        for (i, (bytes, slots, address, field)) in buffers.into_iter().enumerate() {
            let (bytes, address) = (u32::from(bytes), u32::from(address));
            source.buffers.push(Buffer { name: format!("b{i}"), bytes, slots, address, field });
        }
        source.register("first", Content::PerCore((0..i64::from(cores)).collect()));
        for reg in INTS {
            source.register(&format!("n{reg}"), Content::Int);
        }
        for reg in FLOATS {
            source.register(&format!("f{reg}"), Content::Float);
        }
        source.body = body;
        source
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(source in source()) {
        let text = print(&source);
        let (read, _) = parse_source(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert_eq!(&read, &source, "{}", text);
    }

    #[test]
    fn no_text_stops_the_reader(source in source(), at in any::<prop::sample::Index>(), with in "[ -~\n]{0,3}") {
        let mut text = print(&source);
        let at = at.index(text.len());
        text.replace_range(at..(at + with.len()).min(text.len()), &with);
        if let Err(error) = parse(&text, &a2()) {
            prop_assert!(error.position.line as usize <= text.lines().count() + 1);
            prop_assert!(error.position.column > 0 && !error.problem.is_empty());
        }
    }
}

fn error(text: &str) -> String {
    parse(text, &a2()).err().map_or_else(|| format!("accepted: {text}"), |e| e.to_string())
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let head = "cores 2\ntensor x: f32[64] in\nub a: 256 slots 2\n";
    let in_code = |line: &str| error(&format!("{head}{line}\n"));
    for (line, expected) in [
        ("lod a[0], x[0] bytes 32", "line 4, column 1: expected a declaration or an instruction, found `lod`"),
        ("load a[0] x[0] bytes 32", "line 4, column 11: expected `,`, found `x`"),
        ("load a[0], x[0]", "line 4, column 16: expected `bytes` and the length of a block, found the end of the line"),
        ("load a[0], y[0] bytes 32", "line 4, column 12: expected a tensor, found `y`"),
        (
            "load a[k], x[0] bytes 32",
            "line 4, column 8: expected a number, a constant or a register, found the unknown name `k`",
        ),
        ("  load a[0], x[0] bytes 33", "line 4, column 3: bytes is 33, expected 32 to 2097120 in multiples of 32"),
        ("add.f32 a[0], a[0], a[0] repeat 256", "line 4, column 1: repeat is 256, expected 0 to 255"),
        ("add.f32 a[0](1, 256), a[0], a[0]", "line 4, column 1: repeat stride is 256, expected 0 to 255"),
        (
            "adds.f32 a[0], a[0], 1",
            "line 4, column 22: expected a floating-point number, as `1.0`, or a register of one, found `1`",
        ),
        ("set_flag v mte2 8", "line 4, column 1: flag is 8, expected 0 to 7"),
        ("set_flag v v 0", "line 4, column 1: expected two different pipes"),
        ("let n = n", "line 4, column 9: expected a number, a constant or a register, found the unknown name `n`"),
        (
            "for i in 0..n {",
            "line 4, column 13: expected a number, a constant or a register, found the unknown name `n`",
        ),
        ("for i in 0..2 {\nlet i = 3\n}", "line 5, column 1: i cannot be set here"),
        ("if core < 1 {\nlet n = 1\n}\nlet m = n", "line 7, column 1: n has no value yet on some way to here"),
        ("for i in 0..2 {\n", "line 5, column 1: expected an instruction or `}`, found the end of the text"),
        (
            "add.bf16 a[0], a[0], a[0]",
            "line 4, column 1: Ascend910B1 has no add.bf16; expected one of f16, f32, i16, i32",
        ),
        ("scatter.f32 a[0], a[0], a[0]", "line 4, column 1: Ascend910B1 has no scatter.f32"),
        ("load a[2; 0], x[0] bytes 32", "line 4, column 1: slot is 2, expected 0 to 1"),
        ("tensor a: f32[1] in", "line 4, column 8: expected a new name, found `a` again"),
        ("ub c: 33", "line 4, column 1: size is 33, expected a multiple of 32"),
        ("per_core p: 1", "line 4, column 1: 1 values, expected one for each of 2 cores"),
        ("let n = 1 $", "line 4, column 11: expected a name, a number or a sign, found `$`"),
    ] {
        assert_eq!(in_code(line), expected, "{line}");
    }
    assert_eq!(error(""), "line 1, column 1: expected a line `cores N` before the code");
}

#[test]
fn products_have_what_their_files_say() {
    let text = "cores 1\ntensor x: f16[99] in\nub a: 256\nload_pad a[0], x[2] bytes 6\n";
    for soc in Soc::names() {
        let soc = Soc::builtin(soc).unwrap();
        let has = *soc.capabilities.data_copy_pad.get().unwrap();
        assert_eq!(parse(text, &soc).is_ok(), has, "{}", soc.name());
        let event_ids = soc.sync.event_ids.get().unwrap().get();
        for (id, ok) in [(event_ids - 1, true), (event_ids, false)] {
            assert_eq!(parse(&format!("cores 1\nset_flag v mte2 {id}"), &soc).is_ok(), ok, "{} {id}", soc.name());
        }
    }
}
