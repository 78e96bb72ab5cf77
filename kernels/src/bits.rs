//! Copies of the bits of a run.

use crate::level::VECTORS;

/// Runs of more bytes are copied by a call.
const LONG: usize = 4096;

/// Fills `dest` with the first elements of `source`; leaves it where there are fewer.
#[inline(always)]
pub(crate) fn copy<T: bytemuck::Pod>(source: &[T], dest: &mut [T]) {
    let Some(source) = source.get(..dest.len()) else { return };
    if !VECTORS || size_of_val(source) > LONG {
        dest.copy_from_slice(source);
    } else if let (Ok(source), Ok(dest)) = (bytemuck::try_cast_slice(source), bytemuck::try_cast_slice_mut(dest)) {
        copy_short(source, dest);
    }
}

/// Copies without a call.
#[inline(always)]
fn copy_short(source: &[u8], dest: &mut [u8]) {
    let in_chunks = chunks::<64>(source, dest)
        || chunks::<32>(source, dest)
        || chunks::<16>(source, dest)
        || chunks::<8>(source, dest)
        || chunks::<4>(source, dest)
        || chunks::<2>(source, dest);
    if !in_chunks {
        for (dest, source) in dest.iter_mut().zip(source) {
            *dest = *source;
        }
    }
}

/// Copies `N` bytes at a time, the last of them again with some before; false where there are fewer.
#[inline(always)]
fn chunks<const N: usize>(source: &[u8], dest: &mut [u8]) -> bool {
    let Some(last) = source.last_chunk::<N>() else { return false };
    for (dest, source) in dest.as_chunks_mut::<N>().0.iter_mut().zip(source.as_chunks::<N>().0) {
        *dest = *source;
    }
    if let Some(dest) = dest.last_chunk_mut::<N>() {
        *dest = *last;
    }
    true
}
