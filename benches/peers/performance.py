"""Writes docs/performance.md, or a page of another machine beside it, and its plots from the rows of `compare.py --json` and of
`alone.py`: `performance.py ROWS.json ALONE.json PAGE.md [OTHERS.json]`. With OTHERS, rows of the same machine, those of cases that
ROWS lacks are added to ROWS.json first."""

import json
import math
import pathlib
import statistics
import sys

import matplotlib

from cases import all_cases

matplotlib.use("svg")
import matplotlib.pyplot as plt

NAMES = {
    "grid-sampler-2d-backward": "GridSampler2DBackward", "im2col-backward": "Im2colBackward",
    "max-unpool2d-backward": "MaxUnpool2dBackward", "replication-pad2d-backward": "ReplicationPad2dBackward",
}
COLUMNS = (("ratio", 1), ("compile_ratio", 1), ("ratio", 2))

COLUMNS_MEAN = """Pairs are the worst case and the geometric mean. *PyTorch / ours* is PyTorch's time (the better of its eager form and the one that
writes into ready outputs) over that of `ubtile run --time` on the same tensors, one thread each: each the fastest of {rounds} rounds in
turn in each of {passes} over all cases, a round the median of seven calls or more. For max unpooling PyTorch's is `gather`, for
F16 and BF16 grids its F32 call between casts, as its own ends the process where inputs are large;
*torch.compile / ours* the same for the compiled function, of {compiled} im2col cases; *2 threads* the first again with two threads each. Of the cases above a
millisecond, *speedup* is our time with one thread over that with two, and the last column what two threads reach of their bound, as no
machine has all of a cache or of memory twice: the streaming bound of two threads, for the grid sampler half the time of a call with one
thread while another process does the same."""
BOUND = """The time of the best loop that reads the inputs once and writes the outputs once, over ours, one thread: both in turn on the same buffers,
so in a cache if these fit one. Worst case and geometric mean, by the smallest cache that holds all tensors; the last one is shared with
whatever else runs."""
WITHIN_CACHES = """Beyond the caches memory decides. Within them instructions do: an element of max unpooling takes the loads of its index and of its cell, a
comparison and a store, however few bytes it has; a term of im2col in F16 or BF16 is widened first; a row of a small padded plane has an
end on either side that is summed by itself. Planes of 7x7 alone take less time than the call does."""
BUILDS = "The default build picks its instructions when it runs; the other is built with `-C target-cpu=native`. Fastest call of each, taking turns."
LEVELS = """AVX-512 is used where it gains 10 %. In im2col that is with AMD's processors from Zen 4 on, of Zen 4 in F16 and BF16 alone (1.17 times as
fast in the mean of 17 cases, 0.75 for a single plane of 7x7, else 0.95 to 1.6; F32 and F64 1.02 of 26), and with Intel's from Sapphire
Rapids on, which AVX512-FP16 tells, or the model where a hypervisor hides that. There and with Zen 5 it is, beside AVX2 (the example `timing` of `benches`, `--level`), 0.9 to 1.7 times as fast in F16 and BF16 (on such a Xeon 1.19 in the
mean of 38 cases), 0.9 to 1.4 times in F32 and F64, where a plane has more cells than eight vectors of 32 bytes and memory is not all that
is waited for. The 0.9 are tensors that no cache holds, and a single plane of 7x7 on the Xeon. In the grid sampler it is with these Xeons (`ubtile run --level`): one to four channels 1.0 to
1.7 times as fast (1.2 in the mean of 72 cases), more 0.9 to 1.3 times (1.07 of 96), bicubic sampling in F64 alone, of 64 channels (1.1).
Zen 4 gains nothing there (0.9 to 1.4 times as fast, 1.02 in the mean of 22 cases), Zen 5 was not asked, and other processors nowhere: for
them the level has to be asked for (`--level avx512`). Padding took 0.8 to 1.5 of the time with it; vectors of eight lanes with its
registers, twice as many, took 0.9 to 1.1."""


def columns_mean(about):
    compiled = sum("compile_ratio" in r for r in about["rows"])
    passes = "one pass" if about["passes"] == 1 else f"{about['passes']} passes"
    return COLUMNS_MEAN.format(compiled=compiled, rounds=about["rounds"], passes=passes)


def pair(rows, name, threads):
    values = [r[name] for r in rows if r["threads"] == threads and name in r]
    return f"{min(values):.2f} / {math.exp(statistics.fmean(map(math.log, values))):.2f}" if values else ""


def two_threads(rows):
    """Of cases that take one thread more than a millisecond, worst and mean: its time over two threads', and what these reach of
    their bound."""
    one = {(r["dtype"], r["case"]): r["ours_ms"] for r in rows if r["threads"] == 1}
    long = [(r, one.get((r["dtype"], r["case"]), 0)) for r in rows if r["threads"] == 2]
    long = [r | {"speedup": alone / r["ours_ms"]} for r, alone in long if alone > 1]
    return pair(long, "speedup", 2), pair(long, "of_bound", 2)


def table(rows):
    lines = ["| operator | shapes | dtype | cases | PyTorch / ours | torch.compile / ours | 2 threads | speedup | of 2 threads' bound |",
             "|---|---|---|---|---|---|---|---|---|"]
    for key in sorted({(r["operator"], r["group"], r["dtype"]) for r in rows}):
        mine = [r for r in rows if (r["operator"], r["group"], r["dtype"]) == key]
        cases = len({r["case"] for r in mine})
        cells = [NAMES[key[0]], key[1], key[2], str(cases), *(pair(mine, *column) for column in COLUMNS), *two_threads(mine)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(rows, path):
    """Each case a dot: how many times as long PyTorch takes, over the bytes of the tensors."""
    operators = [operator for operator in NAMES if any(r["operator"] == operator for r in rows)]
    figure, axes = plt.subplots(1, len(operators), figsize=(4.2 * len(operators), 4), sharey=True, squeeze=False, layout="constrained")
    dtypes = sorted({r["dtype"] for r in rows})
    colors = dict(zip(dtypes, plt.get_cmap("tab20").colors))
    for axis, operator in zip(axes[0], operators):
        for dtype in dtypes:
            mine = [r for r in rows if (r["operator"], r["dtype"], r["threads"]) == (operator, dtype, 1)]
            if mine:
                axis.scatter([r["bytes"] for r in mine], [r["ratio"] for r in mine], s=16, color=colors[dtype], label=dtype)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set(xscale="log", yscale="log", title=NAMES[operator], xlabel="bytes of all tensors")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("PyTorch's time / ours, one thread")
    # One for all, below them: above dots it would hide some.
    handles = {label: handle for axis in axes[0] for handle, label in zip(*axis.get_legend_handles_labels())}
    handles = dict(sorted(handles.items()))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles))
    figure.savefig(path, metadata={"Date": None})


def lines(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in rows)])


def dispatch(found):
    return lines(("operator", "check, ns", "plan, ns", "check, plan and run, ns"), [
        (NAMES[r["operator"]], *(f"{r[name]:.0f}" for name in ("check_ns", "plan_ns", "whole_ns"))) for r in found])


def builds(found):
    return lines(("case", "default, ms", "for this processor, ms", "default / native"), [
        (r["case"], f"{r['ms']:.4f}", f"{r['native_ms']:.4f}", f"{r['ms'] / r['native_ms']:.2f}") for r in found])


def workspace(found):
    return lines(("case", "workspace, bytes", "ms", "without any, ms", "factor"), [
        (r["case"], str(r["bytes"]), f"{r['ms']:.3f}", f"{r['without_ms']:.3f}", f"{r['without_ms'] / r['ms']:.2f}")
        for r in found])


def growing(found):
    return lines(("case", "MiB", "ms", "ps a byte", "of the bound"), [
        (r["case"], f"{r['bytes'] / 2**20:.0f}", f"{r['ms']:.3f}", f"{r['ms'] * 1e9 / r['bytes']:.1f}",
         f"{r['bound_ms'] / r['ms']:.2f}" if "grid" not in r["operator"] else "") for r in found])


def plot_growing(found, path):
    """Time a byte over bytes, one line an operator."""
    figure, axis = plt.subplots(figsize=(7, 4))
    for operator in dict.fromkeys(r["operator"] for r in found):
        mine = [r for r in found if r["operator"] == operator]
        axis.plot([r["bytes"] for r in mine], [r["ms"] * 1e9 / r["bytes"] for r in mine], marker="o", label=NAMES[operator])
    axis.set(xscale="log", yscale="log", xlabel="bytes of all tensors", ylabel="picoseconds a byte, one thread")
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def with_others(about, others):
    """The rows, and of the other ones those of cases that are not among them."""
    if any(about[name] != others[name] for name in ("processor", "torch")):
        sys.exit("the other rows were measured on another processor or with another PyTorch")
    key = lambda r: (r["operator"], r["group"], r["dtype"], r["case"], r["threads"])
    new = {key(r): r for r in about["rows"]}
    old = {key(r): r for r in others["rows"]}
    cases = {(case.operator, case.group, case.dtype, case.name) for case in all_cases()}
    # In the place of the old ones, so that the order stays that of the cases; some of them may have gone since.
    return [new.get(k, r) for k, r in old.items() if k[:4] in cases] + [r for k, r in new.items() if k not in old]


def main():
    about, alone = (json.loads(pathlib.Path(name).read_text()) for name in sys.argv[1:3])
    if sys.argv[4:]:
        about["rows"] = with_others(about, json.loads(pathlib.Path(sys.argv[4]).read_text()))
        pathlib.Path(sys.argv[1]).write_text(json.dumps(about))
    page, rows = pathlib.Path(sys.argv[3]), about["rows"]
    dots, growth = (page.with_name(page.stem + end) for end in (".svg", "-growing.svg"))
    plot(rows, dots)
    plot_growing(alone["growing"], growth)
    levels = ", ".join(f"level {level} {size >> 10}K" for level, size in caches()) or "unknown"
    # What holds for all machines is on the first page alone.
    first = page.with_name("performance.md")
    if page == first:
        others = ", ".join(f"[{path.stem}]({path.name})" for path in sorted(page.parent.glob(f"{first.stem}-*.md")))
        title, about_columns = "Performance", [*([f"On other machines: {others}."] if others else []), columns_mean(about)]
    else:
        title = f"Performance: {page.stem.removeprefix(first.stem + '-')}"
        about_columns = [f"[Performance]({first.name}) says what the columns mean, and has the machine that most was tuned on."]
    once = lambda text: [text] if page == first else []
    parts = [
        f"# {title}",
        f"Measured by `benches/peers/performance`, which also wrote this page, on {about['processor']} with PyTorch {about['torch']}.",
        *remarks(page),
        *about_columns,
        table(rows),
        f"![PyTorch's time over ours, by the size of the tensors]({dots.name})",
        "## The slowest cases beside PyTorch",
        slowest(rows),
        "## Of the streaming bound",
        *once(BOUND),
        f"Caches of this machine: {levels}.",
        bounds(rows),
        *once(WITHIN_CACHES),
        "## Calls with nothing to compute",
        "The smallest case of each operator, the level already detected; the fastest of many rounds.",
        dispatch(alone["dispatch"]),
        "## The default build",
        BUILDS,
        builds(alone["builds"]),
        *once(LEVELS),
        "## Growing tensors",
        "More planes or images of the same size.",
        growing(alone["growing"]),
        f"![Time a byte by the size of the tensors]({growth.name})",
        "## Workspace",
        "What the plan asks for when it may have all it likes, and what `workspace_limit` 0 costs.",
        workspace(alone["workspace"]),
    ]
    page.write_text("\n\n".join(parts) + "\n")


def remarks(page):
    """What is to be known of the machine and its runs, from a file of the page's name beside this one."""
    path = pathlib.Path(__file__).with_name(page.name)
    return [path.read_text().strip()] if path.exists() else []


def slowest(rows, count=12):
    found = sorted((r for r in rows if r["threads"] == 1), key=lambda r: r["ratio"])[:count]
    return lines(("case", "PyTorch, ms", "ours, ms", "ratio", "workspace, bytes"), [
        (f"{r['operator']} {r['dtype']} {r['case']}", f"{r['peer_ms']:.4f}", f"{r['ours_ms']:.4f}", f"{r['ratio']:.2f}",
         str(r["workspace_bytes"])) for r in found])


def caches():
    """Levels and bytes of those that hold data, smallest first, where the system tells."""
    found = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append((int(level), int(size.removesuffix("K")) << 10))
    return sorted(found)


def bounds(rows):
    """Worst and mean part of the streaming bound, by the cache that all tensors fit; level 1, which few do, counts as level 2."""
    rows = [r for r in rows if r["threads"] == 1 and "of_bound" in r]
    limits = [(f"level {level}", size) for level, size in caches() if level > 1] + [("beyond", math.inf)]
    place = lambda r: next(name for name, size in limits if r["bytes"] <= size)
    return lines(("operator", "dtype", *(name for name, _ in limits)), [
        (NAMES[operator], dtype, *(pair([r for r in rows if (r["operator"], r["dtype"], place(r)) == (operator, dtype, name)],
                                        "of_bound", 1) for name, _ in limits))
        for operator, dtype in sorted({(r["operator"], r["dtype"]) for r in rows})])


main()
