"""Times ubtile and PyTorch on the same tensors, one case after the other, and prints the ratios.

For each case and number of threads, in some rounds of which the fastest counts: PyTorch's eager and `out=` form (for im2col also
torch.compile), warmed up, median; then `ubtile run --time` on the same tensors from a file. Then the example `timing`, which runs
the kernel in turn with loops that only read and write its buffers: the streaming bound. For more threads of the grid sampler instead as
many processes of one thread each, at the same time: what the machine has for them. The results are compared before. See
README.md beside this file.
"""

import argparse
import json
import math
import operator
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import numpy
import torch
from safetensors.torch import load_file, save_file

from cases import all_cases, quick, random_cases
from stopwatch import LEAST, median_ms

TOLERANCE = {"f64": 1e-11, "f32": 2e-4, "f16": 4e-3, "bf16": 3e-2, "c64": 2e-4, "c128": 1e-12}
GRID_SAMPLER = "grid-sampler-2d-backward"


def save(case, call, folder):
    """The inputs in a file: npz for complex numbers, which safetensors lacks, else safetensors, which alone has BF16."""
    if case.dtype in ("c64", "c128"):
        path = os.path.join(folder, "in.npz")
        numpy.savez(path, **{name: tensor.numpy() for name, tensor in call.inputs.items()})
        return path, os.path.join(folder, "out.npz")
    path = os.path.join(folder, "in.safetensors")
    save_file(call.inputs, path)
    return path, os.path.join(folder, "out.safetensors")


def load(path):
    if path.endswith(".npz"):
        with numpy.load(path) as file:
            return {name: torch.from_numpy(file[name]) for name in file.files}
    return load_file(path)


def timed_run(args, case, call, files, threads, count):
    """The command that times so many calls; the results of the last one go to the second file."""
    source, target = files
    run = [args.binary, "run", case.operator, "--in", source, *call.options, "--threads", str(threads), "--level", args.level]
    return [*run, "--out", target, "--time", str(count), "--format", "json"]


def ours(*what):
    timed = subprocess.run(timed_run(*what), check=True, capture_output=True)
    return json.loads(timed.stdout)


def side_by_side(args, case, call, files, threads, count):
    """Time of a call when so many processes of one thread each make the same calls at the same time, over their number: threads that
    share one call have no more of the machine than these have."""
    folder, name = os.path.split(files[1])
    targets = [os.path.join(folder, f"{process}-{name}") for process in range(threads)]
    started = [
        subprocess.Popen(timed_run(args, case, call, (files[0], target), 1, count), stdout=subprocess.PIPE) for target in targets]
    reports = [json.loads(process.communicate()[0]) for process in started]
    return statistics.fmean(report["time_ms"]["median"] for report in reports) / threads


def streaming(args, case, files, threads):
    """The kernel beside its streaming bound, on the same buffers in turn."""
    level = [] if args.level == "auto" else ["--level", args.level]
    tensors = ["--in", files[0]] if files[0].endswith(".safetensors") else []
    run = [args.timing, "--threads", str(threads), "--seconds", str(args.budget), *level, *tensors]
    timed = subprocess.run([*run, f"{case.operator} {case.dtype} {case.name}"], check=True, capture_output=True)
    return json.loads(timed.stdout)


def agreement(result, expected):
    """Largest difference relative to the largest magnitude, over the outputs; infinite where one is NaN."""
    worst = 0.0
    for got, want in zip(result, expected, strict=True):
        wider = torch.complex128 if want.is_complex() else torch.float64
        got, want = got.to(wider).flatten(), want.to(wider).flatten()
        scale = want.abs().max().item() or 1.0
        difference = (got - want).abs().max().item() / scale
        worst = math.inf if math.isnan(difference) else max(worst, difference)
    return worst


def measure(args, case, call, expected, files, threads):
    """A row: one case with so many threads. PyTorch and ubtile take turns, so that what else the machine does meets both."""
    torch.set_num_threads(threads)
    forms = {"eager": call.eager, "out": call.into}
    if args.compile and case.compiles and call.compiled and threads == 1:
        # Else it counts all cases as one function with other arguments, and gives up after some.
        torch._dynamo.reset()
        forms["compile"] = call.compiled
    times, mine, beside = {form: [] for form in forms}, [], []
    for _ in range(args.rounds):
        for form, function in forms.items():
            times[form].append(median_ms(function, args.budget))
        count = max(LEAST, min(500, int(args.budget * 1e3 / min(times["eager"][-1], times["out"][-1]))))
        report = ours(args, case, call, files, threads, count)
        mine.append(report["time_ms"]["median"])
        if case.operator == GRID_SAMPLER and threads > 1:
            beside.append(side_by_side(args, case, call, files, threads, count))
    peers, mine = {form: min(rounds) for form, rounds in times.items()}, min(mine)
    best = min((time, form) for form, time in peers.items() if form != "compile")
    outputs = load(files[1])
    results = [outputs[name] for name in ("input_grad", "grid_grad", "out", "grad_input") if name in outputs]
    row = {
        "operator": case.operator, "group": case.group, "dtype": case.dtype, "case": case.name, "threads": threads,
        "peer": best[1], "peer_ms": best[0], "ours_ms": mine,
        "difference": agreement(results, expected), "workspace_bytes": report["workspace_bytes"], "level": report["level"],
        "bytes": sum(tensor.nbytes for tensor in [*call.inputs.values(), *results]),
    }
    if "compile" in peers:
        row["compile_ms"] = peers["compile"]
    if beside:
        row |= {"bound_ms": min(beside), "kernel_ms": mine}
    # The grid sampler reads more than once.
    if case.operator != GRID_SAMPLER:
        bound = streaming(args, case, files, threads)
        row |= {"bound_ms": bound["min_bound_ms"], "kernel_ms": bound["min_ms"]}
    return with_ratios(row)


def with_ratios(row):
    """The row with what its times say beside each other."""
    row["ratio"] = row["peer_ms"] / row["ours_ms"]
    if "compile_ms" in row:
        row["compile_ratio"] = row["compile_ms"] / row["ours_ms"]
    if "bound_ms" in row:
        row["of_bound"] = row["bound_ms"] / row["kernel_ms"]
        row["most_ratio"] = row["peer_ms"] / row["bound_ms"]
    return row


def fastest(first, second):
    """One row of two of the same case: the faster time of each side, of the bound's loops and of the kernel beside them."""
    row = first | {"difference": max(first["difference"], second["difference"])}
    for names in (("peer_ms", "peer"), ("ours_ms",), ("compile_ms",), ("bound_ms",), ("kernel_ms",)):
        if names[0] in first:
            faster = min((first, second), key=operator.itemgetter(names[0]))
            row |= {name: faster[name] for name in names}
    return with_ratios(row)


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def summary(rows):
    """Lines of operator, group and dtype: worst and geometric mean of what was measured."""
    print(f"\n{'operator':27} {'group':18} {'dtype':5} {'ratio':>13} {'compiled':>13} {'of the bound':>13} {'2 threads':>13} {'speedup':>7}")
    for key in sorted({(r["operator"], r["group"], r["dtype"]) for r in rows}):
        mine = [r for r in rows if (r["operator"], r["group"], r["dtype"]) == key]
        one = {r["case"]: r for r in mine if r["threads"] == 1}
        two = [r for r in mine if r["threads"] == 2]

        def pair(rows, name):
            values = [r[name] for r in rows if name in r]
            return f"{min(values):6.2f} {mean(values):6.2f}" if values else " " * 13

        # Above a millisecond threads must help, below they must not hurt.
        long = [one[r["case"]]["ours_ms"] / r["ours_ms"] for r in two if r["case"] in one and one[r["case"]]["ours_ms"] > 1]
        print(f"{key[0]:27} {key[1]:18} {key[2]:5} {pair(one.values(), 'ratio')} {pair(one.values(), 'compile_ratio')} "
              f"{pair(one.values(), 'of_bound')} {pair(two, 'ratio')} {f'{mean(long):7.2f}' if long else ''}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--timing", required=True, help="the example `timing` of the benches")
    parser.add_argument("--threads", type=int, nargs="*", default=[1], help="numbers of threads")
    parser.add_argument("--level", default="auto")
    parser.add_argument("--budget", type=float, default=0.2, help="seconds per measurement")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each, of which the fastest counts")
    parser.add_argument("--passes", type=int, default=1, help="times to go over all cases, of which the fastest counts too")
    parser.add_argument("--only", default="", help="run the cases whose operator, dtype and name match this regular expression")
    parser.add_argument("--compile", action="store_true", help="time torch.compile too (im2col)")
    parser.add_argument("--quick", action="store_true", help="a part of the cases, measured shortly, more threads for F32 and F16 alone")
    parser.add_argument("--random", type=int, help="so many cases drawn at random instead")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--json", help="write the rows here")
    args = parser.parse_args()
    if args.quick:
        args.budget = min(args.budget, 0.04)

    if args.random:
        cases = random_cases(args.random, args.seed)
    else:
        cases = quick(all_cases()) if args.quick else all_cases()
    cases = [c for c in cases if re.search(args.only, f"{c.operator} {c.dtype} {c.name}")]
    if not cases:
        sys.exit(f"no case matches --only {args.only}")
    print(f"PyTorch {torch.__version__}, {platform.processor() or platform.machine()}")
    print(f"{'case':66} {'threads':>7} {'peer ms':>9} {'ours ms':>9} {'ratio':>6} {'bound ms':>8} {'of it':>5} {'workspace':>10}")
    rows, failed, steps = {}, 0, args.passes * len(cases)
    # What slows a machine for a minute slows all rounds of a case, but not the next pass.
    for step, case in enumerate(case for _ in range(args.passes) for case in cases):
        call = case.call()
        expected = call.eager()
        expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        with tempfile.TemporaryDirectory() as folder:
            files = save(case, call, folder)
            numbers = [n for n in args.threads if n == 1 or not args.quick or case.dtype in ("f32", "f16")]
            measured = [measure(args, case, call, expected, files, threads) for threads in numbers]
        for row in measured:
            key = case.operator, case.dtype, case.name, row["threads"]
            row = rows[key] = fastest(rows[key], row) if key in rows else row
            wrong = "" if row["difference"] <= TOLERANCE.get(case.dtype, 0) else f"  DISAGREES by {row['difference']:.2g}"
            failed += bool(wrong)
            bound = f"{row['bound_ms']:8.3f} {row['of_bound']:5.2f}" if "bound_ms" in row else " " * 14
            print(f"{case.operator[:14] + ' ' + case.dtype + ' ' + case.name:66} {row['threads']:7} {row['peer_ms']:9.3f} "
                  f"{row['ours_ms']:9.3f} {row['ratio']:6.2f} {bound} {row['workspace_bytes']:10}{wrong}", flush=True)
        print(f"{step + 1} of {steps}", end="\r", file=sys.stderr)
    rows = list(rows.values())
    summary(rows)
    if args.json:
        about = {"torch": torch.__version__, "processor": processor(), "rounds": args.rounds, "passes": args.passes, "rows": rows}
        with open(args.json + ".tmp", "w") as file:
            json.dump(about, file, indent=1)
        os.replace(args.json + ".tmp", args.json)
    sys.exit(4 if failed else 0)


def processor():
    """Its name, where the system tells, and its family and model: under a hypervisor several have one name."""
    try:
        with open("/proc/cpuinfo") as file:
            entries = [line.partition(":") for line in file.read().split("\n\n")[0].splitlines()]
        known = {name.strip(): value.strip() for name, _, value in entries}
        return f"{known['model name']} (family {known['cpu family']}, model {known['model']})"
    except (OSError, KeyError):
        return platform.processor() or platform.machine()


main()
