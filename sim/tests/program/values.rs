//! What programs leave in memory: copies with gaps, padding and sums, moves of elements, scalar work.

use bytemuck::cast_slice;
use half::f16;
use ubtile_sim::exec::{Global, Halt, Run, UNDEFINED};
use ubtile_sim::program::FaultKind;

use super::{COMPUTED, LOADED, halt, program, run, run_on};

fn fault(text: &str) -> FaultKind {
    match halt(text).1 {
        Halt::Fault(fault) => fault.kind,
        halt => panic!("{halt}"),
    }
}

#[test]
fn blocks_are_padded_and_gaps_kept() {
    let text = "cores 1
        tensor x: i16[40] in
        tensor z: u8[160] out
        ub b: 160
        dup.i16 b[0], -2 repeat 1 mask 0xffffffffffffffffffff
        set_flag v mte2 0
        wait_flag v mte2 0
        load_pad b[0], x[2] blocks 2 bytes 10 from_gap 6 to_gap 32 left 4 right 2 pad.i16 7
        set_flag mte2 mte3 0
        wait_flag mte2 mte3 0
        store z[0], b[0] bytes 160
    ";
    let x: Vec<i16> = (100..140).collect();
    let z = run(text, cast_slice(&x));
    let undefined = i16::from_ne_bytes([UNDEFINED; 2]);
    let mut expected = vec![-2; 80];
    for (block, from) in [(0, 1), (32, 9)] {
        expected[block..block + 2].fill(7);
        expected[block + 2..block + 7].copy_from_slice(&x[from..from + 5]);
        expected[block + 7] = 7;
        expected[block + 8..block + 16].fill(undefined);
    }
    assert_eq!(cast_slice::<u8, i16>(&z), expected);
}

#[test]
fn stores_of_single_bytes_leave_gaps_alone() {
    let text = "cores 1
        tensor x: u8[96] in
        tensor z: u8[64] zeroed out
        ub b: 96
        load b[0], x[0] bytes 96
        set_flag mte2 mte3 0
        wait_flag mte2 mte3 0
        store_pad z[3], b[0] blocks 2 bytes 5 from_gap 32 to_gap 11
    ";
    let x: Vec<u8> = (1..=96).collect();
    let mut expected = [0; 64];
    expected[3..8].copy_from_slice(&x[..5]);
    expected[19..24].copy_from_slice(&x[64..69]);
    assert_eq!(run(text, &x), expected);
}

#[test]
fn cores_add_in_global_memory() {
    for (element, cores) in [("f32", 5), ("f16", 3), ("i32", 4)] {
        let text = format!(
            "cores {cores}
            tensor x: {element}[16] in
            tensor z: {element}[16] zeroed out
            ub b: 64
            load b[0], x[0] bytes 32
            set_flag mte2 mte3 0
            wait_flag mte2 mte3 0
            store z[0], b[0] bytes 32 add.{element}
        "
        );
        let n: i32 = cores;
        let (x, expected): (Vec<u8>, Vec<u8>) = match element {
            "f32" => (
                (0..16).flat_map(|i| (i as f32 + 0.5).to_le_bytes()).collect(),
                (0..8).flat_map(|i| ((i as f32 + 0.5) * n as f32).to_le_bytes()).collect(),
            ),
            "f16" => (
                (0..16).flat_map(|i| f16::from_f32(i as f32).to_le_bytes()).collect(),
                (0..16).flat_map(|i| f16::from_f32((i * n) as f32).to_le_bytes()).collect(),
            ),
            _ => (
                (0..16i32).flat_map(|i| (i << 28).to_le_bytes()).collect(),
                (0..8i32).flat_map(|i| (i << 28).wrapping_mul(n).to_le_bytes()).collect(),
            ),
        };
        let mut whole = expected;
        whole.resize(x.len(), 0);
        assert_eq!(run(&text, &x), whole, "{element}");
    }
}

#[test]
fn elements_and_blocks_by_offset() {
    let offsets: Vec<u32> = (0..64).map(|i| i * 28 % 256).collect();
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let input = [cast_slice::<f32, u8>(&values), cast_slice(&offsets)].concat();
    let text = |line: &str| {
        format!(
            "cores 1\ntensor x: u8[512] in\ntensor z: f32[64] out\nub b: 256\nub o: 256\nub r: 256\n\
             load b[0], x[0] bytes 256\nload o[0], x[256] bytes 256\n{LOADED}{line}\n{COMPUTED}store z[0], r[0] bytes 256\n"
        )
    };
    let gathered = run(&text("gather.f32 r[0], b[0], o[0]"), &input);
    let expected: Vec<f32> = offsets.iter().map(|o| values[*o as usize / 4]).collect();
    assert_eq!(cast_slice::<u8, f32>(&gathered), expected);

    // 7 and 64 have no common factor, so the offsets are a permutation, and scatter undoes gather.
    let scattered = run_on(&text("scatter.f32 r[0], o[0], b[0]"), "Ascend310P3", &input);
    for (value, offset) in values.iter().zip(&offsets) {
        assert_eq!(cast_slice::<u8, f32>(&scattered)[*offset as usize / 4], *value);
    }

    let blocks: Vec<u32> = (0..64).map(|i| i * 96 % 256).collect();
    let input = [cast_slice::<f32, u8>(&values), cast_slice(&blocks)].concat();
    let gathered = run(&text("gather_blocks.f32 r[0], b[0], o[0]"), &input);
    for (i, offset) in blocks.iter().take(8).enumerate() {
        assert_eq!(gathered[32 * i..][..32], input[*offset as usize..][..32]);
    }

    // The offsets as bits: element i where bit i is set.
    let kept = run(&text("dup.f32 r[0], 0.0\ngather_bits.f32 r[0], b[0], o[0]"), &input);
    let bits = u64::from_le_bytes(input[256..264].try_into().unwrap());
    let mut expected: Vec<f32> = values.iter().copied().filter(|v| bits >> *v as u32 & 1 == 1).collect();
    expected.resize(64, 0.0);
    assert_eq!(cast_slice::<u8, f32>(&kept), expected);
}

#[test]
fn offsets_stay_in_their_buffer() {
    let text = |offset: &str| {
        format!("cores 1\nub b: 256\nub o: 256\nub r: 256\ndup.u32 o[0], {offset}\ngather.f32 r[0], b[0], o[0]\n")
    };
    assert!(matches!(fault(&text("256")), FaultKind::OutsideBuffer { first: 256, end: 260, .. }));
    assert!(matches!(fault(&text("253")), FaultKind::OutsideBuffer { first: 253, .. }));
    assert!(matches!(fault(&text("250")), FaultKind::MisalignedLocal { address: 250, align: 4, .. }));
    let program = program(&text("252"), "Ascend910B1");
    assert_eq!(Run::new(&program, Global::new(&program).unwrap()).finish(), Ok(()));
}

/// However many elements are kept, a block is all that their place is a multiple of.
#[test]
fn what_is_kept_begins_at_any_block() {
    for (bits, lanes) in [("0xffff", 1), ("0xffffffff", 1), ("0xffffffff", 2)] {
        let text = format!(
            "cores 1\nub a: 256\nub m: 32\nub t: 320\ndup.f32 a[0], 1.0\ndup.u32 m[0], 0 lanes 8\n\
             dup.u32 m[0], {bits} lanes {lanes}\ngather_bits.f32 t[32], a[0], m[0]\n"
        );
        let program = program(&text, "Ascend910B1");
        assert_eq!(Run::new(&program, Global::new(&program).unwrap()).finish(), Ok(()), "{bits} {lanes}");
    }
}

/// Only the first of eight blocks has an active lane; the others would lie behind all memory.
#[test]
fn blocks_without_an_active_lane_need_not_be_there() {
    for line in ["abs.f32 b[0], a[0](8, 8)", "abs.f32 a[0](8, 8), b[0]"] {
        let text = format!("cores 1\nub b: 256\nub a: 32\n{line} repeat 1 mask 0x5\n");
        let program = program(&text, "Ascend910B1");
        assert_eq!(Run::new(&program, Global::new(&program).unwrap()).finish(), Ok(()), "{line}");
    }
}

#[test]
fn rows_become_columns() {
    // 16 rows of 32 16-bit elements: two squares of 16 x 16, each transposed in place of the other.
    let x: Vec<u16> = (0..512).collect();
    let text = format!(
        "cores 1\ntensor x: u16x[512] in\ntensor z: u16x[512] out\nub a: 1024\nub b: 1024\nload a[0], x[0] bytes 1024\n{LOADED}\
         transpose.u16 b[0](1, 2, 16), a[0](2, 4, 1) repeat 2\n{COMPUTED}store z[0], b[0] bytes 1024\n"
    )
    .replace("u16x", "i16");
    let z = run(&text, cast_slice(&x));
    for (i, value) in cast_slice::<u8, u16>(&z).iter().enumerate() {
        let (square, row, column) = (i / 256, i / 16 % 16, i % 16);
        assert_eq!(usize::from(*value), column * 32 + square * 16 + row, "{i}");
    }
    // 16 rows of 8 f32 become 8 rows of 16.
    let x: Vec<f32> = (0..128).map(|i| i as f32).collect();
    let text = format!(
        "cores 1\ntensor x: f32[128] in\ntensor z: f32[128] out\nub a: 512\nub b: 512\nload a[0], x[0] bytes 512\n{LOADED}\
         transpose.f32 b[0](1, 2, 0), a[0](1, 2, 0)\n{COMPUTED}store z[0], b[0] bytes 512\n"
    );
    let z = run(&text, cast_slice(&x));
    for (i, value) in cast_slice::<u8, f32>(&z).iter().enumerate() {
        assert_eq!(*value, (i % 16 * 8 + i / 16) as f32, "{i}");
    }
    // 16 rows of 32 bytes: the second half of the columns to the second half of the blocks.
    let x: Vec<u8> = (0..512).map(|i| (i % 251) as u8).collect();
    let text = format!(
        "cores 1\ntensor x: u8[512] in\ntensor z: u8[512] out\nub a: 512\nub b: 512\nload a[0], x[0] bytes 512\n{LOADED}\
         dup.u16 b[0], 0 repeat 2\ntranspose.u8 b[0](1, 2, 0), a[0](1, 2, 0) to_high from_high\n{COMPUTED}store z[0], b[0] bytes 512\n"
    );
    let z = run(&text, &x);
    for (i, value) in z.iter().enumerate() {
        let (column, row) = (i / 32, i % 32);
        let expected = if row < 16 { 0 } else { x[(row - 16) * 32 + 16 + column] };
        assert_eq!(*value, expected, "{i}");
    }
}

#[test]
fn the_scalar_unit_computes() {
    let text = "cores 1
        tensor x: f32[8] in
        tensor z: i32[16] out
        let a = read.f32 x[0]
        let b = read.f32 x[4]
        let c = mul(a, b)
        let d = div(c, 4.0)
        let e = floor(d)
        write.i32 z[0], e
        let e = ceil(d)
        write.i32 z[4], e
        let n = div(-7, 2)
        write.i32 z[8], n
        let n = mod(-7, 2)
        write.i32 z[12], n
        let n = max(e, 3)
        let n = shl(n, 4)
        write.i32 z[16], n + 1
        if a < b {
          write.i32 z[20], 1
        } else {
          write.i32 z[20], 2
        }
        let f = float(e)
        let f = add(f, 0.25)
        write.f32 z[24], f
        let s = 0
        for i in 3..20 step 4 {
          let s = s + i
        }
        write.i32 z[28], s
    ";
    let x = [5.0f32, 1.5, 0., 0., 0., 0., 0., 0.];
    let z = run(text, cast_slice(&x));
    let z = cast_slice::<u8, i32>(&z);
    assert_eq!(z[..6], [1, 2, -4, 1, 49, 2]);
    assert_eq!(f32::from_bits(z[6] as u32), 2.25);
    assert_eq!(z[7], 3 + 7 + 11 + 15 + 19);
}

/// So many bytes that 32 bits do not count them.
#[test]
fn more_than_all_memory_is_outside() {
    for line in [
        "gather.f32 b[0](0), a[0], o[0] count 1073741888",
        "scatter.f32 a[0], o[0], b[0](0) count 1073741888",
        "gather_mask.7.f32 a[0], b[0](0) count 1073741888",
        "gather_bits.f32 a[0], b[0](0), o[0](0) count 1073741888",
    ] {
        let soc = if line.starts_with("scatter") { "Ascend310P3" } else { "Ascend910B1" };
        let text = format!("cores 1\nub a: 256\nub b: 256\nub o: 256\ndup.u32 o[0], 0xffffffff\n{line}\n");
        let program = program(&text, soc);
        match Run::new(&program, Global::new(&program).unwrap()).finish() {
            Err(Halt::Fault(fault)) => {
                assert!(matches!(fault.kind, FaultKind::OutsideBuffer { .. }), "{line}: {fault:?}")
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

/// Of a number and a NaN the number counts, and of NaNs alone a NaN is the result, whichever lanes are off.
#[test]
fn lanes_that_are_off_are_no_numbers() {
    let nan = f32::NAN;
    let of = |line: &str, values: [f32; 64]| {
        let text = format!(
            "cores 1\ntensor x: f32[64] in\ntensor z: f32[8] out\nub a: 256\nub r: 32\nload a[0], x[0] bytes 256\n{LOADED}\
             dup.f32 r[0], 7.0 lanes 8\n{line}\n{COMPUTED}store z[0], r[0] bytes 32\n"
        );
        cast_slice::<u8, f32>(&run(&text, cast_slice(&values))).to_vec()
    };
    let mut two = [nan; 64];
    (two[3], two[9]) = (-2.0, 5.0);
    for (op, all, few) in [("max", 5.0, -2.0), ("min", -2.0, -2.0)] {
        assert!(of(&format!("reduce.{op}.f32 r[0], a[0]"), [nan; 64])[0].is_nan());
        assert!(of(&format!("reduce.{op}.f32 r[0], a[0] lanes 63"), [nan; 64])[0].is_nan());
        assert!(of(&format!("reduce.{op}.f32 r[0], a[0] count 10"), [nan; 64])[0].is_nan());
        assert_eq!(of(&format!("reduce.{op}.f32 r[0], a[0] count 10"), two)[0], all);
        assert_eq!(of(&format!("reduce.{op}.f32 r[0], a[0] lanes 9"), two)[0], few);
        let blocks = of(&format!("reduce_block.{op}.f32 r[0], a[0] lanes 12"), two);
        assert_eq!(blocks[..2], [-2.0, 5.0]);
        let blocks = of(&format!("reduce_block.{op}.f32 r[0], a[0] lanes 12"), [nan; 64]);
        assert!(blocks[0].is_nan() && blocks[1].is_nan(), "{blocks:?}");
    }
}
