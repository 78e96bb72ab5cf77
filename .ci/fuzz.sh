#!/usr/bin/env bash
# Builds the fuzz targets with AddressSanitizer and runs each for 200 to 20000 executions: long enough to meet every rule and
# every kernel, short enough for a gate, and the same each time. To search for longer, each target for so many seconds:
#
#   .ci/fuzz.sh 3600
#
# What earlier runs have found worth keeping lies in fuzz/corpus (not in git), small cases of every kind in fuzz/seeds; both are
# tried first. To look at a finding:
#
#   RUSTC_BOOTSTRAP=1 cargo fuzz fmt TARGET fuzz/artifacts/TARGET/...
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A lengths=([readers]=4096 [stored_plans]=1024 [c_abi]=1024 [aclnn_sequences]=2048 [programs]=2048)
declare -A runs=([contract]=20000 [plan]=4000 [kernels]=6000 [readers]=20000 [stored_plans]=20000 [c_abi]=6000
    [aclnn_sequences]=3000 [native_programs]=200 [programs]=400)

cargo fmt --manifest-path fuzz/Cargo.toml --check

command -v cargo-fuzz >/dev/null || cargo install cargo-fuzz --locked

# The sanitizer is behind an unstable flag; this makes the stable compiler take it.
export RUSTC_BOOTSTRAP=1
# Compiles as the compiler does, and lints the targets on the way.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver
cargo fuzz build
for target in $(cargo fuzz list); do
    if [ $# -gt 0 ]; then
        limit=("-max_total_time=$1")
    else
        limit=("-runs=${runs[$target]}" -seed=2026)
    fi
    mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target"
    echo "fuzz: $target, ${limit[*]}"
    # A thread that has just ended can look like a leak. Files are longer than descriptions, stored plans a little.
    length=${lengths[$target]:-512}
    cargo fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- "${limit[@]}" -max_len="$length" -len_control=0 \
        -timeout=20 -detect_leaks=0 -verbosity=0 -print_final_stats=1
done
