//! How elements get from `grad_output` to `out`.
//!
//! The gather takes lanes of 16 and 32 bits. An integer becomes a shorter one, which wraps, where fewer of its bytes are gathered; 8 bits
//! become F16 in the table, and 64-bit elements are two lanes. What else is between two dtypes are casts of what was gathered. Each
//! but the last one is exact, or is of numbers that F16 does not reach, so that a value is rounded once.

use ubtile_tiling::Dtype;

use crate::lower::builder::{Builder, int};
use crate::lower::shape::{binary, blocks, cast, fill, scalar};
use crate::lower::{LowerError, bits_of, element};
use crate::product::{Element, Rounding};
use crate::program::{BinaryOp, BufferId, Expr, Local, ScalarOp, Vector, VectorOp, is_float, size_of};

/// From a dtype to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// Bytes of an element of `grad_output`.
    pub(super) loaded: usize,
    /// What it is, where the table has it in F16.
    pub(super) widened: Option<Element>,
    /// What is gathered, and in how many lanes.
    pub(super) lane: Element,
    pub(super) lanes: usize,
    /// What the lanes are, and become one after the other.
    gathered: Element,
    casts: &'static [Element],
    /// What else is done.
    trim: Option<Trim>,
    /// Bytes of an element of `out`.
    pub(super) stored: usize,
}

/// What of an element counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trim {
    /// The low byte.
    LowByte,
    /// Whether there is a bit.
    Truth,
    /// All, but of NaNs that there are some: where it is F32, as the other types' lanes do not all compute.
    Number,
    /// All, though F32 does not hold it: there it is rounded to odd, so that rounding it again gives what one rounding would give.
    Sticky,
}

impl Trim {
    /// The bits that it takes of lanes of that type, if some.
    const fn bits(self) -> Option<(Element, i64)> {
        match self {
            Self::LowByte => Some((Element::U16, 0xff)),
            Self::Sticky => Some((Element::U32, 1)),
            Self::Truth | Self::Number => None,
        }
    }
}

impl Path {
    pub(super) fn new(from: Dtype, to: Dtype) -> Result<Self, LowerError> {
        let [source, target] = [element(from)?, element(to)?];
        let [loaded, stored] = [source, target].map(|element| size_of(element) as usize);
        let (lane, lanes) = match loaded {
            1 => (Element::F16, 1),
            8 => (Element::U32, 2),
            _ => (bits_of(source), 1),
        };
        let widened = (loaded == 1).then_some(source);
        let gathered = if loaded == 1 { Element::F16 } else { source };
        let path = Self { loaded, widened, lane, lanes, gathered, casts: &[], trim: None, stored };
        let integers = from != Dtype::Bool && ![source, target].into_iter().any(is_float);
        Ok(if from == to || integers && loaded == stored {
            if loaded == 1 { Self { widened: Some(Element::U8), casts: &[Element::U8], ..path } } else { path }
        } else if integers && loaded > stored {
            let narrow = Self { lane: bits_of(target), lanes: 1, ..path };
            if stored == 1 {
                let trim = Some(Trim::LowByte);
                Self { lane: Element::U16, gathered: Element::I16, casts: &[Element::U8], trim, ..narrow }
            } else {
                narrow
            }
        } else {
            let trim = match (from, to) {
                (Dtype::Bool, _) => Some(Trim::Truth),
                (Dtype::I32 | Dtype::I64, Dtype::Bf16) => Some(Trim::Sticky),
                _ => is_float(source).then_some(Trim::Number),
            };
            Self { casts: casts(gathered, target), trim, ..path }
        })
    }

    /// Bytes of an element in the table.
    pub(super) const fn in_table(&self) -> usize {
        if self.widened.is_some() { 2 } else { self.loaded }
    }

    /// Bytes of an element as it is gathered.
    pub(super) const fn taken(&self) -> usize {
        size_of(self.lane) as usize * self.lanes
    }

    /// Whether what is gathered is what is stored.
    pub(super) const fn is_plain(&self) -> bool {
        self.casts.is_empty()
    }
}

/// The casts from a type to another, in which all but the last one keep what counts.
const fn casts(from: Element, to: Element) -> &'static [Element] {
    use Element::{Bf16, F16, F32, I8, I16, I32, I64, U8};
    match (from, to) {
        (F16 | I16 | I32 | I64, Bf16) => &[F32, Bf16],
        (Bf16 | I32 | I64, F16) => &[F32, F16],
        (I16, I32) => &[F32, I32],
        (I16, I64) => &[F32, I64],
        (F16, I64) => &[I32, I64],
        (_, F16) => &[F16],
        (_, Bf16) => &[Bf16],
        (_, F32) => &[F32],
        (_, I8) => &[I8],
        (_, I16) => &[I16],
        (_, I32) => &[I32],
        (_, I64) => &[I64],
        _ => &[U8],
    }
}

/// Where the elements of a run are on their way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    path: Path,
    /// As they were gathered.
    pub(super) gathered: BufferId,
    /// Between two casts.
    between: Option<BufferId>,
    /// The bits that count of each element.
    bits: Option<BufferId>,
    /// The other neighbours in F32.
    neighbours: Option<BufferId>,
}

impl Way {
    /// Bytes of local memory for so many elements.
    pub(super) fn bytes(path: &Path, elements: usize) -> usize {
        if path.is_plain() {
            return 0;
        }
        let of = |size: usize| blocks(elements * size);
        let between = if path.casts.len() > 1 { of(4) } else { 0 };
        let bits = path.trim.and_then(Trim::bits).map_or(0, |(element, _)| of(size_of(element) as usize));
        let neighbours = if path.trim == Some(Trim::Sticky) { of(4) } else { 0 };
        of(path.taken()) + between + bits + neighbours
    }

    /// The buffers, where there is a way to go.
    pub(super) fn new(b: &mut Builder, path: Path, elements: usize) -> Option<Self> {
        if path.is_plain() {
            return None;
        }
        let mut buffer = |name, size| b.buffer(name, blocks(elements * size), 1, Some("tile_elements"));
        let gathered = buffer("gathered", path.taken());
        let between = (path.casts.len() > 1).then(|| buffer("between", 4));
        let bits = path.trim.and_then(Trim::bits).map(|(element, _)| buffer("bits", size_of(element) as usize));
        let neighbours = (path.trim == Some(Trim::Sticky)).then(|| buffer("neighbours", 4));
        Some(Self { path, gathered, between, bits, neighbours })
    }

    /// Before the first run.
    pub(super) fn begin(&self, b: &mut Builder, elements: usize) {
        if let (Some(buffer), Some((element, bits))) = (self.bits, self.path.trim.and_then(Trim::bits)) {
            fill(b, buffer.at(0), element, bits, int(elements));
        }
    }

    /// To where they are stored from.
    pub(super) fn go(&self, b: &mut Builder, to: Local, elements: &Expr) {
        let gathered = self.gathered.at(0);
        let in_place = || [gathered.clone(), gathered.clone()];
        match (self.path.trim, self.bits) {
            (Some(Trim::Truth), _) => scalar(b, ScalarOp::Mins, Element::F16, in_place(), 1.0, elements.clone()),
            (Some(Trim::LowByte), Some(bits)) => {
                let [to, from] = in_place();
                binary(b, BinaryOp::And, Element::U16, [to, from, bits.at(0)], elements.clone());
            }
            _ => {}
        }
        let mut from = (gathered.clone(), self.path.gathered);
        self.settle(b, &from, elements);
        let (Some((&last, between)), at) = (self.path.casts.split_last(), self.between) else { return };
        for (&element, buffer) in between.iter().zip(at) {
            let next = (buffer.at(0), element);
            self.step(b, &next, &from, elements);
            self.settle(b, &next, elements);
            from = next;
        }
        cast(b, (to.clone(), last), from, elements.clone());
        self.settle(b, &(to, last), elements);
    }

    /// A cast to a type between: to F32 towards zero, and odd if one of both neighbours is, where what is lost still counts.
    fn step(&self, b: &mut Builder, to: &(Local, Element), from: &(Local, Element), elements: &Expr) {
        let (Some(neighbours), Some(bits)) = (self.neighbours, self.bits) else {
            return cast(b, to.clone(), from.clone(), elements.clone());
        };
        let neighbour = neighbours.at(0);
        let round = |b: &mut Builder, at: &Local, rounding| {
            let op = VectorOp::Cast { to: to.1, from: from.1, rounding };
            b.vector(Vector::new(op, [at.clone(), from.0.clone()]).count(elements.clone()));
        };
        round(b, &to.0, Rounding::Zero);
        for rounding in [Rounding::Floor, Rounding::Ceil] {
            round(b, &neighbour, rounding);
            for (op, at, other) in [(BinaryOp::And, &neighbour, bits.at(0)), (BinaryOp::Or, &to.0, neighbour.clone())] {
                // Of lanes of 32 bits, both halves.
                binary(b, op, Element::U16, [at.clone(), at.clone(), other], elements.clone() * 2);
            }
        }
    }

    /// Makes each NaN the one that arithmetic makes, which casts do not.
    fn settle(&self, b: &mut Builder, (at, element): &(Local, Element), elements: &Expr) {
        if (self.path.trim, *element) == (Some(Trim::Number), Element::F32) {
            scalar(b, ScalarOp::Muls, Element::F32, [at.clone(), at.clone()], 1.0, elements.clone());
        }
    }
}
