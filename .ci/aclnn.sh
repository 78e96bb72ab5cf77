#!/usr/bin/env bash
# Installs the C library into a prefix and builds programs against it as users of CANN do: every header alone, every client with
# sanitizers, every link line; and compares symbols, numbers and output with what they must be.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for tool in gcc g++ cmake make pkg-config readelf; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "aclnn: installing what is missing: ${missing[*]}"
    apt-get update -qq
    apt-get install -y -qq gcc g++ cmake make pkg-config binutils >/dev/null
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
aclnn/install.sh "$work/prefix"
source "$work/prefix/set_env.sh"
include=$ASCEND_HOME_PATH/include lib=$ASCEND_HOME_PATH/lib64
clients=aclnn/tests/clients
failed=0
fail() { echo "aclnn: FAILED: $*" >&2; failed=1; }

echo "aclnn: exported symbols"
# What the headers declare, from the preprocessor, and what the library gives away.
cat "$include"/acl/acl.h "$include"/aclnn/aclnn_base.h "$include"/aclnnop/aclnn_*.h >"$work/all.c"
gcc -E -P -I"$include" "$work/all.c" | tr -d '\n' | tr ';' '\n' | grep -v typedef |
    grep -oE '\bacl[A-Za-z0-9]+ ?\(' | tr -d ' (' | sort -u >"$work/declared"
readelf -W --dyn-syms "$lib/libubtile_aclnn.so" | awk '$7 ~ /^[0-9]+$/ {print $8}' | sort -u >"$work/exported"
diff "$work/declared" "$work/exported" || fail "symbols differ: < declared, > exported"

echo "aclnn: headers, each alone"
for header in $(cd "$include" && find . -name '*.h' | sort); do
    printf '#include "%s"\nint main(void);\n' "${header#./}" >"$work/one.c"
    printf '#include "%s"\nint main();\n' "${header#./}" >"$work/one.cpp"
    for std in c11 c17; do
        gcc -std=$std -Wall -Wextra -pedantic -Wstrict-prototypes -Werror -fsyntax-only -I"$include" "$work/one.c" ||
            fail "$header in $std"
    done
    for std in c++11 c++14 c++20; do
        g++ -std=$std -Wall -Wextra -pedantic -Werror -fsyntax-only -I"$include" "$work/one.cpp" || fail "$header in $std"
    done
done

# compile SOURCE PROGRAM FLAGS...
compile() {
    local compiler=(gcc -std=c11)
    [ "${1##*.}" = cpp ] && compiler=(g++ -std=c++11)
    "${compiler[@]}" -Wall -Wextra -pedantic -Werror -g -O1 -I"$include" "$1" -o "$2" "${@:3}" -lpthread -ldl
}
link=(-L"$lib" -lascendcl -lnnopbase -lopapi)

echo "aclnn: numbers"
compile aclnn/tests/values.c "$work/values" "${link[@]}" && "$work/values" || fail values

for sanitizers in address,undefined thread; do
    for source in "$clients"/*.c "$clients"/*.cpp; do
        name=$(basename "${source%.*}")
        [ "$name" = product ] && continue
        echo "aclnn: $name with -fsanitize=$sanitizers"
        compile "$source" "$work/$name" -fsanitize=$sanitizers "${link[@]}" || { fail "$name does not build"; continue; }
        timeout 120 "$work/$name" >"$work/out" 2>"$work/err" || fail "$name: status $?: $(head -c 4000 "$work/err")"
        diff "$clients/$name.txt" "$work/out" || fail "$name: output with -fsanitize=$sanitizers: < wanted, > got"
    done
done

echo "aclnn: products"
compile "$clients/product.c" "$work/product" "${link[@]}"
# An empty name is none; of two something is unknown; the last does not exist.
for soc in '' Ascend310P3 Ascend910_9391 Ascend910_95 Ascend910A Ascend910_5591 Ascend910C; do
    UBTILE_SOC=$soc "$work/product"
done >"$work/out" || fail product
diff "$clients/product.txt" "$work/out" || fail "product: < wanted, > got"

echo "aclnn: link lines"
source=$clients/max_unpool2d_backward.cpp
for line in "-lopapi -lnnopbase -lascendcl" "-lacl_rt -lnnopbase -lopapi_math -lopapi_cv" "-lopapi_nn" \
    "-Wl,--as-needed -lnnopbase -lascendcl" "$lib/libascendcl.so $lib/libnnopbase.so $lib/libopapi.so"; do
    # shellcheck disable=SC2086
    compile "$source" "$work/linked" -L"$lib" $line || { fail "$line"; continue; }
    "$work/linked" | diff "$clients/max_unpool2d_backward.txt" - || fail "$line"
done
# shellcheck disable=SC2046
g++ "$source" -o "$work/linked" $(pkg-config --cflags --libs ubtile-aclnn) && "$work/linked" >/dev/null || fail pkg-config

echo "aclnn: the example of docs/aclnn.md"
# The first block of C++ is the program, the block that follows its compilation the output.
awk '/^```cpp$/ {inside = 1; next} /^```$/ {inside = 0} inside' docs/aclnn.md >"$work/im2col.cpp"
awk '/^```text$/ {inside = 1; next} /^```$/ {inside = 0} inside' docs/aclnn.md >"$work/im2col.txt"
(cd "$work" && bash -ec "$(grep '^g++ im2col.cpp' "$OLDPWD/docs/aclnn.md")" && ./im2col | diff im2col.txt -) || fail "example"
UBTILE_SOC=Ascend310P3 "$work/im2col" >"$work/out" 2>&1 && fail "example on Ascend310P3"
grep -q "Im2colBackward is not supported on atlas-inference" "$work/out" || fail "example on Ascend310P3"

echo "aclnn: profiles"
folders() { (cd "$1" && echo *); }
UBTILE_PROFILE=$work/profile "$work/im2col" | diff "$work/im2col.txt" - || fail "a profile changes the example's output"
[ "$(folders "$work/profile")" = 0001-aclnnIm2colBackward ] || fail "profile: $(folders "$work/profile")"
grep -q '"task_us": [0-9]' "$work/profile/0001-aclnnIm2colBackward/report.json" || fail "profile: no time"
ls "$work"/profile/*/OPPROF_*/simulator/trace.json "$work"/profile/*/report.html >/dev/null || fail "profile: files are missing"
UBTILE_PROFILE=$work/profile "$work/im2col" 2>"$work/err" | diff "$work/im2col.txt" - || fail "a second profile changes the output"
[ "$(folders "$work/profile")" = "0001-aclnnIm2colBackward run2" ] || fail "second profile: $(folders "$work/profile")"
[ "$(folders "$work/profile/run2")" = 0001-aclnnIm2colBackward ] || fail "second profile: $(folders "$work/profile/run2")"
grep -q "$work/profile/run2" "$work/err" || fail "second profile: no line on stderr"
UBTILE_SOC=Ascend910_5591 UBTILE_PROFILE=$work/profile-5591 "$work/im2col" | tail -n 1 >"$work/out" || fail "example on Ascend910_5591"
grep -q '"task_us": [0-9]' "$work/profile-5591/0001-aclnnIm2colBackward/report.json" || fail "profile on Ascend910_5591: no time"
[ "$(cat "$work/out")" = "Ascend910_5591: 1 2 1 2 4 2 1 2 1" ] || fail "example on Ascend910_5591: $(cat "$work/out")"
# Clients with strides, errors and several streams do the same as without; what is not simulated says why.
for name in "$clients"/*.c "$clients"/*.cpp; do
    name=$(basename "${name%.*}")
    [ "$name" = product ] && continue
    UBTILE_PROFILE=$work/profiles/$name timeout 300 "$work/$name" >"$work/out" 2>"$work/err" || fail "$name with a profile: status $?"
    diff "$clients/$name.txt" "$work/out" || fail "$name with a profile: < wanted, > got"
    for report in "$work/profiles/$name"/*/report.json; do
        [ -e "$report" ] || continue
        grep -qE '"task_us": [0-9]|"reason": "' "$report" || fail "$report: neither a time nor a reason"
    done
done
echo "no folder" >"$work/file"
UBTILE_PROFILE=$work/file "$work/im2col" 2>"$work/err" | diff "$work/im2col.txt" - || fail "a profile that cannot be written"
grep -q "UBTILE_PROFILE" "$work/err" || fail "a profile that cannot be written: no line on stderr"

echo "aclnn: CMake"
cat >"$work/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.14)
project(clients CXX)
find_package(ubtile-aclnn REQUIRED)
add_executable(packaged $PWD/$source)
target_link_libraries(packaged PRIVATE ubtile::aclnn)
# As the vendor's samples do it.
add_executable(sample $PWD/$source)
target_include_directories(sample PRIVATE \$ENV{ASCEND_TOOLKIT_HOME}/include \$ENV{ASCEND_TOOLKIT_HOME}/include/aclnn)
target_link_libraries(sample PRIVATE
    \$ENV{ASCEND_TOOLKIT_HOME}/lib64/libascendcl.so
    \$ENV{ASCEND_TOOLKIT_HOME}/lib64/libnnopbase.so
    \$ENV{ASCEND_TOOLKIT_HOME}/lib64/libopapi.so)
EOF
cmake -S "$work" -B "$work/build" >/dev/null && cmake --build "$work/build" >/dev/null || fail "CMake"
for program in packaged sample; do
    "$work/build/$program" | diff "$clients/max_unpool2d_backward.txt" - || fail "CMake: $program"
done

[ $failed = 0 ] && echo "aclnn: all is well"
exit $failed
