//! Machines and workspace limits that plans are tried on.

use proptest::prelude::*;
use proptest::sample::select;
use ubtile_testkit::strategies;
use ubtile_tiling::{Capabilities, TargetSpec};

pub(crate) fn targets() -> impl Strategy<Value = TargetSpec> {
    let bytes = prop_oneof![0..64usize, 64..1024usize, 1024..16384usize, Just(184 * 1024), Just(1 << 20)];
    let machine = (1..40usize, bytes, select(&[1usize, 4, 32, 64, 512]), select(&[4usize, 16, 32, 256]));
    (machine, any::<bool>()).prop_map(|((cores, local_bytes, block_bytes, vector_bytes), unaligned_copy)| TargetSpec {
        cores,
        local_bytes,
        block_bytes,
        vector_bytes,
        capabilities: Capabilities { unaligned_copy, ..Capabilities::HOST },
    })
}

pub(crate) fn limits() -> impl Strategy<Value = Option<usize>> {
    prop_oneof![Just(None), Just(Some(0)), (0..100_000usize).prop_map(Some)]
}

/// More cases than usual, since small problems are planned in no time.
pub(crate) fn config() -> ProptestConfig {
    strategies::cases(1500)
}
