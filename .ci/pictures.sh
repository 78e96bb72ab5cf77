#!/usr/bin/env bash
# Makes the pictures of the guide again with the commands that it names. With `write`, into docs/pictures; without, fails when one
# differs from the one there, as it does when the model has changed, or is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
if [ -z "${UBTILE:-}" ]; then
    cargo build --release --locked --bin ubtile
    UBTILE=$target/release/ubtile
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
# take NAME PICTURE COMMAND...: what a command writes as NAME becomes docs/pictures/PICTURE.
take() {
    "$UBTILE" "${@:3}" --output "$made/run" >/dev/null
    mv "$made/run/$1" "$made/$2"
    rm -rf "$made/run"
    if [ "${mode:-}" = write ]; then
        cp "$made/$2" "docs/pictures/$2"
    elif ! cmp -s "$made/$2" "docs/pictures/$2"; then
        echo "docs/pictures/$2 is missing or not what its command makes now: .ci/pictures.sh write" >&2
        exit 1
    fi
}
mode=${1:-}
mkdir -p docs/pictures

take workspace.svg workspace.svg plan grid-sampler-2d-backward --shape input=2,3,64,64 --shape grid=2,48,48,2 --soc Ascend910B1
take workspace.svg workspace-cortex-m4.svg plan grid-sampler-2d-backward --shape input=1,3,32,32 --shape grid=1,24,24,2 --dtype f16 \
    --target cortex-m4
take pipes.svg pipes.svg sim im2col-backward --shape grad_output=8,576,3136 --input-size 56,56 --kernel-size 3,3 --padding 1,1
take series.svg series.svg sim im2col-backward --shape grad_output=8,576,3136 --input-size 56,56 --kernel-size 3,3 --padding 1,1 \
    --vary tile_rows=14..56:2
