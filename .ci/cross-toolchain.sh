#!/usr/bin/env bash
# Provides a Rust toolchain that can build for bare-metal targets, and prints the folder it is in.
#
#   .ci/cross-toolchain.sh [TARGET...]        default: thumbv7em-none-eabihf
#   cross=$(.ci/cross-toolchain.sh) && "$cross/bin/cargo" build --target thumbv7em-none-eabihf
#
# bin/ holds cargo, rustc, rust-lld, and LLVM's nm, size, objdump, symbolizer and readelf; each finds its own libraries, so
# neither PATH nor LD_LIBRARY_PATH has to be set. Nothing is installed: the packages are only unpacked. Progress goes
# to stderr. The result is kept in ${UBTILE_CACHE:-$HOME/.cache/ubtile}/cross; remove that folder to get newer packages.
#
# Debian's compiler is used because its packages bring the source of the standard library for the very same compiler,
# and `core` for a target without an operating system has to be built from that.
set -euo pipefail

self=$(readlink -f "${BASH_SOURCE[0]}")
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(thumbv7em-none-eabihf)

# A changed script gets a folder of its own, so an old cache is never mistaken for what this version would have made.
root=${UBTILE_CACHE:-$HOME/.cache/ubtile}/cross
digest=$(sha256sum <"$self")
cross=$root/${digest:0:12}
rustlib=$cross/usr/lib/rustlib

complete() {
    local target
    [ -e "$cross/bin/cargo" ] || return 1
    for target in "${targets[@]}"; do
        [ -d "$rustlib/$target/lib" ] || return 1
    done
}

if complete; then
    echo "$cross"
    exit 0
fi

say() { echo "cross-toolchain: $*" >&2; }
fail() { say "$*"; exit 1; }

# A compiler that the caller runs under, or flags meant for it, must not leak into this one.
unset RUSTC RUSTDOC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS \
    CARGO_BUILD_TARGET CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR RUSTUP_TOOLCHAIN

mkdir -p "$root"
exec 9>"$root/lock"
flock 9
# Under the lock there is no other run, so whatever temporary folder is left belongs to one that died.
rm -rf "$root"/*.tmp
tmp=$root/${digest:0:12}.$$.tmp
mkdir "$tmp"
trap 'rm -rf "$tmp"' EXIT

# The direct dependencies of a package; of alternatives the first.
depends() {
    apt-cache depends --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$1" |
        awk '$1 == "|Depends:" { if (!alt) print $2; alt = 1 }
             $1 ~ /^(Pre)?Depends:$/ { if (!alt) print $2; alt = 0 }'
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | head -c 2)" = ii ]; }

# Prints the packages to unpack: the roots and all they need that this machine lacks.
closure() {
    local queue=("$@") seen=" " package
    while [ ${#queue[@]} -gt 0 ]; do
        package=${queue[0]}
        queue=("${queue[@]:1}")
        case "$seen" in *" $package "*) continue ;; esac
        seen+="$package "
        case "$package" in
        # The C compiler and library come with the machine; another copy would only get in their way.
        libc6 | libgcc-s1 | gcc | binutils | '<'*) continue ;;
        # Always from the same build as the compiler, even when the machine has some version of it.
        rustc-web | cargo-web | rust-web-src | libstd-rust-* | llvm-* | lld-* | libllvm*) ;;
        *) ! installed "$package" || continue ;;
        esac
        echo "$package"
        mapfile -t -O ${#queue[@]} queue < <(depends "$package")
    done
}

fetch_toolchain() {
    local llvm packages libraries tool command stage=$tmp/toolchain
    for tool in apt-get dpkg-deb cc; do
        command -v "$tool" >/dev/null || fail "needs $tool"
    done
    mkdir -p "$tmp/apt/lists/partial" "$tmp/apt/cache/archives/partial" "$tmp/deb" "$stage/bin"

    # Package lists of our own: no other run of apt waits for us, and the sources' state is the present one.
    cat >"$tmp/apt.conf" <<CONF
Dir::State::Lists "$tmp/apt/lists";
Dir::Cache "$tmp/apt/cache";
APT::Sandbox::User "$(id -un)";
CONF
    export APT_CONFIG=$tmp/apt.conf
    # A source that has nothing to do with us may fail; if it was Debian's, the next line notices.
    apt-get update -qq >&2 || say "apt-get update had errors"

    # The compiler says which LLVM it was built with.
    llvm=$(depends rust-web-llvm | grep -m 1 -E '^llvm-[0-9]+$') || fail "no package rust-web-llvm"
    closure rustc-web cargo-web rust-web-src "$llvm" "lld-${llvm#llvm-}" >"$tmp/packages"
    mapfile -t packages <"$tmp/packages"
    say "fetching ${packages[*]}"
    (cd "$tmp/deb" && apt-get download -qq "${packages[@]}" >&2)
    # Of the source only the library is of use; the rest is half of all bytes.
    for tool in "$tmp"/deb/*.deb; do
        dpkg-deb --fsys-tarfile "$tool" | tar -x -C "$stage" --no-wildcards-match-slash --exclude='./usr/share/*' \
            --exclude='./usr/src/*/src' --exclude='./usr/src/*/compiler' --exclude='./usr/lib/*/bin/llvm-exegesis'
    done

    # The library folder is named after the machine, e.g. x86_64-linux-gnu; some packages still put it into /lib.
    libraries=$(cd "$stage" && dirname usr/lib/*/librustc_driver-*.so)
    libraries="\$root/$libraries:\$root/${libraries#usr/}"
    for tool in cargo rustc rust-lld llvm-nm llvm-size llvm-objdump llvm-symbolizer llvm-readelf; do
        case $tool in
        cargo | rustc) command=usr/bin/$tool ;;
        rust-lld) command=usr/lib/$llvm/bin/lld ;;
        *) command=usr/lib/$llvm/bin/$tool ;;
        esac
        [ -x "$stage/$command" ] || fail "the packages have no $command"
        # cargo must start this rustc, and this rustc this linker, whatever else is in PATH.
        cat >"$stage/bin/$tool" <<WRAPPER
#!/bin/sh
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
export LD_LIBRARY_PATH="$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export PATH="\$root/bin:\$PATH" RUSTC="\$root/bin/rustc"
exec "\$root/$command" "\$@"
WRAPPER
        chmod +x "$stage/bin/$tool"
    done
    "$stage/bin/rustc" --version >&2
    "$stage/bin/cargo" --version >&2
    mv -T "$stage" "$cross"
}

# Builds `core` and `compiler_builtins` for one target and puts them where this compiler looks for them; from then on
# a plain `cargo build --target` works.
build_core() {
    local target=$1 stage=$tmp/core-$1
    say "building core for $target"
    mkdir -p "$stage/src" "$stage/lib"
    echo '#![no_std]' >"$stage/src/lib.rs"
    cat >"$stage/Cargo.toml" <<'TOML'
[package]
name = "empty"
version = "0.0.0"
edition = "2024"

[workspace]
TOML
    # Bitcode in the libraries is what lets a later build optimise across them (cargo leaves it out here by itself). Small rather
    # than fast, as the images are.
    (
        cd "$stage"
        RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Cembed-bitcode=yes" CARGO_PROFILE_RELEASE_OPT_LEVEL=s \
            "$cross/bin/cargo" build --release --quiet \
            --target "$target" -Zbuild-std=core,compiler_builtins -Zbuild-std-features=compiler-builtins-mem >&2
    )
    cp "$stage/target/$target"/release/deps/lib{core,compiler_builtins}-*.rlib "$stage/lib/"
    mkdir -p "$rustlib/$target"
    mv -T "$stage/lib" "$rustlib/$target/lib"
}

[ -d "$cross" ] || fetch_toolchain
for target in "${targets[@]}"; do
    [ -d "$rustlib/$target/lib" ] || build_core "$target"
done
echo "$cross"
