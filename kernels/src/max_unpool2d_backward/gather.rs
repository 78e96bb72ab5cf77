//! The gather of a run of elements, by element width.

use core::num::NonZeroUsize;

use bytemuck::Pod;

use super::Inputs;
use crate::built::{BF16, F16, F32, F64, INTEGER};
use crate::cast::{CHUNK, convert};
use crate::values::{Values, ValuesMut};

/// Which sizes of elements this build has.
const WORDS_OF_2: bool = F16 || BF16 || INTEGER;
const WORDS_OF_4: bool = F32 || INTEGER;
const WORDS_OF_8: bool = F64 || INTEGER;

/// Whether it has two dtypes that convert to each other.
const CONVERTS: bool = INTEGER || F16 as u8 + BF16 as u8 + F32 as u8 + F64 as u8 > 1;

/// Where the elements of a run lie in a tensor or box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) start: usize,
    pub(super) step: usize,
}

impl Places {
    fn at(&self, k: usize) -> usize {
        self.start.wrapping_add(k.wrapping_mul(self.step))
    }
}

/// The plane that indices point into, or the slice of it that is at hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    /// Offset of the first cell at hand.
    pub(super) start: usize,
    /// First and one past the last cell at hand.
    pub(super) cells: [usize; 2],
    /// All cells of the plane.
    pub(super) all: usize,
    /// Width of the plane and distances of neighbouring rows and columns, where its cells do not lie side by side.
    pub(super) pitched: Option<(NonZeroUsize, [usize; 2])>,
}

/// What an index leads to.
enum Found<T> {
    Cell(T),
    /// A cell that is not at hand.
    Elsewhere,
    /// Nothing: it is outside of the plane.
    Outside,
}

impl Plane {
    fn find<T: Copy>(&self, data: &[T], cell: usize) -> Found<T> {
        if cell >= self.all {
            return Found::Outside;
        }
        let [from, to] = self.cells;
        if cell < from || cell >= to {
            return Found::Elsewhere;
        }
        let cell = cell - from;
        let offset = self.pitched.map_or(cell, |(width, [sh, sw])| {
            (cell / width).wrapping_mul(sh).wrapping_add((cell % width).wrapping_mul(sw))
        });
        // The lengths have been checked, so there is a cell.
        data.get(self.start.wrapping_add(offset)).map_or(Found::Outside, |&cell| Found::Cell(cell))
    }
}

/// A way to gather whose elements are bits copied as they are.
pub(super) trait Copies {
    /// Gathers. Gives the lowest flat position of a bad index.
    fn gather<W: Pod, I: Index>(&self, data: &[W], indices: &[I], out: &mut [W]) -> Option<usize>;
}

/// Gathers with tensors of any dtypes. Gives the lowest flat position of a bad index.
pub(super) fn copies(how: &impl Copies, inputs: Inputs<'_>, out: &mut ValuesMut<'_>) -> Option<usize> {
    match inputs.grad_output.dtype().size() {
        1 if INTEGER => copies_of::<u8>(how, inputs, out),
        2 if WORDS_OF_2 => copies_of::<u16>(how, inputs, out),
        4 if WORDS_OF_4 => copies_of::<u32>(how, inputs, out),
        8 if WORDS_OF_8 => copies_of::<u64>(how, inputs, out),
        // The contract has no other, and what is not built has been refused.
        _ => None,
    }
}

fn copies_of<W: Pod>(how: &impl Copies, inputs: Inputs<'_>, out: &mut ValuesMut<'_>) -> Option<usize> {
    let (data, out) = (words::<W>(inputs.grad_output.bytes()), words_mut(out.bytes_mut()));
    match inputs.indices {
        Values::I32(indices) => how.gather(data, indices, out),
        Values::I64(indices) => how.gather(data, indices, out),
        // The contract has no other.
        _ => None,
    }
}

/// A run of elements to gather.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gather {
    pub(super) plane: Plane,
    pub(super) indices: Places,
    pub(super) out: Places,
    pub(super) count: usize,
    /// Whether elements whose cell is not at hand stay as they are; else they become 0.
    pub(super) keeps: bool,
}

impl Gather {
    /// Gathers, and gives the number of the first element whose index is outside of the plane.
    pub(super) fn run(&self, inputs: Inputs<'_>, out: &mut ValuesMut<'_>) -> Option<usize> {
        match inputs.grad_output.dtype().size() {
            1 if INTEGER => self.words::<u8>(inputs, out),
            2 if WORDS_OF_2 => self.words::<u16>(inputs, out),
            4 if WORDS_OF_4 => self.words::<u32>(inputs, out),
            8 if WORDS_OF_8 => self.words::<u64>(inputs, out),
            // The contract has no other, and what is not built has been refused.
            _ => None,
        }
    }

    fn words<W: Pod>(&self, inputs: Inputs<'_>, out: &mut ValuesMut<'_>) -> Option<usize> {
        match inputs.indices {
            Values::I32(indices) => self.indexed::<W, i32>(inputs, indices, out),
            Values::I64(indices) => self.indexed::<W, i64>(inputs, indices, out),
            // The contract has no other.
            _ => None,
        }
    }

    fn indexed<W: Pod, I: Index>(&self, inputs: Inputs<'_>, indices: &[I], out: &mut ValuesMut<'_>) -> Option<usize> {
        let data: &[W] = words(inputs.grad_output.bytes());
        let same = !CONVERTS || inputs.grad_output.dtype() == out.as_values().dtype();
        if same && self.is_whole() && self.out.step == 1 {
            let out: &mut [W] = words_mut(out.bytes_mut());
            let out = out.get_mut(self.out.start..).and_then(|o| o.get_mut(..self.count)).unwrap_or_default();
            return self.whole(0, data, indices, out);
        }
        let mut bad = None;
        for first in (0..self.count).step_by(CHUNK) {
            let chunk = Chunk { first, count: CHUNK.min(self.count - first) };
            let mut cells = [W::zeroed(); CHUNK];
            let (written, outside) = self.chunk(chunk, data, indices, &mut cells);
            bad = bad.or(outside);
            if same {
                self.write(chunk, written, &cells, words_mut(out.bytes_mut()));
                continue;
            }
            let to = out.as_values().dtype();
            let mut converted = [0u64; CHUNK];
            let from = Values::from_bytes(inputs.grad_output.dtype(), bytemuck::bytes_of(&cells));
            let into = ValuesMut::from_bytes(to, bytemuck::bytes_of_mut(&mut converted));
            if let (Some(from), Some(mut into)) = (from, into) {
                convert(&from, &mut into);
            }
            let converted = bytemuck::bytes_of(&converted);
            match to.size() {
                1 if INTEGER => self.write::<u8>(chunk, written, words(converted), words_mut(out.bytes_mut())),
                2 if WORDS_OF_2 => self.write::<u16>(chunk, written, words(converted), words_mut(out.bytes_mut())),
                4 if WORDS_OF_4 => self.write::<u32>(chunk, written, words(converted), words_mut(out.bytes_mut())),
                8 if WORDS_OF_8 => self.write::<u64>(chunk, written, words(converted), words_mut(out.bytes_mut())),
                _ => {}
            }
        }
        bad
    }

    /// Whether all cells are at hand, side by side, and so are the indices.
    fn is_whole(&self) -> bool {
        self.plane.cells == [0, self.plane.all] && self.plane.pitched.is_none() && self.indices.step == 1
    }

    /// Gathers elements from number `first` on where all [is whole](Self::is_whole). Gives the number of the first bad one.
    fn whole<W: Pod, I: Index>(&self, first: usize, data: &[W], indices: &[I], out: &mut [W]) -> Option<usize> {
        let plane = data.get(self.plane.start..).and_then(|d| d.get(..self.plane.all)).unwrap_or(&[]);
        let indices = indices.get(self.indices.at(first)..).unwrap_or(&[]);
        let mut bad = None;
        for (number, (out, indices)) in out.chunks_mut(CHUNK).zip(indices.chunks(CHUNK)).enumerate() {
            for (k, (to, index)) in out.iter_mut().zip(indices).enumerate() {
                *to = plane.get(index.cell()).copied().unwrap_or_else(|| {
                    bad = bad.or(Some(first + number * CHUNK + k));
                    W::zeroed()
                });
            }
        }
        bad
    }

    /// Gathers a chunk. Gives a bit for each element that is to be written, and the number of the first bad one.
    fn chunk<W: Pod, I: Index>(
        &self,
        Chunk { first, count }: Chunk,
        data: &[W],
        indices: &[I],
        cells: &mut [W; CHUNK],
    ) -> (u32, Option<usize>) {
        if self.is_whole() {
            let bad = self.whole(first, data, indices, cells.get_mut(..count).unwrap_or_default());
            return (u32::MAX, bad);
        }
        let (mut written, mut bad) = (0, None);
        for (k, cell) in cells.iter_mut().enumerate().take(count) {
            let index = indices.get(self.indices.at(first + k)).map_or(usize::MAX, |index| index.cell());
            let found = self.plane.find(data, index);
            match found {
                Found::Cell(value) => *cell = value,
                Found::Outside => bad = bad.or(Some(first + k)),
                Found::Elsewhere => {}
            }
            if !self.keeps || matches!(found, Found::Cell(_)) {
                written |= 1 << k;
            }
        }
        (written, bad)
    }

    fn write<W: Pod>(&self, Chunk { first, count }: Chunk, written: u32, cells: &[W], out: &mut [W]) {
        for (k, cell) in cells.iter().enumerate().take(count) {
            if written >> k & 1 == 1
                && let Some(to) = out.get_mut(self.out.at(first + k))
            {
                *to = *cell;
            }
        }
    }
}

/// Some elements of a run, at most [`CHUNK`].
#[derive(Clone, Copy, Debug)]
struct Chunk {
    first: usize,
    count: usize,
}

/// A type of indices.
pub(super) trait Index: Pod {
    /// The cell, `usize::MAX` for any value that is no cell of a plane.
    fn cell(self) -> usize;
}

impl Index for i32 {
    #[inline(always)]
    fn cell(self) -> usize {
        i64::from(self).cell()
    }
}

impl Index for i64 {
    #[inline(always)]
    fn cell(self) -> usize {
        // A negative number is larger than any cell.
        usize::try_from(self as u64).unwrap_or(usize::MAX)
    }
}

fn words<W: Pod>(bytes: &[u8]) -> &[W] {
    bytemuck::try_cast_slice(bytes).unwrap_or(&[])
}

fn words_mut<W: Pod>(bytes: &mut [u8]) -> &mut [W] {
    bytemuck::try_cast_slice_mut(bytes).unwrap_or_default()
}
