"""Writes docs/performance.md and its plot from the rows of `compare.py --json`: `performance.py ROWS.json DOCS`."""

import json
import math
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

NAMES = {
    "grid-sampler-2d-backward": "GridSampler2DBackward", "im2col-backward": "Im2colBackward",
    "max-unpool2d-backward": "MaxUnpool2dBackward", "replication-pad2d-backward": "ReplicationPad2dBackward",
}
COLUMNS = (("ratio", 1), ("compile_ratio", 1), ("of_bound", 1), ("ratio", 2))


def pair(rows, name, threads):
    values = [r[name] for r in rows if r["threads"] == threads and name in r]
    return f"{min(values):.2f} / {math.exp(statistics.fmean(map(math.log, values))):.2f}" if values else ""


def speedup(rows):
    """Geometric mean of one thread's time over two threads' where one thread takes more than a millisecond."""
    one = {(r["dtype"], r["case"]): r["ours_ms"] for r in rows if r["threads"] == 1}
    two = [(one.get((r["dtype"], r["case"]), 0), r["ours_ms"]) for r in rows if r["threads"] == 2]
    values = [math.log(alone / both) for alone, both in two if alone > 1]
    return f"{math.exp(statistics.fmean(values)):.2f}" if values else ""


def table(rows):
    lines = ["| operator | shapes | dtype | cases | PyTorch / ours | torch.compile / ours | of the bound | 2 threads | speedup |",
             "|---|---|---|---|---|---|---|---|---|"]
    for key in sorted({(r["operator"], r["group"], r["dtype"]) for r in rows}):
        mine = [r for r in rows if (r["operator"], r["group"], r["dtype"]) == key]
        cases = len({r["case"] for r in mine})
        cells = [NAMES[key[0]], key[1], key[2], str(cases), *(pair(mine, *column) for column in COLUMNS), speedup(mine)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(rows, path):
    """Each case a dot: how many times as long PyTorch takes, over the bytes of the tensors."""
    operators = [operator for operator in NAMES if any(r["operator"] == operator and "bytes" in r for r in rows)]
    figure, axes = plt.subplots(1, len(operators), figsize=(4.2 * len(operators), 4), sharey=True, squeeze=False)
    dtypes = sorted({r["dtype"] for r in rows})
    colors = dict(zip(dtypes, plt.get_cmap("tab20").colors))
    for axis, operator in zip(axes[0], operators):
        for dtype in dtypes:
            mine = [r for r in rows if (r["operator"], r["dtype"], r["threads"]) == (operator, dtype, 1) and "bytes" in r]
            if mine:
                axis.scatter([r["bytes"] for r in mine], [r["ratio"] for r in mine], s=16, color=colors[dtype], label=dtype)
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set(xscale="log", yscale="log", title=NAMES[operator], xlabel="bytes of all tensors")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, ncols=2)
    axes[0][0].set_ylabel("PyTorch's time / ours, one thread")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main():
    about = json.loads(pathlib.Path(sys.argv[1]).read_text())
    docs, rows = pathlib.Path(sys.argv[2]), about["rows"]
    plot(rows, docs / "performance.svg")
    (docs / "performance.md").write_text(f"""# Performance

Measured by `benches/peers/performance`, which also wrote this page, on {about["processor"]} with PyTorch {about["torch"]}.

Pairs are the worst case and the geometric mean. *PyTorch / ours* is PyTorch's time (the better of its eager form and the one that
writes into ready outputs, median of many calls) over that of `ubtile run --time` on the same tensors, one thread each;
*torch.compile / ours* the same for the compiled function; *2 threads* the first again with two threads each. *Of the bound* is the time
of the best loop that reads the inputs once and writes the outputs once, over ours: both in turn on the same buffers, so in the caches
if these fit. *Speedup* is our time with one thread over that with two, geometric mean of the cases above a millisecond.

{table(rows)}

![PyTorch's time over ours, by the size of the tensors](performance.svg)
""")


main()
