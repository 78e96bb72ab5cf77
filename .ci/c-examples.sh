#!/usr/bin/env bash
# Builds the C examples with nothing but the header and the static library, on this machine and for an emulated Cortex-M4, runs
# them, and runs the Rust example of docs/firmware.md from an empty folder.
#
# Builds in ${CARGO_TARGET_DIR:-capi/lib/target}, and for this machine where the self-test does.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
root=$(dirname "$here")
target=thumbv7em-none-eabihf
cross=$("$here/cross-toolchain.sh" $target)
base=$(realpath -m "${CARGO_TARGET_DIR:-$root/capi/lib/target}")
unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_BOOTSTRAP
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
want="im2col: 1 2 1 / 2 4 2 / 1 2 1, as it must be"
status=0

# judge NAME COMMAND...: whether it ends well and says what it must.
judge() {
    local name=$1
    shift
    if timeout 120 "$@" >"$tmp/out" 2>&1 && tr -d '\r' <"$tmp/out" | grep -qxF "$want"; then
        echo "c-examples: PASS  $name"
    else
        echo "c-examples: FAIL  $name"
        head -n 20 "$tmp/out"
        status=1
    fi
}

cp -r "$root/capi/examples" "$root/capi/include" "$tmp"

# With the kernels of the self-test's images for this kind of processor, which are compiled once for both.
machine=$("$cross/bin/rustc" --print host-tuple)
shared=$(realpath -m "${CARGO_TARGET_DIR:-$here/selftest/target}")/selftest
(cd "$root/capi/lib" && CARGO_TARGET_DIR=$shared "$cross/bin/cargo" build --profile bits --locked --quiet --target "$machine")
host=$shared/$machine/bits/libubtile.a
make -s -C "$tmp/examples/host" LIBRARY="$host" example
judge "host, make" "$tmp/examples/host/example"
cmake -S "$tmp/examples/host" -B "$tmp/build" -DUBTILE_LIBRARY="$host" -DCMAKE_C_FLAGS="-I$tmp/include" >/dev/null
cmake --build "$tmp/build" >/dev/null
judge "host, CMake" "$tmp/build/example"
mkdir -p "$tmp/prefix/lib/pkgconfig" "$tmp/prefix/include"
cp "$host" "$tmp/prefix/lib"
cp "$root/capi/include/ubtile.h" "$tmp/prefix/include"
sed "s|@prefix@|$tmp/prefix|" "$root/capi/ubtile.pc.in" >"$tmp/prefix/lib/pkgconfig/ubtile.pc"
export PKG_CONFIG_PATH=$tmp/prefix/lib/pkgconfig
# shellcheck disable=SC2046 # several options
gcc -o "$tmp/example" "$tmp/examples/host/main.c" $(pkg-config --cflags --libs ubtile)
judge "host, pkg-config" "$tmp/example"

(cd "$root/capi/lib" && CARGO_TARGET_DIR=$base/c-arm "$cross/bin/cargo" build --release --locked --quiet --target $target \
    --no-default-features --features im2col-backward,f32)
make -s -C "$tmp/examples/cortex-m4" LIBRARY="$base/c-arm/$target/release/libubtile.a" example.elf
judge "Cortex-M4, newlib" make -s -C "$tmp/examples/cortex-m4" LIBRARY="$base/c-arm/$target/release/libubtile.a" run
if arm-none-eabi-nm "$tmp/examples/cortex-m4/example.elf" | grep -E 'panicking|rust_begin_unwind'; then
    echo "c-examples: FAIL  the Cortex-M4 image can panic"
    status=1
fi

# As the guide says: the folder copied, and where ubtile lies written into it.
cp -r "$root/docs/firmware-example" "$tmp/folds"
sed -i "s|\"../../|\"$root/|" "$tmp/folds/Cargo.toml"
want="2 4 2 "
judge "the guide's Rust example" env -C "$tmp/folds" CARGO_TARGET_DIR="$base/folds" "$cross/bin/cargo" run --release --quiet
exit $status
