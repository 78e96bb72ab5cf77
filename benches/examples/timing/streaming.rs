//! The streaming bound: loops that read all inputs once and write the output once, and do nothing else.
//!
//! The best of them is what memory, or the cache that the buffers fit, can do. The only unsafe code is that of vectors and of
//! stores past the caches.
#![allow(unsafe_code)]

use ubtile_testkit::Data;

use super::Threads;
use ubtile_kernels::Parallel;

/// A loop. The number is how many bytes of the output are written between one look at the inputs and the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Loop {
    Plain(usize),
    Prefetching(usize),
    NonTemporal(usize),
}

/// Those that write past the caches come first: what runs behind them finds its output in memory, which the kernel, that follows
/// the last one, is not to pay for.
pub(crate) const LOOPS: [Loop; 6] = [
    Loop::NonTemporal(512),
    Loop::NonTemporal(4096),
    Loop::Plain(512),
    Loop::Plain(usize::MAX),
    Loop::Prefetching(512),
    Loop::Prefetching(usize::MAX),
];

/// Bytes that a prefetch is ahead.
const AHEAD: usize = 1024;

/// Runs a loop, on each thread its part of all buffers. Gives what keeps the reads from being left out.
pub(crate) fn run(which: Loop, threads: Threads, inputs: &[Data], output: &mut Data) -> u64 {
    let count = threads.0.get();
    let size = output.bytes().len().div_ceil(count).next_multiple_of(64).max(1);
    let total = std::sync::atomic::AtomicU64::new(0);
    threads.for_each(output.bytes_mut().chunks_mut(size).enumerate(), |(i, output)| {
        let inputs: Vec<&[u8]> = inputs
            .iter()
            .map(|data| {
                let size = data.bytes().len().div_ceil(count).next_multiple_of(64).max(1);
                data.bytes().chunks(size).nth(i).unwrap_or(&[])
            })
            .collect();
        total.fetch_add(part(which, &inputs, output), std::sync::atomic::Ordering::Relaxed);
    });
    total.into_inner()
}

fn part(which: Loop, inputs: &[&[u8]], output: &mut [u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { x86::part(which, inputs, output) };
    }
    // Elsewhere what the compiler makes of it.
    let _ = which;
    output.fill(1);
    inputs.iter().flat_map(|input| input.as_chunks::<8>().0).fold(0, |sum, word| sum ^ u64::from_ne_bytes(*word))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{AHEAD, Loop};

    #[target_feature(enable = "avx2")]
    pub(super) fn part(which: Loop, inputs: &[&[u8]], output: &mut [u8]) -> u64 {
        let (Loop::Plain(step) | Loop::Prefetching(step) | Loop::NonTemporal(step)) = which;
        let prefetches = matches!(which, Loop::Prefetching(_));
        let steps = output.len().div_ceil(step.min(output.len()).max(1));
        let mut sum = 0;
        let mut outputs = output.chunks_mut(step.min(output.len()).max(1));
        for i in 0..steps {
            for input in inputs {
                let range = |i: usize| input.len() * i / steps;
                sum ^= read(&input[range(i)..range(i + 1)], prefetches);
            }
            if let Some(output) = outputs.next() {
                if matches!(which, Loop::NonTemporal(_)) { stream(output) } else { output.fill(1) }
            }
        }
        sum
    }

    #[target_feature(enable = "avx2")]
    fn read(bytes: &[u8], prefetches: bool) -> u64 {
        let mut sums = [_mm256_setzero_si256(); 4];
        let (blocks, rest) = bytes.as_chunks::<128>();
        for block in blocks {
            if prefetches {
                _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().wrapping_add(AHEAD).cast());
                _mm_prefetch::<_MM_HINT_T0>(block.as_ptr().wrapping_add(AHEAD + 64).cast());
            }
            for (sum, part) in sums.iter_mut().zip(block.as_chunks::<32>().0) {
                // SAFETY: 32 bytes are there, and the load needs no alignment.
                *sum = _mm256_xor_si256(*sum, unsafe { _mm256_loadu_si256(part.as_ptr().cast()) });
            }
        }
        let all = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
        rest.iter().fold(_mm256_extract_epi64::<0>(all) as u64, |sum, byte| sum ^ u64::from(*byte))
    }

    #[target_feature(enable = "avx2")]
    fn stream(output: &mut [u8]) {
        let (head, aligned, tail) = bytemuck::pod_align_to_mut::<u8, [u128; 2]>(output);
        head.fill(1);
        tail.fill(1);
        for block in aligned {
            if block.as_ptr().align_offset(32) == 0 {
                // SAFETY: the block is 32 bytes, aligned to 32.
                unsafe { _mm256_stream_si256(block.as_mut_ptr().cast(), _mm256_set1_epi8(1)) };
            } else {
                *block = [1; 2];
            }
        }
        _mm_sfence();
    }
}
