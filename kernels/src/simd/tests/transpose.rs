//! Blocks on their way between planes and channels.

use half::{bf16, f16};

use crate::element::Element;
use crate::level::{Kernel, Level};
use crate::simd::transpose::{self, Block};
use crate::simd::{Isa, Real};

/// Widens and transposes a block, or transposes and rounds it.
struct Transpose<'a, E: Element> {
    rows: usize,
    columns: usize,
    short: Block<&'a mut [E]>,
    sums: Block<&'a mut [E::Acc]>,
    widen: bool,
}

impl<E: Element> Kernel for Transpose<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) {
        let Self { rows, columns, short, sums, widen } = self;
        if widen {
            transpose::widen(isa, Block { data: &*short.data, pitch: short.pitch }, sums, rows, columns);
        } else {
            transpose::narrow(isa, Block { data: &*sums.data, pitch: sums.pitch }, short, rows, columns);
        }
    }
}

fn transposes<E: Element<Acc: Into<f64>>>(from: impl Fn(usize) -> E) {
    // Room around the block on every side, and pitches that are not the same.
    const PITCH: [usize; 2] = [11, 9];
    let wide = |v: E| -> f64 { v.widen().into() };
    for level in Level::available() {
        for (rows, columns) in (0..=8).flat_map(|rows| (0..=8).map(move |columns| (rows, columns))) {
            let mut short: Vec<E> = (1..=99).map(&from).collect();
            let mut sums: Vec<E::Acc> = (1..=99).map(|i| from(i + 99).widen()).collect();
            let before: Vec<f64> = sums.iter().map(|&v| v.into()).collect();
            let run = |short: &mut [E], sums: &mut [E::Acc], widen| {
                let (short, sums) = (Block { data: short, pitch: PITCH[0] }, Block { data: sums, pitch: PITCH[1] });
                let [rows, columns] = if widen { [rows, columns] } else { [columns, rows] };
                level.dispatch(Transpose::<E> { rows, columns, short, sums, widen });
            };
            run(&mut short, &mut sums, true);
            for (at, &v) in sums.iter().enumerate() {
                let (j, i) = (at / PITCH[1], at % PITCH[1]);
                let want = if i < rows && j < columns { wide(short[i * PITCH[0] + j]) } else { before[at] };
                assert_eq!(v.into(), want, "{level}: widen {rows} x {columns}, [{j}, {i}]");
            }
            let original: Vec<f64> = short.iter().copied().map(wide).collect();
            short.fill(from(0));
            run(&mut short, &mut sums, false);
            for (at, &v) in short.iter().enumerate() {
                let (i, j) = (at / PITCH[0], at % PITCH[0]);
                let want = if i < rows && j < columns { original[at] } else { 0.0 };
                assert_eq!(wide(v), want, "{level}: narrow {rows} x {columns}, [{i}, {j}]");
            }
        }
    }
}

#[test]
fn blocks_transpose_and_nothing_else_is_written() {
    transposes(f32::from_usize);
    transposes(f64::from_usize);
    transposes(|i| f16::from_f32(i as f32));
    transposes(|i| bf16::from_f32(i as f32));
}

#[test]
fn a_transposed_result_is_stored_canonical() {
    for level in Level::available() {
        let mut short = [bf16::ZERO; 4];
        let mut sums = [1.0, 1.0 + 1.0 / 256.0, f32::from_bits(0xffff_ffff), f32::NEG_INFINITY];
        level.dispatch(Transpose::<bf16> {
            rows: 2,
            columns: 2,
            short: Block { data: &mut short, pitch: 2 },
            sums: Block { data: &mut sums, pitch: 2 },
            widen: false,
        });
        assert_eq!(short.map(bf16::to_bits), [0x3f80, 0x7fc0, 0x3f80, 0xff80], "{level}");
    }
}
