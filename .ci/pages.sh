#!/usr/bin/env bash
# Opens every kind of page that the command writes in a browser: no errors, no requests, the numbers of the JSON, keyboard, contrast,
# names for screen readers, no sideways scrolling on a phone. Installs Chromium and playwright-core where they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v npm >/dev/null || missing+=(nodejs npm)
if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
target=${CARGO_TARGET_DIR:-target}
browser=$target/pages/browser
if [ ! -d "$browser/node_modules/playwright-core" ]; then
    mkdir -p "$browser"
    npm install --silent --no-fund --no-audit --prefix "$browser" playwright-core@1.64.1
fi
if [ -z "${UBTILE:-}" ]; then
    cargo build --release --locked --bin ubtile
    UBTILE=$target/release/ubtile
fi

pages=$target/pages/written
rm -rf "$pages"
mkdir -p "$pages"
add=sim/examples/add_double_buffer.tile
run() { "$UBTILE" "$@" >/dev/null; }
run sim --program "$add" --output "$pages/program"
run sim --program sim/examples/gather_rows.tile --output "$pages/gather"
run sim im2col-backward --shape grad_output=2,288,784 --input-size 28,28 --kernel-size 3,3 --padding 1,1 --output "$pages/operator"
run sim im2col-backward --shape grad_output=2,288,784 --input-size 28,28 --kernel-size 3,3 --padding 1,1 --product all --output "$pages/several"
run sim im2col-backward --shape grad_output=2,288,784 --input-size 28,28 --kernel-size 3,3 --padding 1,1 --vary tile_rows=1..30 --output "$pages/series"
run compare "$pages/gather/report.json" "$pages/program/report.json" --output "$pages/comparison"
run --output "$pages/tour"
run plan im2col-backward --shape grad_output=2,288,784 --input-size 28,28 --kernel-size 3,3 --padding 1,1 --product all --output "$pages/plans"
run plan grid-sampler-2d-backward --shape input=2,3,16,16 --shape grid=2,8,8,2 --soc Ascend910B1 --output "$pages/plan"

cp .ci/pages/check.mjs "$browser/check.mjs"
node "$browser/check.mjs" "$pages"
