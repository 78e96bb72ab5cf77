#!/usr/bin/env bash
# Builds the C library and lays it out as CANN's toolkit is, so that PREFIX can stand where ASCEND_HOME_PATH points:
#
#   aclnn/install.sh PREFIX && source PREFIX/set_env.sh
set -euo pipefail

if [ $# -ne 1 ] || [ "${1#-}" != "$1" ]; then
    echo "usage: aclnn/install.sh PREFIX" >&2
    exit 2
fi
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

# With all of the workspace, as `cargo run --release` builds it: what that has compiled is not compiled again.
cargo build --release --locked
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
built=${CARGO_TARGET_DIR:-target}/release/libubtile_aclnn.so

# The headers, and the other paths that programs include the operators' by.
mkdir -p "$prefix/include/aclnnop/level2" "$prefix/lib64"
cp -R aclnn/include/. "$prefix/include/"
for header in aclnn/include/aclnnop/*.h; do
    name=$(basename "$header")
    ln -sfn "aclnnop/$name" "$prefix/include/$name"
    ln -sfn "../$name" "$prefix/include/aclnnop/level2/$name"
done
for name in aclnn_util.h aclnn_base.h acl_meta.h; do
    ln -sfn "aclnn/$name" "$prefix/include/$name"
done
ln -sfn ../aclnn/aclnn_util.h "$prefix/include/aclnnop/aclnn_util.h"

# One library under all names that link lines and dlopen use. It is replaced and not overwritten: a program may be running it.
install -s -m 755 "$built" "$prefix/lib64/libubtile_aclnn.so.new"
mv -f "$prefix/lib64/libubtile_aclnn.so.new" "$prefix/lib64/libubtile_aclnn.so"
for name in ascendcl nnopbase opapi acl_rt opapi_math opapi_cv opapi_nn; do
    ln -sfn libubtile_aclnn.so "$prefix/lib64/lib$name.so"
done

# Where build scripts look besides.
mkdir -p "$prefix/runtime" "$prefix/acllib"
for folder in runtime acllib; do
    ln -sfn ../include "$prefix/$folder/include"
    ln -sfn ../lib64 "$prefix/$folder/lib64"
done
ln -sfn . "$prefix/lib64/stub"
ln -sfn lib64 "$prefix/devlib"
ln -sfn . "$prefix/$(uname -m)-linux"
ln -sfn . "$prefix/latest"

cat >"$prefix/set_env.sh" <<'EOF'
# Source this: programs for CANN then build against this folder and run with it.
_ubtile_home=$(cd "$(dirname "${BASH_SOURCE[0]:-$0}")" && pwd)
export ASCEND_HOME_PATH=$_ubtile_home
export ASCEND_TOOLKIT_HOME=$_ubtile_home
export ASCEND_CUSTOM_PATH=$_ubtile_home
export LD_LIBRARY_PATH=$_ubtile_home/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CMAKE_PREFIX_PATH=$_ubtile_home${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
export PKG_CONFIG_PATH=$_ubtile_home/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
unset _ubtile_home
EOF

mkdir -p "$prefix/share/pkgconfig"
cat >"$prefix/share/pkgconfig/ubtile-aclnn.pc" <<EOF
prefix=\${pcfiledir}/../..
includedir=\${prefix}/include
libdir=\${prefix}/lib64

Name: ubtile-aclnn
Description: CANN's C API of four backward operators, for ordinary hosts
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lascendcl -lnnopbase -lopapi
EOF

mkdir -p "$prefix/share/cmake/ubtile-aclnn"
cat >"$prefix/share/cmake/ubtile-aclnn/ubtile-aclnn-config.cmake" <<'EOF'
# The library as an imported target: ubtile::aclnn.
get_filename_component(_ubtile_home "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET ubtile::aclnn)
    add_library(ubtile::aclnn SHARED IMPORTED)
    set_target_properties(ubtile::aclnn PROPERTIES
        IMPORTED_LOCATION "${_ubtile_home}/lib64/libubtile_aclnn.so"
        IMPORTED_SONAME libubtile_aclnn.so
        INTERFACE_INCLUDE_DIRECTORIES "${_ubtile_home}/include")
endif()
unset(_ubtile_home)
EOF
cat >"$prefix/share/cmake/ubtile-aclnn/ubtile-aclnn-config-version.cmake" <<EOF
set(PACKAGE_VERSION $version)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
EOF

echo "installed; next: source $prefix/set_env.sh"
