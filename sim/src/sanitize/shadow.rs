//! What is known of each byte of a memory.
//!
//! Programs mostly touch whole blocks of 32 bytes, so that a block has one state; of one of which only a part was touched, bytes of the
//! same state are a group, and what is done to them is done once.

use std::ops::Range;

const BLOCK: u64 = 32;
/// Blocks that get a state at once, when one of them is touched for the first time.
const PAGE: u64 = 128;

#[derive(Clone)]
struct Cell<S> {
    /// Bytes that somebody has written, the lowest bit for the first.
    written: u32,
    /// Where its groups are, from 1; 0 if it has one state.
    split: u32,
    state: S,
}

/// A state `S` of each byte, and whether it was written.
pub(super) struct Shadow<S> {
    bytes: u64,
    fresh: Cell<S>,
    pages: Vec<Box<[Cell<S>]>>,
    groups: Groups<S>,
}

/// The groups of blocks that have several.
struct Groups<S> {
    /// Of a block: bytes with their state.
    splits: Vec<Vec<(u32, S)>>,
    /// Splits that nobody uses.
    free: Vec<u32>,
}

impl<S: Copy + PartialEq> Groups<S> {
    fn visit(&mut self, cell: &mut Cell<S>, mask: u32, mut visit: impl FnMut(&mut u32, u32, &mut S)) {
        if cell.split == 0 {
            cell.split = self.free.pop().unwrap_or_else(|| {
                self.splits.push(Vec::new());
                u32::try_from(self.splits.len()).expect("fewer blocks than 2^32")
            });
            self.splits[cell.split as usize - 1].push((u32::MAX, cell.state));
        }
        let groups = &mut self.splits[cell.split as usize - 1];
        for i in 0..groups.len() {
            let (bytes, mut state) = groups[i];
            if bytes & mask == 0 {
                continue;
            }
            visit(&mut cell.written, bytes & mask, &mut state);
            if bytes & !mask != 0 {
                groups[i].0 &= !mask;
                groups.push((bytes & mask, state));
            } else {
                groups[i].1 = state;
            }
        }
        unite(groups);
        if let [(_, state)] = groups[..] {
            cell.state = state;
            groups.clear();
            self.free.push(std::mem::take(&mut cell.split));
        }
    }
}

/// Makes one of groups of the same state.
fn unite<S: PartialEq>(groups: &mut Vec<(u32, S)>) {
    let mut i = 0;
    while i < groups.len() {
        for j in (i + 1..groups.len()).rev() {
            if groups[j].1 == groups[i].1 {
                groups[i].0 |= groups.swap_remove(j).0;
            }
        }
        i += 1;
    }
}

fn index(at: u64) -> usize {
    usize::try_from(at).expect("a memory that exists")
}

impl<S: Copy + Default + PartialEq> Shadow<S> {
    /// Of so many bytes, all of them written before or none.
    pub(super) fn new(bytes: u64, written: bool) -> Self {
        let fresh = Cell { written: if written { u32::MAX } else { 0 }, split: 0, state: S::default() };
        let pages = index(bytes.div_ceil(BLOCK * PAGE));
        let pages = std::iter::repeat_with(Box::default).take(pages).collect();
        Self { bytes, fresh, pages, groups: Groups { splits: Vec::new(), free: Vec::new() } }
    }

    /// Calls `block` for each block of the range: with its first byte, its cell, and which of its bytes are meant.
    #[inline]
    fn blocks(&mut self, range: Range<u64>, mut block: impl FnMut(&mut Groups<S>, u64, &mut Cell<S>, u32)) {
        let (mut at, end) = (range.start, range.end.min(self.bytes));
        while at < end {
            let number = at / BLOCK;
            let page = &mut self.pages[index(number / PAGE)];
            if page.is_empty() {
                *page = vec![self.fresh.clone(); index(PAGE)].into();
            }
            let next = ((number + 1) * BLOCK).min(end);
            let (first, count) = (index(at % BLOCK), index(next - at));
            let mask = (u32::MAX >> (32 - count)) << first;
            block(&mut self.groups, number * BLOCK, &mut page[index(number % PAGE)], mask);
            at = next;
        }
    }

    /// Calls `visit` for each group of bytes of the range that share a state: with the first byte of their block, which bytes of the block
    /// are written, which are meant, and their state. Groups of a block come in no order.
    #[inline]
    pub(super) fn visit(&mut self, range: Range<u64>, mut visit: impl FnMut(u64, &mut u32, u32, &mut S)) {
        self.blocks(range, |groups, base, cell, mask| {
            if mask == u32::MAX && cell.split == 0 {
                visit(base, &mut cell.written, mask, &mut cell.state);
            } else {
                groups.visit(cell, mask, |written, mask, state| visit(base, written, mask, state));
            }
        });
    }

    /// Makes bytes written, or undefined again.
    pub(super) fn set_written(&mut self, range: Range<u64>, written: bool) {
        self.blocks(range, |_, _, cell, mask| if written { cell.written |= mask } else { cell.written &= !mask });
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
            shadow.visit(range, |_, written, mask, state| {
                *written |= mask;
                *state = value;
            });
        };
        let get = |shadow: &mut Shadow<u8>, at: u64| {
            let mut found = None;
            shadow.visit(at..at + 1, |_, written, mask, state| found = Some((*state, *written & mask != 0)));
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
