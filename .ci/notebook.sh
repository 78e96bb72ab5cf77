#!/usr/bin/env bash
# The script that reads profiler tables with pandas, on the tables of two products that name their columns differently.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python" 2>/dev/null || { apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null && python3 -m venv "$work/python"; }
"$work/python/bin/pip" install -q --disable-pip-version-check pandas matplotlib

cargo build -q -p ubtile
ubtile=${CARGO_TARGET_DIR:-target}/debug/ubtile
for soc in Ascend910B1 Ascend310P3; do
    "$ubtile" sim replication-pad2d-backward --shape grad_output=2,16,58,58 --padding 1,1,1,1 --dtype f16 --soc "$soc" \
        --unsupported --output "$work/$soc" >/dev/null
done
"$work/python/bin/python" docs/two_products.py "$work/Ascend910B1" "$work/Ascend310P3" "$work/both.svg" >"$work/out"
cat "$work/out"

# The tables say what the reports do.
for soc in Ascend910B1 Ascend310P3; do
    time=$(sed -n 's/^  "task_us": \([0-9]*\.[0-9]*\).*/\1/p' "$work/$soc/report.json")
    grep -qE "^task us.* $(printf '%.2f' "$time")( |$)" "$work/out" || { echo "notebook: FAILED: $soc takes $time us" >&2; exit 1; }
done
grep -q '</svg>' "$work/both.svg" || { echo "notebook: FAILED: no picture" >&2; exit 1; }
echo "notebook: all is well"
