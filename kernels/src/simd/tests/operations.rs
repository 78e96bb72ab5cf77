//! Arithmetic, comparisons, loads and stores, against the one-lane level, and that against the standard library.

use super::{OnQuad, everywhere};
use crate::level::{Kernel, Level};
use crate::simd::{Isa, Mask, Real, Vector};

/// An operation of [`Vector`] on up to three operands.
#[derive(Clone, Copy, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Abs,
    Floor,
    Lt,
    Le,
    Eq,
    And,
    Or,
    Select,
    Splat,
    Canonical,
    AddTo,
}

impl Op {
    const ALL: [Self; 15] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Abs,
        Self::Floor,
        Self::Lt,
        Self::Le,
        Self::Eq,
        Self::And,
        Self::Or,
        Self::Select,
        Self::Splat,
        Self::Canonical,
        Self::AddTo,
    ];

    /// Whether it computes, so that the bits of a NaN it makes are anyone's guess.
    fn computes(self) -> bool {
        matches!(self, Self::Add | Self::Sub | Self::Mul | Self::Div | Self::Floor | Self::AddTo)
    }
}

/// Applies an operation to all elements of equally long slices, a vector at a time.
struct Apply<'a, T> {
    op: Op,
    a: &'a [T],
    b: &'a [T],
}

impl<T: Real> Kernel for Apply<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Vec<T> {
        let mut out = vec![T::ONE; self.a.len()];
        let lanes = T::V::<S>::LANES;
        for ((a, b), out) in self.a.chunks(lanes).zip(self.b.chunks(lanes)).zip(out.chunks_mut(lanes)) {
            let (x, y) = (T::V::<S>::load(isa, a), T::V::<S>::load(isa, b));
            let v = match self.op {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Div => x / y,
                Op::Abs => x.abs(),
                Op::Floor => x.floor(),
                Op::Lt => x.lt(y),
                Op::Le => x.le(y),
                Op::Eq => x.eq(y),
                Op::And => x.lt(y).and(y.eq(y)),
                Op::Or => x.le(y).or(y.le(x)),
                Op::Select => Vector::select(x.le(y), y, x),
                Op::Splat => T::V::<S>::splat(isa, T::HALF),
                Op::Canonical => x.canonical(isa),
                Op::AddTo => {
                    let zero = T::V::<S>::splat(isa, T::default());
                    let mask = <T::V<S> as Vector<S>>::Mask::of(x.le(y)).both(Mask::of(zero.lt(y)));
                    // A sum is nowhere -0.0.
                    mask.add_to(x + zero, y)
                }
            };
            v.store(out);
        }
        out
    }
}

/// How many lanes an f32 vector has.
struct Lanes;

impl Kernel for Lanes {
    type Output = usize;

    #[inline(always)]
    fn run<S: Isa>(self, _: S) -> usize {
        S::F32::LANES
    }
}

#[test]
fn quad_has_at_most_four_lanes() {
    for level in Level::available() {
        let (own, quad) = (level.dispatch(Lanes), level.dispatch(OnQuad(Lanes)));
        assert_eq!(quad, own.min(4), "{level}");
    }
}

fn bits<T: Real>(values: &[T]) -> Vec<&[u8]> {
    values.iter().map(bytemuck::bytes_of).collect()
}

/// All pairs of `values`, as two slices.
fn pairs<T: Copy>(values: &[T]) -> (Vec<T>, Vec<T>) {
    values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
}

fn agree<T: Real>(values: &[T], std: impl Fn(Op, T, T) -> T) {
    let (a, b) = pairs(values);
    for op in Op::ALL {
        let apply = || Apply { op, a: &a, b: &b };
        let scalar = Level::scalar().dispatch(apply());
        for (i, &got) in scalar.iter().enumerate() {
            let want = std(op, a[i], b[i]);
            let same =
                bits(&[got]) == bits(&[want]) || (op.computes() && got.canonical() != got && want.canonical() != want);
            assert!(same, "{op:?} of {:?} and {:?} is {got:?}, not {want:?}", a[i], b[i]);
        }
        for (level, mut got) in everywhere(apply) {
            let mut want = scalar.clone();
            if op.computes() {
                for v in got.iter_mut().chain(&mut want) {
                    *v = v.canonical();
                }
            }
            for i in 0..got.len() {
                let same = bits(&got[i..=i]) == bits(&want[i..=i]);
                assert!(same, "{level}: {op:?} of {:?} and {:?} is {:?}, not {:?}", a[i], b[i], got[i], want[i]);
            }
        }
    }
}

/// Both signs of `magnitudes`, and two kinds of NaN.
fn signed<T: Real>(magnitudes: &[T], nan: [T; 2]) -> Vec<T> {
    magnitudes.iter().flat_map(|&m| [m, -m]).chain(nan).collect()
}

#[test]
fn f32_operations_agree() {
    let magnitudes = [
        0.0,
        f32::from_bits(1),
        f32::MIN_POSITIVE,
        0.25,
        0.5,
        0.75,
        f32::from_bits(0x3f7f_ffff),
        1.0,
        1.5,
        2.0,
        2.5,
        1e6 + 0.75,
        4_194_303.5,
        8_388_607.0,
        8_388_607.5,
        8_388_608.0,
        8_388_609.0,
        16_777_216.0,
        2_147_483_520.0,
        2_147_483_648.0,
        9.3e18,
        f32::MAX,
        f32::INFINITY,
    ];
    agree(&signed(&magnitudes, [f32::from_bits(0x7fc0_0001), f32::from_bits(0xffc0_0000)]), |op, a, b| {
        let mask = |on: bool| f32::from_bits(if on { u32::MAX } else { 0 });
        match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Abs => a.abs(),
            // The sum turns -0 into +0.
            Op::Floor => a.floor() + 0.0,
            Op::Lt => mask(a < b),
            Op::Le => mask(a <= b),
            Op::Eq => mask(a == b),
            Op::And => mask(a < b && !b.is_nan()),
            Op::Or => mask(a <= b || b <= a),
            Op::Select => {
                if a <= b {
                    b
                } else {
                    a
                }
            }
            Op::Splat => 0.5,
            Op::Canonical => {
                if a.is_nan() {
                    f32::from_bits(0x7fc0_0000)
                } else {
                    a
                }
            }
            Op::AddTo => (a + 0.0) + if a <= b && 0.0 < b { b } else { 0.0 },
        }
    });
}

#[test]
fn f64_operations_agree() {
    let magnitudes = [
        0.0,
        f64::from_bits(1),
        f64::MIN_POSITIVE,
        0.25,
        0.5,
        0.75,
        f64::from_bits(0x3fef_ffff_ffff_ffff),
        1.0,
        1.5,
        2.0,
        2.5,
        8_388_607.5,
        2_147_483_647.5,
        2_147_483_648.5,
        2_251_799_813_685_247.5,
        4_503_599_627_370_495.0,
        4_503_599_627_370_495.5,
        4_503_599_627_370_496.0,
        4_503_599_627_370_497.0,
        9.3e18,
        f64::MAX,
        f64::INFINITY,
    ];
    let nan = [f64::from_bits(0x7ff8_0000_0000_0001), f64::from_bits(0xfff8_0000_0000_0000)];
    agree(&signed(&magnitudes, nan), |op, a, b| {
        let mask = |on: bool| f64::from_bits(if on { u64::MAX } else { 0 });
        match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Abs => a.abs(),
            // The sum turns -0 into +0.
            Op::Floor => a.floor() + 0.0,
            Op::Lt => mask(a < b),
            Op::Le => mask(a <= b),
            Op::Eq => mask(a == b),
            Op::And => mask(a < b && !b.is_nan()),
            Op::Or => mask(a <= b || b <= a),
            Op::Select => {
                if a <= b {
                    b
                } else {
                    a
                }
            }
            Op::Splat => 0.5,
            Op::Canonical => {
                if a.is_nan() {
                    f64::from_bits(0x7ff8_0000_0000_0000)
                } else {
                    a
                }
            }
            Op::AddTo => (a + 0.0) + if a <= b && 0.0 < b { b } else { 0.0 },
        }
    });
}

/// More than the lanes of any vector.
const MANY: usize = 17;

/// What a load of `src` stores into more elements than that, and whether any lane of it is above 0.
struct Through<'a, T>(&'a [T]);

impl<T: Real> Kernel for Through<'_, T> {
    type Output = (usize, [T; MANY], bool);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let v = T::V::<S>::load(isa, self.0);
        let mut out = [-T::ONE; MANY];
        v.store(&mut out);
        let positive = T::V::<S>::any(T::V::<S>::splat(isa, T::default()).lt(v));
        (T::V::<S>::LANES, out, positive)
    }
}

fn short_slices<T: Real>() {
    let full: Vec<T> = (1..=MANY).map(T::from_usize).collect();
    for len in 0..=MANY {
        let mut single = vec![T::default(); len];
        if let Some(last) = single.last_mut() {
            *last = T::ONE;
        }
        let last_is_set = everywhere(|| Through(&single)).map(|(_, (.., any))| any);
        for ((level, (lanes, out, positive)), last_is_set) in everywhere(|| Through(&full[..len])).zip(last_is_set) {
            for (i, &got) in out.iter().enumerate() {
                let want = match i {
                    _ if i >= lanes => -T::ONE,
                    _ if i >= len => T::default(),
                    _ => full[i],
                };
                assert!(got == want, "{level}: lane {i} of a load of {len}: {got:?}, not {want:?}");
            }
            assert_eq!(positive, len > 0, "{level}: any lane of a load of {len}");
            assert_eq!(last_is_set, (1..=lanes).contains(&len), "{level}: any lane of {len}, only the last set");
        }
    }
}

#[test]
fn loads_and_stores_of_short_slices() {
    short_slices::<f32>();
    short_slices::<f64>();
}

/// Stores a vector into a slice of that length; what lies behind must stay.
struct StoreInto(usize);

impl Kernel for StoreInto {
    type Output = (usize, [f32; MANY + 3]);

    #[inline(always)]
    fn run<S: Isa>(self, isa: S) -> Self::Output {
        let mut out = [0.0; MANY + 3];
        S::F32::splat(isa, 0.5).store(&mut out[..self.0]);
        (S::F32::LANES, out)
    }
}

#[test]
fn a_store_fills_what_there_is() {
    for len in 0..=MANY {
        for (level, (lanes, out)) in everywhere(|| StoreInto(len)) {
            let written = out.iter().take_while(|&&v| v == 0.5).count();
            assert_eq!(written, len.min(lanes), "{level}: a store into {len}");
            assert!(out[written..].iter().all(|&v| v == 0.0), "{level}: a store into {len} reached further");
        }
    }
}
