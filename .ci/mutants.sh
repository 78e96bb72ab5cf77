#!/usr/bin/env bash
# Mutants of the planner or of the kernels' scalar logic: small mistakes, one at a time, that some test of that crate must notice.
# All take a day; arguments behind the crate go to cargo-mutants, to look at a part:
#
#   .ci/mutants.sh tiling
#   .ci/mutants.sh tiling --file tiling/src/plan/shares.rs
#   .ci/mutants.sh kernels --shard 0/20
#
# Survivors are listed in target/CRATE/mutants.out/missed.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

crate=$1
shift

# Vector code is written once over lanes and held to the scalar level bit by bit: the instruction sets are left out. So is what
# only words a message. Another crate's tests would notice more of the planner's mutants, and take minutes to build for each.
mkdir -p "target/$crate"
# Building takes longer than testing.
export CARGO_PROFILE_DEV_OPT_LEVEL=$([ "$crate" = tiling ] && echo 0 || echo 1) CARGO_PROFILE_DEV_DEBUG=false
cargo mutants --package "ubtile-$crate" --test-package "ubtile-$crate" \
    --exclude 'kernels/src/simd/x86*' --exclude 'kernels/src/simd/tests*' --exclude '**/tests.rs' \
    --exclude 'tiling/src/contract/message.rs' --exclude-re 'impl .*Display' \
    --output "target/$crate" --timeout-multiplier 3 --minimum-test-timeout 60 -j 1 "$@" -- --lib --tests
