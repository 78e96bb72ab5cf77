#!/usr/bin/env bash
# Proves that the kernels and the planner call no panic in the program for this host, which has the vectors of every level.
#
# The gate's own test: a planted panic must be found.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(uname -m)" != x86_64 ]; then
    echo "host panics: only for x86-64"
    exit 0
fi
cargo build --release --locked --quiet --bin ubtile
target=$(cargo metadata --format-version 1 --no-deps --locked | python3 -c 'import json,sys; print(json.load(sys.stdin)["target_directory"])')
python3 .ci/host-panics.py "$target/release/ubtile"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/plant.rs" <<'RUST'
mod ubtile_kernels {
    #[inline(never)]
    pub fn planted(data: &[u8], at: usize) -> u8 {
        data[at]
    }
}
fn main() {
    let n = std::env::args().count();
    println!("{}", ubtile_kernels::planted(&[1, 2], n));
}
RUST
rustc -O --crate-name plant -o "$tmp/plant" "$tmp/plant.rs"
if python3 .ci/host-panics.py "$tmp/plant" >"$tmp/out" || ! grep -q 'planted calls .*panic_bounds_check' "$tmp/out"; then
    echo "FAIL  the planted panic was not found:"
    cat "$tmp/out"
    exit 1
fi
echo "host panics: the planted one is found"
