#!/usr/bin/env bash
# Proves on linked Cortex-M4 images that the operators bring no panic, allocation, unwinding or float formatting along,
# and prints how large their code is.
#
#   .ci/firmware-gate.sh
#
# One image per operator in F32 and one with all four; for comparison one with none; and one with everything: every dtype and
# the functions that do a slice of the work (.ci/firmware). It is the linked image that
# counts: an archive always has panic code in it, and only the linker, which drops what nothing can reach, decides whether
# it matters. The panic handler ends in a loop written in assembly, so its symbol survives exactly if some panic can be
# reached, whatever the optimiser did to the functions on the way; names of the standard library's machinery are looked for
# besides. An image of the same code with a bug planted in it has to be caught, else the gate itself has failed.
# The kernels must compile for Cortex-M0 as well, which lacks what the others have: compare-and-swap.
#
# Builds in ${CARGO_TARGET_DIR:-.ci/firmware/target}. A stale lock file of the crate is an error: run cargo there.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
target=thumbv7em-none-eabihf
least=thumbv6m-none-eabi
operators=(grid-sampler-2d-backward max-unpool2d-backward replication-pad2d-backward im2col-backward)

# Patterns of forbidden symbols: extended regular expressions over mangled and demangled names.
panic='panic|rust_begin_unwind|(unwrap|expect)_failed|slice_[a-z_]*_fail|len_mismatch_fail'
allocation='__rust_.*alloc|__rg_|__rdl_|(^|[^a-z_])alloc::|^_?(malloc|calloc|realloc|free|memalign|sbrk)(_r)?$'
unwinding='_Unwind|eh_personality|__gnu_unwind|__aeabi_unwind|__cxa_'
formatting='core::fmt|core::num::(fmt|flt2dec|imp::flt2dec)|flt2dec|float_to_decimal'
export FORBIDDEN="$panic|$allocation|$unwinding|$formatting"

cross=$("$here/cross-toolchain.sh" $target $least)

# Flags for the host's builds must not change what is measured here.
unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_BOOTSTRAP

# cargo compares compilers by version only, and crates built against another build of `core` do not link with this one.
core=$(cat "$cross/usr/lib/rustlib/$target/lib"/libcore-*.rlib | sha256sum)
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/firmware/target}")/firmware-${core:0:12}
export CARGO_TARGET_DIR
images=$CARGO_TARGET_DIR/images
mkdir -p "$images"

say() { echo "firmware: $*"; }

# build NAME FEATURES: the image ends up in $images/NAME. cargo reads the target's flags from the crate's folder.
build() {
    (
        cd "$here/firmware"
        "$cross/bin/cargo" build --release --locked --quiet --no-default-features --features "$2"
    ) || {
        say "FAIL  $1: does not build"
        exit 1
    }
    cp "$CARGO_TARGET_DIR/$target/release/ubtile-firmware" "$images/$1"
}

# Filters lines of mangled name, tab, demangled name; prints the demangled one.
forbidden() {
    awk -F '\t' '$1 ~ ENVIRON["FORBIDDEN"] || $2 ~ ENVIRON["FORBIDDEN"] { print $2 }'
}

# Forbidden symbols of an image, one a line, demangled where they have a demangled form.
offenders() {
    paste <("$cross/bin/llvm-nm" --no-sort --format=just-symbols "$1") \
        <("$cross/bin/llvm-nm" --no-sort --format=just-symbols --demangle "$1") |
        forbidden | sort -u
}

# size_of IMAGE SECTION...: their bytes together.
size_of() {
    local image=$1
    shift
    "$cross/bin/llvm-size" --format=sysv "$image" |
        awk -v sections=" $* " 'index(sections, " " $1 " ") { sum += $2 } END { print sum + 0 }'
}

status=0
total=$(date +%s)

# The patterns must know a name of each kind.
for name in core::panicking::panic_fmt __rustc::rust_begin_unwind core::option::unwrap_failed __rust_alloc malloc \
    '<alloc::vec::Vec<u8>>::push' _Unwind_Resume rust_eh_personality 'core::fmt::float::<impl f32>::fmt' \
    core::num::flt2dec::strategy::grisu::format_exact; do
    [ -n "$(printf '%s\t%s\n' "$name" "$name" | forbidden)" ] || {
        say "FAIL  the patterns let $name pass"
        status=1
    }
done

printf '%-28s %8s %8s %8s %8s  %s\n' "image (bytes)" code rodata total static symbols
all=$(IFS=,; echo "${operators[*]}")
for name in none "${operators[@]}" all everything; do
    case $name in
    none) features="" ;;
    all) features=$all,f32 ;;
    everything) features=default ;;
    *) features=$name,f32 ;;
    esac
    build "$name" "$features"
    image=$images/$name

    # What is not there cannot panic: code of each operator's check, plan and kernel must really be in the image.
    "$cross/bin/llvm-objdump" --disassemble --line-numbers "$image" >"$image.lines"
    for operator in "${operators[@]}"; do
        case ,$features, in *,"$operator",* | ,default,) ;; *) continue ;; esac
        for source in tiling/src/contract tiling/src/plan kernels/src; do
            source=$source/${operator//-/_}
            grep -q "/${source}[./]" "$image.lines" || {
                say "FAIL  $name: nothing of $source is in the image, so it shows nothing"
                status=1
            }
        done
    done

    code=$(size_of "$image" .vectors .text)
    rodata=$(size_of "$image" .rodata)
    static=$(size_of "$image" .data .bss)
    found=$(offenders "$image")
    verdict=clean
    [ -z "$found" ] || verdict="$(wc -l <<<"$found") forbidden"
    printf '%-28s %8d %8d %8d %8d  %s\n' "$name" "$code" "$rodata" $((code + rodata)) "$static" "$verdict"
    if [ -n "$found" ]; then
        say "FAIL  $name: can reach"
        awk '{ print "  " $0 }' <<<"$found"
        say "      from"
        "$here/firmware-blame.sh" "$image"
        status=1
    fi
    if [ "$static" -ne 0 ]; then
        say "FAIL  $name: has $static bytes of global variables"
        status=1
    fi
done
[ $status -ne 0 ] || say "PASS  no panic, allocation, unwinding, formatting or globals in $((${#operators[@]} + 3)) images"

if "$cross/bin/cargo" check --release --locked --quiet --manifest-path "$here/../kernels/Cargo.toml" --target $least; then
    say "PASS  the kernels compile for $least"
else
    say "FAIL  the kernels do not compile for $least"
    status=1
fi

# The gate's own test.
build planted "$all,f32,plant-panic"
if offenders "$images/planted" | grep -qx panic_reached; then
    say "PASS  the planted panic is found:"
    "$here/firmware-blame.sh" "$images/planted" | grep -F .ci/firmware/ || true
else
    say "FAIL  the planted panic is not found, so the gate proves nothing"
    status=1
fi
say "took $(($(date +%s) - total)) s"
exit $status
