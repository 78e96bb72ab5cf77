#!/usr/bin/env bash
# Prints code bytes and instructions of every operator and dtype on every target, as a page in Markdown. Takes about a quarter of an hour.
#
# Code is .text and .rodata of the C functions `_plan` and `_run` with all that they call, linked out of the static library (capi/lib)
# that has just that operator and dtype. Instructions are counted by QEMU (firmware-costs.py) on images of .ci/selftest.
# Builds in ${CARGO_TARGET_DIR:-capi/lib/target}.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/machines.sh"
. "$here/code-bytes.sh"
targets=(thumbv7em-none-eabihf thumbv7m-none-eabi thumbv8m.main-none-eabihf riscv32imac-unknown-none-elf
    riscv64gc-unknown-none-elf aarch64-unknown-none x86_64-unknown-linux-gnu)
cross=$("$here/cross-toolchain.sh" "${targets[@]:0:6}")

by_dtype() {
    echo "| operator | f16 | bf16 | f32 | f64 | integer | complex |"
    echo "|---|---|---|---|---|---|---|"
    local operator dtype part size
    for operator in "${operators[@]}"; do
        for part in "" ,bicubic; do
            [ -z "$part" ] || [ "$operator" = grid-sampler-2d-backward ] || continue
            printf '| %s |' "$operator${part/,/ with }"
            for dtype in f16 bf16 f32 f64 integer complex; do
                case $operator:$dtype in
                max-*:complex | grid-*:integer | grid-*:complex | repl*:integer | im2col*:integer | im2col*:complex) printf ' |' ;;
                *)
                    size=$(bytes "${targets[0]}" "$operator,$dtype$part" "$operator")
                    printf ' %s |' "$size"
                    ;;
                esac
            done
            echo
        done
    done
}

by_target() {
    echo "| operator |$(printf ' %s |' "${targets[@]%%-*}")"
    echo "|---|$(printf -- '---|%.0s' "${targets[@]}")"
    local operator target size
    for operator in "${operators[@]}"; do
        printf '| %s |' "$operator"
        for target in "${targets[@]}"; do
            size=$(bytes "$target" "$operator,f32" "$operator")
            printf ' %s |' "$size"
        done
        echo
    done
    printf '| all four |'
    for target in "${targets[@]}"; do
        size=$(bytes "$target" "$(IFS=,; echo "${operators[*]}"),f32" "${operators[@]}")
        printf ' %s |' "$size"
    done
    echo
}

instructions() {
    local target images=() machine good
    for target in "${targets[@]}"; do
        say "image for $target"
        (cd "$here/selftest" && "$cross/bin/cargo" build --release --locked --quiet --bin costs --target "$target")
        machine "$target"
        images+=("$target=$CARGO_TARGET_DIR/$target/release/costs=${machine[*]}")
    done
    say "counting instructions"
    python3 "$here/firmware-costs.py" "${images[@]}"
}

cat <<'TEXT'
# What the kernels cost in firmware

TEXT
echo "$("$cross/bin/rustc" --version), opt-level \"s\", fat LTO, one codegen unit, panic \"abort\"; thumbv7em with target-cpu=cortex-m4."
cat <<'TEXT'

## Code

Bytes of .text and .rodata of the C functions `_plan` and `_run` of one operator, linked out of a library built with just that
operator and dtype: contract, planner and kernel, and the compiler's own functions for divisions and floats that the core lacks.
On thumbv7em:

TEXT
by_dtype
printf '\nIn f32, without bicubic, on every target:\n\n'
by_target
cat <<'TEXT'

## Instructions

Instructions of one run for each element of the first output, counted by QEMU on emulated machines; check and plan are not in
them. Grid sampler: image 1x4x16x16 and 16x16 points that are anywhere, padding border; max unpool: 1x4x12x12 of 24x24, I32 indices;
replication pad: 1x4x16x16, pad 1; im2col: 1x2x16x16, windows 3x3, stride 1, padding 1. The level is the best of the machine: scalar on
Cortex-M and RISC-V, baseline on Cortex-A53, AVX2 on x86-64.

TEXT
instructions
