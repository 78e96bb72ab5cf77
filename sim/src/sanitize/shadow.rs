//! What is known of each byte of a memory.
//!
//! Programs mostly touch whole blocks of 32 bytes, so that a block has one state; of one of which only a part was touched, bytes of the
//! same state are a group, and what is done to them is done once.

use std::ops::Range;

pub(super) const BLOCK: u64 = 32;
/// Blocks that get a state at once, when one of them is touched for the first time.
const PAGE: u64 = 128;

/// The blocks of a range, each with which of its bytes are meant, the lowest bit for the first.
#[inline]
pub(super) fn masks(range: Range<u64>) -> impl Iterator<Item = (u64, u32)> {
    let end = if range.is_empty() { 0 } else { range.end.div_ceil(BLOCK) };
    (range.start / BLOCK..end).map(move |block| {
        let start = block * BLOCK;
        let (first, end) = (range.start.max(start) - start, range.end.min(start + BLOCK) - start);
        (block, u32::MAX >> (BLOCK - (end - first)) << first)
    })
}

#[derive(Clone)]
struct Cell<S> {
    /// Bytes that somebody has written, the lowest bit for the first.
    written: u32,
    /// Where its first group is, from 1; 0 if it has one state.
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

/// The groups of blocks that have several, each block's one behind the other.
struct Groups<S> {
    all: Vec<Group<S>>,
    /// Those that nobody uses.
    free: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Group<S> {
    bytes: u32,
    /// Where the block's next group is, from 1.
    next: u32,
    state: S,
}

impl<S: Copy + PartialEq> Groups<S> {
    /// Another group in front of one; where it is.
    fn put(&mut self, group: Group<S>) -> u32 {
        if let Some(at) = self.free.pop() {
            *self.at(at) = group;
            return at;
        }
        self.all.push(group);
        u32::try_from(self.all.len()).expect("fewer blocks than 2^32")
    }

    fn at(&mut self, group: u32) -> &mut Group<S> {
        &mut self.all[group as usize - 1]
    }

    fn visit(&mut self, cell: &mut Cell<S>, mask: u32, mut visit: impl FnMut(&mut u32, u32, &mut S)) {
        if cell.split == 0 {
            cell.split = self.put(Group { bytes: u32::MAX, next: 0, state: cell.state });
        }
        let (mut at, mut first) = (cell.split, cell.split);
        while at != 0 {
            let Group { bytes, next, mut state } = *self.at(at);
            if bytes & mask != 0 {
                visit(&mut cell.written, bytes & mask, &mut state);
                if bytes & !mask == 0 {
                    self.at(at).state = state;
                } else {
                    self.at(at).bytes = bytes & !mask;
                    first = self.put(Group { bytes: bytes & mask, next: first, state });
                }
            }
            at = next;
        }
        self.unite(first);
        let Group { next, state, .. } = *self.at(first);
        cell.split = first;
        if next == 0 {
            cell.state = state;
            self.free.push(std::mem::take(&mut cell.split));
        }
    }

    /// Makes one of groups of the same state, from the first of a block.
    fn unite(&mut self, first: u32) {
        let mut one = first;
        while one != 0 {
            let Group { state, .. } = *self.at(one);
            let mut before = one;
            while self.at(before).next != 0 {
                let other = self.at(before).next;
                let Group { bytes, next, state: like } = *self.at(other);
                if like == state {
                    self.at(one).bytes |= bytes;
                    self.at(before).next = next;
                    self.free.push(other);
                } else {
                    before = other;
                }
            }
            one = self.at(one).next;
        }
    }
}

pub(super) fn index(at: u64) -> usize {
    usize::try_from(at).expect("a memory that exists")
}

impl<S: Copy + Default + PartialEq> Shadow<S> {
    /// Of so many bytes, all of them written before or none.
    pub(super) fn new(bytes: u64, written: bool) -> Self {
        let fresh = Cell { written: if written { u32::MAX } else { 0 }, split: 0, state: S::default() };
        let pages = index(bytes.div_ceil(BLOCK * PAGE));
        let pages = std::iter::repeat_with(Box::default).take(pages).collect();
        Self { bytes, fresh, pages, groups: Groups { all: Vec::new(), free: Vec::new() } }
    }

    fn cell(&mut self, block: u64) -> (&mut Cell<S>, &mut Groups<S>) {
        let page = &mut self.pages[index(block / PAGE)];
        if page.is_empty() {
            *page = vec![self.fresh.clone(); index(PAGE)].into();
        }
        (&mut page[index(block % PAGE)], &mut self.groups)
    }

    fn within(&self, range: Range<u64>) -> impl Iterator<Item = (u64, u32)> + use<S> {
        masks(range.start..range.end.min(self.bytes))
    }

    /// Calls `visit` for each group of bytes of a block that share a state, of those in the mask: with which bytes of the block are
    /// written, which are meant, and their state. The groups come in no order.
    #[inline]
    pub(super) fn visit_block(&mut self, block: u64, mask: u32, mut visit: impl FnMut(&mut u32, u32, &mut S)) {
        let (cell, groups) = self.cell(block);
        if mask == u32::MAX && cell.split == 0 {
            visit(&mut cell.written, mask, &mut cell.state);
        } else {
            groups.visit(cell, mask, visit);
        }
    }

    /// The same of a range, with the first byte of each block.
    #[inline]
    pub(super) fn visit(&mut self, range: Range<u64>, mut visit: impl FnMut(u64, &mut u32, u32, &mut S)) {
        for (block, mask) in self.within(range) {
            self.visit_block(block, mask, |written, mask, state| visit(block * BLOCK, written, mask, state));
        }
    }

    /// Makes bytes written, or undefined again.
    pub(super) fn set_written(&mut self, range: Range<u64>, written: bool) {
        for (block, mask) in self.within(range) {
            let cell = self.cell(block).0;
            if written { cell.written |= mask } else { cell.written &= !mask }
        }
    }

    /// Whether nobody has written any byte of a range.
    pub(super) fn is_unwritten(&mut self, range: Range<u64>) -> bool {
        self.within(range).all(|(block, mask)| self.cell(block).0.written & mask == 0)
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
