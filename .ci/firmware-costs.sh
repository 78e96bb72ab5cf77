#!/usr/bin/env bash
# Prints docs/firmware.md's table of code sizes: one image per operator and dtype on Cortex-M4, and one with all four operators.
#
#   .ci/firmware-costs.sh [DTYPE...]        default: all
#
# A size is that of .text and .rodata of an image that checks, plans and runs problems it knows nothing about when it is built
# (.ci/firmware), less the image's own functions and its start. Profile: opt-level "s", fat LTO, one codegen unit, abort.
# Builds in ${CARGO_TARGET_DIR:-.ci/firmware/target}.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
target=thumbv7em-none-eabihf
cross=$("$here/cross-toolchain.sh" $target)
unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_BOOTSTRAP
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/firmware/target}")/costs
export CARGO_TARGET_DIR
dtypes=("$@")
[ ${#dtypes[@]} -gt 0 ] || dtypes=(f32 f16 bf16 f64 integer complex)

# size FEATURES: bytes of code and constants that come with the operators.
size() {
    (cd "$here/firmware" && "$cross/bin/cargo" build --release --locked --quiet --no-default-features --features "$1")
    local image=$CARGO_TARGET_DIR/$target/release/ubtile-firmware all own
    all=$("$cross/bin/llvm-size" --format=sysv "$image" | awk '$1 == ".text" || $1 == ".rodata" { n += $2 } END { print n }')
    own=$("$cross/bin/llvm-nm" --print-size --radix=d --demangle "$image" |
        awk '/ubtile_firmware::|firmware_main/ { n += $2 } END { print n + 0 }')
    echo $((all - own))
}

echo "| operator | dtype | bytes |"
echo "|---|---|---|"
for operator in grid-sampler-2d-backward max-unpool2d-backward replication-pad2d-backward im2col-backward; do
    for dtype in "${dtypes[@]}"; do
        case $operator:$dtype in
        max-unpool2d-backward:complex | grid-*:integer | grid-*:complex | repl*:integer | im2col*:integer | im2col*:complex)
            continue
            ;;
        esac
        features=$operator,$dtype
        echo "| $operator | $dtype | $(size "$features") |"
        [ "$operator" != grid-sampler-2d-backward ] || echo "| $operator with bicubic | $dtype | $(size "$features,bicubic") |"
    done
done
all=grid-sampler-2d-backward,max-unpool2d-backward,replication-pad2d-backward,im2col-backward
for dtype in "${dtypes[@]}"; do
    [ "$dtype" = f32 ] && echo "| all four, without bicubic | f32 | $(size "$all,f32") |"
done
true
