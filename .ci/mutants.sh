#!/usr/bin/env bash
# Mutants of the planner or of the kernels' scalar logic: small mistakes, one at a time, that some test of the two crates must
# notice. All are built at once and chosen when a test runs, so that all of a crate take minutes to half an hour; arguments
# behind the crate go to `cargo mutants --list`, to look at a part:
#
#   .ci/mutants.sh tiling
#   .ci/mutants.sh kernels --file kernels/src/cast.rs
#
# What became of each stands in target/mutants/CRATE/report.txt. Fails where one survives that .ci/mutants/explained.txt does
# not explain, or where that explains what is no mutant any more.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked

tool=(--manifest-path .ci/mutants/Cargo.toml --locked)
cargo fmt --manifest-path .ci/mutants/Cargo.toml --check
cargo clippy "${tool[@]}" --all-targets -- -D warnings
cargo test --quiet "${tool[@]}"
cargo run --quiet "${tool[@]}" -- "$@"
