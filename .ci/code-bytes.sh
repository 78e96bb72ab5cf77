# The code that the C library brings into an image: sourced by what counts it, which sets `here`, and `cross` before it counts.

unset RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS RUSTC_BOOTSTRAP
CARGO_TARGET_DIR=$(realpath -m "${CARGO_TARGET_DIR:-$here/../capi/lib/target}")/costs
export CARGO_TARGET_DIR
export CARGO_TARGET_THUMBV7EM_NONE_EABIHF_RUSTFLAGS=-Ctarget-cpu=cortex-m4
# A build that fails ends what counts it, also where that is `$(bytes ...)`.
shopt -s inherit_errexit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }

operators=(grid-sampler-2d-backward max-unpool2d-backward replication-pad2d-backward im2col-backward)

# bytes TARGET FEATURES OPERATOR...: of code and constants that a program gets which plans and runs the operators.
bytes() {
    local target=$1 features=$2 keep=() operator
    shift 2
    say "code of $features on $target"
    for operator in "$@"; do
        operator=${operator//-/_}
        keep+=("--undefined=ubtile_${operator}_plan" "--undefined=ubtile_${operator}_run")
    done
    (cd "$here/../capi/lib" && "$cross/bin/cargo" build --release --locked --quiet --target "$target" \
        --no-default-features --features "$features")
    # What the C library brings on a target with one is not counted.
    "$cross/bin/rust-lld" -flavor gnu --gc-sections --unresolved-symbols=ignore-all --entry="${keep[0]#*=}" -o "$tmp/linked" \
        "${keep[@]}" "$CARGO_TARGET_DIR/$target/release/libubtile.a"
    "$cross/bin/llvm-size" --format=sysv "$tmp/linked" | awk '$1 == ".text" || $1 == ".rodata" { n += $2 } END { print n }'
}
