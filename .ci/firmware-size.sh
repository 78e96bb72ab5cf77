#!/usr/bin/env bash
# Code of the C library on Cortex-M4: fails where an operator in F32 takes 12 KiB or all four take 40.
# Builds in ${CARGO_TARGET_DIR:-capi/lib/target}.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/code-bytes.sh"
target=thumbv7em-none-eabihf
cross=$("$here/cross-toolchain.sh" $target)
status=0

# fits LIMIT OPERATOR...
fits() {
    local limit=$1 features size
    shift
    features=$(IFS=,; echo "$*"),f32
    size=$(bytes $target "$features" "$@")
    echo "$features: $size of $limit bytes"
    if [ "$size" -lt 1000 ] || [ "$size" -ge "$limit" ]; then
        echo "error: $size bytes of code" >&2
        status=1
    fi
}

for operator in "${operators[@]}"; do
    fits 12288 "$operator"
done
fits 40960 "${operators[@]}"
exit $status
