//! Copies of the bits of a run.

use crate::level::VECTORS;
use crate::simd::LINE;

/// Runs of more bytes are copied by a call.
const LONG: usize = 4096;
/// Runs of as many bytes are written line by line: stores that cross lines take up to twice as long where memory is waited for.
const ALIGNED: usize = 128;

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
fn copy_short(mut source: &[u8], mut dest: &mut [u8]) {
    if dest.len() >= ALIGNED
        && let (Some(from), Some(to)) = (source.first_chunk::<LINE>(), dest.first_chunk_mut::<LINE>())
    {
        *to = *from;
        let begin = dest.as_ptr().addr().wrapping_neg() % LINE;
        (source, dest) = (source.get(begin..).unwrap_or(&[]), dest.get_mut(begin..).unwrap_or(&mut []));
    }
    let in_chunks = chunks::<LINE>(source, dest)
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
    // Of a run that begins somewhere in another `last_chunk` checks what the compiler does not see.
    let last = source.get(source.len().wrapping_sub(N)..).and_then(<[u8]>::first_chunk::<N>);
    let Some(last) = last else { return false };
    for (dest, source) in dest.as_chunks_mut::<N>().0.iter_mut().zip(source.as_chunks::<N>().0) {
        *dest = *source;
    }
    let start = dest.len().wrapping_sub(N);
    if let Some(dest) = dest.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<N>) {
        *dest = *last;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of all lengths around those that are told apart, from and to any place in a line; nothing beside them is written.
    #[test]
    fn copies_runs_to_any_place() {
        let source: [u8; 8192] = core::array::from_fn(|i| (i * 7 + i / 251) as u8 | 1);
        let lengths = (0..=2 * ALIGNED + 1).chain(LONG - 1..=LONG + 1);
        for (number, len) in lengths.enumerate() {
            for to in 0..LINE {
                let from = (number * 5 + to * 3) % LINE;
                let mut dest = [0; LONG + 4 * LINE];
                let start = dest.as_ptr().align_offset(LINE) + LINE + to;
                copy(&source[from..], &mut dest[start..start + len]);
                assert_eq!(dest[start..start + len], source[from..from + len], "{len} bytes to {to} of a line");
                assert!(dest[..start].iter().chain(&dest[start + len..]).all(|byte| *byte == 0), "{len} to {to}");
            }
        }
    }

    /// Elements of all sizes, at all places in a line that they may have.
    #[test]
    fn copies_elements_of_all_sizes() {
        fn check<T: bytemuck::Pod + PartialEq + core::fmt::Debug>(number: impl Fn(usize) -> T) {
            let source: [T; 200] = core::array::from_fn(number);
            for len in 0..=150 {
                for to in 0..32 {
                    let mut dest = [T::zeroed(); 200];
                    copy(&source, &mut dest[to..to + len]);
                    assert_eq!(dest[to..to + len], source[..len]);
                }
            }
        }
        check(|i| i as u8);
        check(|i| i as u16 * 257);
        check(|i| i as f32 + 0.5);
        check(|i| i as f64 - 0.25);
    }

    #[test]
    fn leaves_what_has_too_few_sources() {
        let mut dest = [3u8; 200];
        copy(&[1; 199], &mut dest);
        assert_eq!(dest, [3; 200]);
    }
}
