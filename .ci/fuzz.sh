#!/usr/bin/env bash
# Builds the fuzz targets with AddressSanitizer and runs each for some thousand executions: long enough to meet every rule and
# every kernel, short enough for a gate. To search for longer, or to look at a finding:
#
#   RUSTC_BOOTSTRAP=1 cargo fuzz run TARGET
#   RUSTC_BOOTSTRAP=1 cargo fuzz fmt TARGET fuzz/artifacts/TARGET/...
#
# What earlier runs have found worth keeping lies in fuzz/corpus and is tried first.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A runs=([contract]=20000 [plan]=4000 [kernels]=6000)

# Whether the descriptions that the targets are fed with are mostly legal, else they test nothing.
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo clippy --manifest-path fuzz/Cargo.toml --all-targets --locked -- -D warnings
cargo test --manifest-path fuzz/Cargo.toml --lib --locked

command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked

# The sanitizer is behind an unstable flag; this makes the stable compiler take it.
export RUSTC_BOOTSTRAP=1
cargo fuzz build
for target in $(cargo fuzz list); do
    echo "fuzz: $target, ${runs[$target]} executions"
    # A thread that has just ended can look like a leak.
    cargo fuzz run "$target" -- -runs="${runs[$target]}" -max_len=512 -len_control=0 -timeout=20 -detect_leaks=0 \
        -verbosity=0
done
