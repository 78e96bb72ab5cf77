//! Bytes that are aligned for every dtype and every vector.

use std::io::{self, Read};
use std::ops::{Deref, DerefMut};

use wide::u64x8;

/// Bytes that lie together: a line of a cache. Vectors that cross lines take up to twice as long to write.
type Line = u64x8;

/// Memory that a file of unknown honesty may take before its data has arrived.
const FIRST_BYTES: usize = 64 << 20;

/// Zeroed memory of any length, aligned to a line of a cache.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    len: usize,
}

impl Buffer {
    /// `len` zeros; `None` where there is not so much memory.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        let mut buffer = Self::default();
        buffer.grow(len).ok().map(|()| buffer)
    }

    /// Reads `len` bytes. Memory is taken as the data arrives, since a header may lie about its length.
    pub(super) fn read(mut reader: impl Read, len: usize) -> io::Result<Self> {
        let mut buffer = Self::default();
        while buffer.len < len {
            let from = buffer.len;
            buffer.grow(len.min(from.saturating_mul(2).max(FIRST_BYTES)))?;
            reader.read_exact(buffer.get_mut(from..).unwrap_or_default())?;
        }
        Ok(buffer)
    }

    fn grow(&mut self, len: usize) -> io::Result<()> {
        let lines = len.div_ceil(size_of::<Line>());
        self.lines.try_reserve_exact(lines.saturating_sub(self.lines.len())).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.lines.resize(lines, Line::default());
        self.len = len;
        Ok(())
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines).get(..self.len).unwrap_or_default()
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines).get_mut(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_exactly_what_is_there() {
        for len in [0, 1, 15, 16, 17, 1000] {
            let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let buffer = Buffer::read(data.as_slice(), len).unwrap();
            assert_eq!(*buffer, *data);
            assert_eq!(buffer.as_ptr().align_offset(size_of::<Line>()), 0);
            let error = Buffer::read(data.as_slice(), len + 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_lying_length_takes_little_memory() {
        let error = Buffer::read([1u8, 2, 3].as_slice(), usize::MAX / 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
