"""Times ubtile and PyTorch on the same tensors, one case after the other, and prints the ratios.

For each case: PyTorch's eager and `out=` form (for im2col also torch.compile), warmed up, median; then `ubtile run --time`
on the same tensors from a file. The results are compared before anything is timed. See README.md beside this file.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from safetensors.torch import load_file, save_file

from cases import all_cases

TOLERANCE = {"f64": 1e-4, "f32": 2e-4, "f16": 4e-3, "bf16": 3e-2, "i32": 0}


def median_ms(call, budget):
    """Median of many calls after two untimed ones; at least 5, more while the budget (seconds) lasts."""
    call(), call()
    times, end = [], time.perf_counter() + budget
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 2000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3, len(times)


def ours(binary, case, call, folder, threads, count, level):
    source, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.safetensors")
    save_file(call.inputs, source)
    run = [binary, "run", case.operator, "--in", source, *call.options, "--threads", str(threads), "--level", level]
    timed = subprocess.run([*run, "--out", target, "--time", str(count), "--format", "json"], check=True, capture_output=True)
    return json.loads(timed.stdout), load_file(target)


def agreement(result, expected):
    """Largest difference relative to the largest magnitude, over the outputs."""
    worst = 0.0
    for got, want in zip(result, expected):
        got, want = got.double().flatten(), want.double().flatten()
        scale = want.abs().max().item() or 1.0
        worst = max(worst, (got - want).abs().max().item() / scale)
    return worst


def streaming_ms(call, outputs, budget):
    """Time to read the inputs and write the outputs once, with PyTorch's own copy: the bound a copy of that size meets."""
    total = sum(t.numel() * t.element_size() for t in [*call.inputs.values(), *outputs])
    source, target = torch.empty(total // 8, dtype=torch.float32), torch.empty(total // 8, dtype=torch.float32)
    return median_ms(lambda: target.copy_(source), budget)[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--level", default="auto")
    parser.add_argument("--budget", type=float, default=0.4, help="seconds per measurement")
    parser.add_argument("--only", default="", help="run the cases whose operator, dtype or name contain this")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too (im2col)")
    parser.add_argument("--json", help="write the rows here")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    cases = [c for c in all_cases() if args.only in f"{c.operator} {c.dtype} {c.name}"]
    rows, failed = [], 0
    print(f"PyTorch {torch.__version__}, {args.threads} thread(s), {platform.processor() or platform.machine()}")
    print(f"{'case':66} {'peer ms':>9} {'ours ms':>9} {'ratio':>6} {'copy ms':>8} {'workspace':>10}")
    for index, case in enumerate(cases):
        call = case.call()
        expected = call.eager()
        expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        peers = {"eager": median_ms(call.eager, args.budget), "out": median_ms(call.into, args.budget)}
        if args.compile and call.compiled:
            peers["compile"] = median_ms(call.compiled, args.budget)
        best = min((v[0], k) for k, v in peers.items() if k != "compile")
        with tempfile.TemporaryDirectory() as folder:
            report, outputs = ours(args.binary, case, call, folder, args.threads, max(5, min(500, int(args.budget * 1e3 / best[0]))), args.level)
        names = [n for n in ("input_grad", "grid_grad", "out", "grad_input") if n in outputs]
        off = agreement([outputs[n] for n in names], expected)
        copy = streaming_ms(call, expected, args.budget / 2)
        mine = report["time_ms"]["median"]
        row = {"operator": case.operator, "group": case.group, "dtype": case.dtype, "case": case.name, "peer": best[1],
               "peer_ms": best[0], "ours_ms": mine, "ratio": best[0] / mine, "copy_ms": copy, "difference": off,
               "workspace_bytes": report["workspace_bytes"], "level": report["level"], "threads": report["threads"],
               "compile_ms": peers.get("compile", (None,))[0]}
        rows.append(row)
        wrong = "" if off <= TOLERANCE[case.dtype] else f"  DISAGREES by {off:.2g}"
        failed += bool(wrong)
        print(f"{case.operator[:14] + ' ' + case.dtype + ' ' + case.name:66} {best[0]:9.3f} {mine:9.3f} {row['ratio']:6.2f} {copy:8.3f} "
              f"{report['workspace_bytes']:10}{wrong}", flush=True)
        print(f"{index + 1} of {len(cases)}", end="\r", file=sys.stderr)
    print(f"\n{'operator':28} {'group':20} {'dtype':5} {'worst':>6} {'geometric mean':>15}")
    for key in sorted({(r["operator"], r["group"], r["dtype"]) for r in rows}):
        ratios = [r["ratio"] for r in rows if (r["operator"], r["group"], r["dtype"]) == key]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{key[0]:28} {key[1]:20} {key[2]:5} {min(ratios):6.2f} {mean:15.2f}")
    if args.json:
        with open(args.json + ".tmp", "w") as file:
            json.dump({"torch": torch.__version__, "rows": rows}, file, indent=1)
        os.replace(args.json + ".tmp", args.json)
    sys.exit(4 if failed else 0)


main()
