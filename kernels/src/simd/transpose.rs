//! Between planes and channels side by side: 8 × 8 blocks, transposed on their way from memory to memory.

use super::{Isa, Real, Vector};
use crate::element::Element;

/// Rows and columns of a block.
pub(crate) const BLOCK: usize = 8;

/// Where a block lies: element `[i, j]` is `data[i * pitch + j]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<D> {
    /// From the first element on; elements that it lacks read as zeros and are not written.
    pub(crate) data: D,
    /// Elements from one row to the next.
    pub(crate) pitch: usize,
}

impl<T> Block<&[T]> {
    /// The elements `[i, j..end]`.
    #[inline(always)]
    fn row(&self, i: usize, j: usize, end: usize) -> &[T] {
        let start = i.wrapping_mul(self.pitch);
        self.data.get(start.wrapping_add(j)..start.wrapping_add(end)).unwrap_or(&[])
    }
}

impl<T> Block<&mut [T]> {
    /// The elements `[i, j..end]`.
    #[inline(always)]
    fn row(&mut self, i: usize, j: usize, end: usize) -> &mut [T] {
        let start = i.wrapping_mul(self.pitch);
        self.data.get_mut(start.wrapping_add(j)..start.wrapping_add(end)).unwrap_or(&mut [])
    }
}

/// Widens `rows` × `columns` elements, each at most 8, and transposes them: `dst[j, i] = src[i, j]`. Writes no other element.
#[inline(always)]
pub(crate) fn widen<S: Isa, E: Element>(
    isa: S,
    src: Block<&[E]>,
    mut dst: Block<&mut [E::Acc]>,
    rows: usize,
    columns: usize,
) {
    squares::<S, E::Acc>(
        isa,
        [rows, columns],
        #[inline(always)]
        |i, j, end| E::load(isa, src.row(i, j, end)),
        #[inline(always)]
        |j, i, end, v| v.store(dst.row(j, i, end)),
    );
}

/// Rounds `rows` × `columns` results, each at most 8, as [`Element::store`] does, and transposes them: `dst[j, i] = src[i, j]`.
/// Writes no other element.
#[inline(always)]
pub(crate) fn narrow<S: Isa, E: Element>(
    isa: S,
    src: Block<&[E::Acc]>,
    mut dst: Block<&mut [E]>,
    rows: usize,
    columns: usize,
) {
    squares::<S, E::Acc>(
        isa,
        [rows, columns],
        #[inline(always)]
        |i, j, end| Vector::load(isa, src.row(i, j, end)),
        #[inline(always)]
        |j, i, end, v| E::store(isa, v, dst.row(j, i, end)),
    );
}

/// Transposes the squares of `LANES` × `LANES` that a block consists of. `load(i, j, end)` reads the elements `[i, j..end]`,
/// `store(j, i, end, v)` writes the elements `[j, i..end]`.
#[inline(always)]
fn squares<S: Isa, T: Real>(
    isa: S,
    [rows, columns]: [usize; 2],
    load: impl Fn(usize, usize, usize) -> T::V<S>,
    mut store: impl FnMut(usize, usize, usize, T::V<S>),
) {
    let lanes = T::V::<S>::LANES;
    let full = rows >= BLOCK && columns >= BLOCK;
    for i in (0..rows.min(BLOCK)).step_by(lanes) {
        for j in (0..columns.min(BLOCK)).step_by(lanes) {
            let [row_end, column_end] = [i.wrapping_add(lanes), j.wrapping_add(lanes)];
            if full {
                // The usual case again, without questions to ask of each row.
                T::V::<S>::transpose(
                    #[inline(always)]
                    |k| load(i.wrapping_add(k), j, column_end),
                    #[inline(always)]
                    |k, v| store(j.wrapping_add(k), i, row_end, v),
                );
                continue;
            }
            T::V::<S>::transpose(
                #[inline(always)]
                |k| match i.wrapping_add(k) {
                    row if row < rows => load(row, j, columns.min(column_end)),
                    _ => Vector::splat(isa, T::default()),
                },
                #[inline(always)]
                |k, v| match j.wrapping_add(k) {
                    column if column < columns => store(column, i, rows.min(row_end), v),
                    _ => (),
                },
            );
        }
    }
}
