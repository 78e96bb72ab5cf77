//! How elements get from `grad_output` to `out`.
//!
//! The gather takes lanes of 16 and 32 bits. An integer becomes a shorter one, which wraps, where fewer of its bytes are gathered; 8 bits
//! become F16 in the table, and 64-bit elements are two lanes. What else is between two dtypes are casts of what was gathered. Each
//! but the last one is exact, or is of numbers that F16 does not reach, so that a value is rounded once.

use ubtile_tiling::Dtype;

use crate::lower::builder::Builder;
use crate::lower::shape::{binary, blocks, cast, fill, scalar};
use crate::lower::{LowerError, bits_of, element};
use crate::product::Element;
use crate::program::{BinaryOp, BufferId, Expr, Local, ScalarOp, size_of};

/// Bytes that are kept of lanes of 16 bits, once for every lane.
const LOW_BYTE: i64 = 0xff;

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
        let integers = from != Dtype::Bool && [source, target].into_iter().all(is_integer);
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
            let casts =
                casts(gathered, target).ok_or(LowerError::NotLowered("BF16 from integers of 32 and 64 bits"))?;
            let trim = match from {
                Dtype::Bool => Some(Trim::Truth),
                _ => (!is_integer(source)).then_some(Trim::Number),
            };
            Self { casts, trim, ..path }
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

const fn is_integer(element: Element) -> bool {
    !matches!(element, Element::F16 | Element::Bf16 | Element::F32)
}

/// The casts from a type to another, in which all but the last one keep what counts. There are none to BF16 from integers that F32 rounds:
/// no product converts them here.
const fn casts(from: Element, to: Element) -> Option<&'static [Element]> {
    use Element::{Bf16, F16, F32, I8, I16, I32, I64, U8};
    Some(match (from, to) {
        (I32 | I64, Bf16) => return None,
        (F16 | I16, Bf16) => &[F32, Bf16],
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
    })
}

/// Where the elements of a run are on their way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    path: Path,
    /// As they were gathered.
    pub(super) gathered: BufferId,
    /// Between two casts.
    between: Option<BufferId>,
    /// A number in each of a repeat's lanes.
    numbers: Option<BufferId>,
}

impl Way {
    /// Bytes of local memory for so many elements.
    pub(super) fn bytes(path: &Path, elements: usize) -> usize {
        if path.is_plain() {
            return 0;
        }
        let between = if path.casts.len() > 1 { blocks(elements * 4) } else { 0 };
        let numbers = if path.trim == Some(Trim::LowByte) { blocks(elements * 2) } else { 0 };
        blocks(elements * path.taken()) + between + numbers
    }

    /// The buffers, where there is a way to go.
    pub(super) fn new(b: &mut Builder, path: Path, elements: usize) -> Option<Self> {
        if path.is_plain() {
            return None;
        }
        let mut buffer = |name, size| b.buffer(name, blocks(elements * size), 1, Some("tile_elements"));
        let gathered = buffer("gathered", path.taken());
        let between = (path.casts.len() > 1).then(|| buffer("between", 4));
        let numbers = (path.trim == Some(Trim::LowByte)).then(|| buffer("low_bytes", 2));
        Some(Self { path, gathered, between, numbers })
    }

    /// Before the first run.
    pub(super) fn begin(&self, b: &mut Builder, elements: usize) {
        if let Some(numbers) = self.numbers {
            fill(b, numbers.at(0), Element::U16, LOW_BYTE, super::int(elements));
        }
    }

    /// To where they are stored from.
    pub(super) fn go(&self, b: &mut Builder, to: Local, elements: &Expr) {
        let gathered = self.gathered.at(0);
        let in_place = || [gathered.clone(), gathered.clone()];
        match (self.path.trim, self.numbers) {
            (Some(Trim::Truth), _) => scalar(b, ScalarOp::Mins, Element::F16, in_place(), 1.0, elements.clone()),
            (Some(Trim::LowByte), Some(numbers)) => {
                let [to, from] = in_place();
                binary(b, BinaryOp::And, Element::U16, [to, from, numbers.at(0)], elements.clone());
            }
            _ => {}
        }
        let mut from = (gathered.clone(), self.path.gathered);
        self.settle(b, &from, elements);
        let (Some((&last, between)), at) = (self.path.casts.split_last(), self.between) else { return };
        for (&element, buffer) in between.iter().zip(at) {
            let next = (buffer.at(0), element);
            cast(b, next.clone(), from, elements.clone());
            self.settle(b, &next, elements);
            from = next;
        }
        cast(b, (to.clone(), last), from, elements.clone());
        self.settle(b, &(to, last), elements);
    }

    /// Makes each NaN the one that arithmetic makes, which casts do not.
    fn settle(&self, b: &mut Builder, (at, element): &(Local, Element), elements: &Expr) {
        if (self.path.trim, *element) == (Some(Trim::Number), Element::F32) {
            scalar(b, ScalarOp::Muls, Element::F32, [at.clone(), at.clone()], 1.0, elements.clone());
        }
    }
}
