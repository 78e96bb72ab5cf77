#!/usr/bin/env bash
# Line coverage of the planner and the kernels by all of their tests. Prints a table and, with an argument, the lines that nothing runs:
#
#   .ci/coverage.sh
#   .ci/coverage.sh missing
#
# Uses the compiler's own instrumentation and LLVM's tools of the same version: those in LLVM_BIN, or Debian's, unpacked by
# .ci/cross-toolchain.sh.
# At less than LEAST percent of either crate the exit code is 1.
set -euo pipefail
cd "$(dirname "$0")/.."

LEAST=95
if [ -n "${LLVM_BIN:-}" ]; then
    llvm() { "$LLVM_BIN/$1" "${@:2}"; }
else
    root=$(.ci/cross-toolchain.sh)/usr
    bin=$(echo "$root"/lib/llvm-*/bin)
    llvm() { LD_LIBRARY_PATH="$root/lib/x86_64-linux-gnu:${bin%bin}lib" "$bin/$1" "${@:2}"; }
fi

# A folder of its own: instrumented code is no one else's.
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/coverage")
data=$target/data
rm -rf "$data"
mkdir -p "$data"
export CARGO_TARGET_DIR=$target RUSTFLAGS="-C instrument-coverage" LLVM_PROFILE_FILE="$data/%p-%m.profraw"
objects=$(cargo test -p ubtile-tiling -p ubtile-kernels --locked --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
cargo test -p ubtile-tiling -p ubtile-kernels --locked --lib --tests -q

llvm llvm-profdata merge -sparse "$data"/*.profraw -o "$data/all.profdata"
# The first object has no option in front of it; sources come last.
arguments=()
for object in $objects; do arguments+=(${arguments[@]:+--object} "$object"); done
if [ "${1:-}" = missing ]; then
    llvm llvm-cov show "${arguments[@]}" --instr-profile="$data/all.profdata" --show-instantiations=false tiling/src kernels/src |
        awk -F'|' '/^\/.*:$/ { file = $0 } $2 ~ /^ *0$/ { print file $1 "|" $3 }'
fi
llvm llvm-cov report "${arguments[@]}" --instr-profile="$data/all.profdata" --show-region-summary=false \
    --show-branch-summary=false --show-functions=false tiling/src kernels/src | tee "$data/report"
llvm llvm-cov export "${arguments[@]}" --instr-profile="$data/all.profdata" --summary-only tiling/src kernels/src |
    python3 -c '
import json, sys
files = json.load(sys.stdin)["data"][0]["files"]
least, low = float(sys.argv[1]), False
for crate in ("tiling/src", "kernels/src"):
    lines = [file["summary"]["lines"] for file in files if f"/{crate}/" in file["filename"]]
    count, covered = (sum(line[key] for line in lines) for key in ("count", "covered"))
    print(f"{crate}: {covered} of {count} lines, {100 * covered / count:.2f} %")
    low |= 100 * covered < least * count
sys.exit(low)
' "$LEAST"
