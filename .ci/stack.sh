#!/usr/bin/env bash
# Worst-case stack of every C function on Cortex-M4, from the frames that the compiler emits over the calls of the linked code.
#
#   .ci/stack.sh [LIMIT [FEATURES]]        default: 4096 bytes, and all but what no plan for this core takes
#
# All functions of the static library are linked into one image, so that what is measured is what a program would link. The
# gate's own test: direct recursion, mutual recursion and a call through a pointer must be refused.
# Builds in ${CARGO_TARGET_DIR:-capi/lib/target}.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
limit=${1:-4096}
target=thumbv7em-none-eabihf
# Everything but the routes that no plan for this core takes.
features=grid-sampler-2d-backward,bicubic,max-unpool2d-backward,replication-pad2d-backward,im2col-backward
features=${2:-$features,f16,bf16,f32,f64,integer,complex}
cross=$("$here/cross-toolchain.sh" $target)
unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/../capi/lib/target}")/stack
export CARGO_TARGET_DIR
# Frame sizes are an unstable output of the compiler.
export RUSTC_BOOTSTRAP=1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# link ARCHIVE PREFIX: an image of all functions that begin so.
link() {
    "$cross/bin/llvm-nm" --defined-only --extern-only --format=just-symbols "$1" 2>/dev/null | grep "^$2" | sort -u >"$tmp/names"
    sed 's/^/--undefined=/' "$tmp/names" >"$tmp/options"
    "$cross/bin/rust-lld" -flavor gnu --gc-sections --entry="$(head -n 1 "$tmp/names")" -o "$tmp/image" "@$tmp/options" "$1"
}

(cd "$here/../capi/lib" && RUSTFLAGS="-Ctarget-cpu=cortex-m4 -Zemit-stack-sizes" \
    "$cross/bin/cargo" build --release --locked --quiet --target $target --no-default-features --features "$features")
link "$CARGO_TARGET_DIR/$target/release/libubtile.a" ubtile_
status=0
python3 "$here/stack.py" "$tmp/image" --tools "$cross/bin" --entry ubtile_ --limit "$limit" || status=1

for plant in direct mutual pointer; do
    cat >"$tmp/plant.rs" <<'RUST'
#![no_std]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }
unsafe extern "C" { fn outside(n: u32) -> u32; }
#[cfg(direct)]
#[unsafe(no_mangle)]
pub extern "C" fn planted(n: u32) -> u32 { if n == 0 { 1 } else { planted(n - 1) ^ unsafe { outside(n) } } }
#[cfg(mutual)]
#[unsafe(no_mangle)]
pub extern "C" fn planted(n: u32) -> u32 { if n == 0 { 1 } else { other(n - 1) ^ unsafe { outside(n) } } }
#[cfg(mutual)]
#[inline(never)]
fn other(n: u32) -> u32 { if n == 0 { 2 } else { planted(n / 2).wrapping_add(unsafe { outside(n) }) } }
#[cfg(pointer)]
#[unsafe(no_mangle)]
pub extern "C" fn planted(f: extern "C" fn(u32) -> u32) -> u32 { f(1) ^ unsafe { outside(2) } }
RUST
    "$cross/bin/rustc" --edition=2024 --crate-type=staticlib --target $target -Copt-level=s -Cpanic=abort \
        -Zemit-stack-sizes --cfg $plant "--check-cfg=cfg(direct, mutual, pointer)" -o "$tmp/plant.a" "$tmp/plant.rs"
    "$cross/bin/rust-lld" -flavor gnu --gc-sections --entry=planted --defsym=outside=0 -o "$tmp/image" "$tmp/plant.a"
    if python3 "$here/stack.py" "$tmp/image" --tools "$cross/bin" --entry planted >"$tmp/out" 2>&1; then
        echo "stack: FAIL  the planted recursion or call ($plant) is not refused"
        status=1
    else
        echo "stack: PASS  planted, and refused: $(grep '^stack: ' "$tmp/out" | head -n 1 | cut -c 8-)"
    fi
done
exit $status
