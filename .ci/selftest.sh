#!/usr/bin/env bash
# Runs the self-test images on emulated machines and compares every line with the table made on the host.
#
#   .ci/selftest.sh [TARGET...]        default: all
#
# The host computes the same cases at every level of its processor first, so the images' bits are those of the host's scalar,
# baseline and AVX2 code. Needs QEMU; .ci/run installs it. Builds in ${CARGO_TARGET_DIR:-.ci/selftest/target}.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
. "$here/machines.sh"
all=(thumbv7em-none-eabihf thumbv7m-none-eabi thumbv8m.main-none-eabihf riscv32imac-unknown-none-elf
    riscv64gc-unknown-none-elf aarch64-unknown-none x86_64-unknown-linux-gnu)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
cross=$("$here/cross-toolchain.sh" "${all[@]:0:6}")
unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_BOOTSTRAP
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/selftest/target}")/selftest
export CARGO_TARGET_DIR
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$here/selftest"

say() { echo "selftest: $*"; }

# build BINARY TARGET FEATURES
build() {
    "$cross/bin/cargo" build --profile bits --locked --quiet --bin "$1" --target "$2" --features "$3"
}

# run TARGET: what the image prints goes to $tmp/output; succeeds if the machine ended with the status for success.
run() {
    local image=$CARGO_TARGET_DIR/$1/bits/image status=0 machine good
    machine "$1"
    timeout 120 "${machine[@]}" -kernel "$image" \
        >"$tmp/output" 2>"$tmp/errors" </dev/null || status=$?
    # Semihosting writes to QEMU's stderr.
    case $1 in thumb*) cat "$tmp/errors" >>"$tmp/output" ;; esac
    tr -d '\r' <"$tmp/output" >"$tmp/lines"
    [ $status -eq $good ]
}

# Levels that a target's image must have computed, at least.
levels() {
    case $1 in
    aarch64*) echo scalar baseline ;;
    x86_64*) echo scalar baseline avx2 ;;
    *) echo scalar ;;
    esac
}

# judge TARGET: whether it passed: the status, and exactly the lines of the table.
judge() {
    local level count=0
    run "$1" || { echo "status"; return 1; }
    for level in $(levels "$1"); do
        sed "s/^/ok $level /" expected.txt
        count=$((count + $(wc -l <expected.txt)))
    done >"$tmp/want"
    count=$(($(wc -l <"$tmp/want")))
    printf 'cases %03d\n' "$count" >>"$tmp/want"
    diff "$tmp/want" "$tmp/lines" >"$tmp/diff" || { echo "lines"; return 1; }
    echo "$count cases"
}

failed=0
# By its name, so that the image for the same kind of processor is built with the same kernels.
host=$("$cross/bin/rustc" --print host-tuple)
build host "$host" ""
"$CARGO_TARGET_DIR/$host/bits/host" | sed 's/^/selftest: host: /'
for target in "${targets[@]}"; do
    build image "$target" ""
    if verdict=$(judge "$target"); then
        say "PASS  $target: $verdict"
    else
        say "FAIL  $target: wrong $verdict"
        head -n 20 "$tmp/diff" "$tmp/output" "$tmp/errors" 2>/dev/null || true
        failed=1
    fi
done

# The runner's own test: it must notice a wrong bit, a line that is missing, and a machine that just stops.
for plant in wrong-bit:thumbv7em-none-eabihf lost-line:thumbv7em-none-eabihf crash:thumbv7em-none-eabihf \
    crash:x86_64-unknown-linux-gnu crash:riscv64gc-unknown-none-elf; do
    target=${plant#*:}
    case " ${targets[*]} " in *" $target "*) ;; *) continue ;; esac
    build image "$target" "plant-${plant%:*}"
    if verdict=$(judge "$target"); then
        say "FAIL  the planted ${plant%:*} on $target passes, so the runner proves nothing"
        failed=1
    else
        say "PASS  the planted ${plant%:*} on $target is found: wrong $verdict"
    fi
done
exit $failed
