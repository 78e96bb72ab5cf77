//! What is known of each byte of a memory.
//!
//! Programs mostly touch whole blocks of 32 bytes, so that a block has one state; one of which only a part was touched is split into
//! bytes, until it is overwritten as a whole.

use std::ops::Range;

const BLOCK: u64 = 32;
/// Blocks that get a state at once, when one of them is touched for the first time.
const PAGE: u64 = 128;

#[derive(Clone)]
struct Cell<S> {
    /// Bytes that somebody has written, the lowest bit for the first.
    written: u32,
    /// Where the states of the single bytes are, from 1.
    split: u32,
    state: S,
}

/// A state `S` of each byte, and whether it was written.
pub(super) struct Shadow<S> {
    bytes: u64,
    fresh: Cell<S>,
    pages: Vec<Box<[Cell<S>]>>,
    splits: Vec<[S; BLOCK as usize]>,
    /// Splits that nobody uses.
    free: Vec<u32>,
}

fn index(at: u64) -> usize {
    usize::try_from(at).expect("a memory that exists")
}

impl<S: Copy + Default> Shadow<S> {
    /// Of so many bytes, all of them written before or none.
    pub(super) fn new(bytes: u64, written: bool) -> Self {
        let fresh = Cell { written: if written { u32::MAX } else { 0 }, split: 0, state: S::default() };
        let pages = index(bytes.div_ceil(BLOCK * PAGE));
        let pages = std::iter::repeat_with(Box::default).take(pages).collect();
        Self { bytes, fresh, pages, splits: Vec::new(), free: Vec::new() }
    }

    /// Calls `visit` for each piece of the range: with the first byte of its block, which bytes of the block are written, which are meant,
    /// and their states. Afterwards, where `uniform` says so, all that were visited in one call have the same state.
    #[inline]
    pub(super) fn visit(
        &mut self,
        range: Range<u64>,
        uniform: bool,
        mut visit: impl FnMut(u64, &mut u32, u32, &mut [S]),
    ) {
        let Self { bytes, fresh, pages, splits, free } = self;
        let (mut at, end) = (range.start, range.end.min(*bytes));
        while at < end {
            let block = at / BLOCK;
            let page = &mut pages[index(block / PAGE)];
            if page.is_empty() {
                *page = vec![fresh.clone(); index(PAGE)].into();
            }
            let cell = &mut page[index(block % PAGE)];
            let next = ((block + 1) * BLOCK).min(end);
            let (first, count) = (index(at % BLOCK), index(next - at));
            let mask = (u32::MAX >> (32 - count)) << first;
            at = next;
            let base = block * BLOCK;
            if mask == u32::MAX && cell.split == 0 {
                visit(base, &mut cell.written, mask, std::slice::from_mut(&mut cell.state));
                continue;
            }
            if cell.split == 0 {
                cell.split = free.pop().unwrap_or_else(|| {
                    splits.push([S::default(); BLOCK as usize]);
                    u32::try_from(splits.len()).expect("fewer blocks than 2^32")
                });
                splits[cell.split as usize - 1] = [cell.state; BLOCK as usize];
            }
            let states = &mut splits[cell.split as usize - 1];
            visit(base, &mut cell.written, mask, &mut states[first..first + count]);
            if uniform && mask == u32::MAX {
                cell.state = states[0];
                free.push(std::mem::take(&mut cell.split));
            }
        }
    }

    /// Makes bytes written, or undefined again.
    pub(super) fn set_written(&mut self, range: Range<u64>, written: bool) {
        self.visit(range, false, |_, all, mask, _| if written { *all |= mask } else { *all &= !mask });
    }

    /// The first byte that nobody has written, and how many there are.
    pub(super) fn unwritten(&self) -> Option<(u64, u64)> {
        let (mut first, mut count) = (None, 0);
        let mut at = 0;
        for page in &self.pages {
            for i in 0..PAGE {
                let left = self.bytes.saturating_sub(at).min(BLOCK);
                let written = page.get(index(i)).map_or(self.fresh.written, |cell| cell.written);
                let missing = if left == 0 { 0 } else { !written & (u32::MAX >> (BLOCK - left)) };
                if missing != 0 && first.is_none() {
                    first = Some(at + u64::from(missing.trailing_zeros()));
                }
                count += u64::from(missing.count_ones());
                at += BLOCK;
            }
        }
        first.map(|first| (first, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_apart_until_their_block_is_overwritten() {
        let mut shadow = Shadow::<u8>::new(100, false);
        let set = |shadow: &mut Shadow<u8>, range, value| {
            shadow.visit(range, true, |_, written, mask, states| {
                *written |= mask;
                states.fill(value);
            });
        };
        let get = |shadow: &mut Shadow<u8>, at: u64| {
            let mut found = None;
            shadow.visit(at..at + 1, false, |_, written, mask, states| found = Some((states[0], *written & mask != 0)));
            found
        };
        set(&mut shadow, 31..65, 7);
        for (at, expected) in [(30, (0, false)), (31, (7, true)), (32, (7, true)), (64, (7, true)), (65, (0, false))] {
            assert_eq!(get(&mut shadow, at), Some(expected), "{at}");
        }
        set(&mut shadow, 33..34, 9);
        assert_eq!([32, 33, 34].map(|at| get(&mut shadow, at).unwrap().0), [7, 9, 7]);
        set(&mut shadow, 32..64, 5);
        assert_eq!([31, 33, 63, 64].map(|at| get(&mut shadow, at).unwrap().0), [7, 5, 5, 7]);
        assert_eq!((get(&mut shadow, 99), get(&mut shadow, 100)), (Some((0, false)), None));
        assert_eq!(shadow.unwritten(), Some((0, 31 + 35)));
        set(&mut shadow, 0..100, 1);
        assert_eq!(shadow.unwritten(), None);
    }
}
