#!/usr/bin/env bash
# Mutants of the planner and of the kernels' scalar logic: small mistakes, one at a time, that some test must notice. Takes hours;
# arguments go to cargo-mutants, to look at a part:
#
#   .ci/mutants.sh
#   .ci/mutants.sh --file tiling/src/plan/shares.rs
#
# Survivors are listed in target/mutants.out/missed.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

# Vector code is written once over lanes and held to the scalar level bit by bit, and the cost of a build is per mutant: the
# instruction sets are left out. So is what only words a message.
cargo mutants --package ubtile-tiling --package ubtile-kernels --test-package ubtile-tiling,ubtile-kernels \
    --exclude 'kernels/src/simd/x86*' --exclude 'kernels/src/simd/tests*' --exclude '**/tests.rs' \
    --exclude 'tiling/src/contract/message.rs' --exclude-re 'impl .*Display' \
    --output target --timeout-multiplier 3 --minimum-test-timeout 60 -j 1 "$@"
