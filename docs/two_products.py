#!/usr/bin/env python3
"""Reads the profiler tables of two runs and plots them side by side.

    ubtile sim replication-pad2d-backward --shape grad_output=2,16,58,58 --padding 1,1,1,1 --soc Ascend910B1 --output b1
    ubtile sim replication-pad2d-backward --shape grad_output=2,16,58,58 --padding 1,1,1,1 --soc Ascend310P3 --output p3
    python3 docs/two_products.py b1 p3 two_products.svg

The folders are those of `--output`, or of the vendor's profiler (OPPROF_*): the names in the tables are the same.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

PIPES = {"vec": "vector", "scalar": "scalar", "mte2": "loads (MTE2)", "mte3": "stores (MTE3)"}


def table(folder, name):
    """A table of a run. Its columns begin with aiv_ where vector cores are cores of their own, with aic_ elsewhere."""
    roots = sorted(path for path in folder.glob("OPPROF_*") if path.is_dir())
    if len(roots) > 1:
        names = ", ".join(path.name for path in roots)
        sys.exit(f"{folder}: has {len(roots)} profiles ({names}): name the folder of one of them")
    root = roots[0] if roots else folder
    # The vendor's names end with a time; `MemoryUB` is another table than `Memory`.
    found = [*root.glob(f"{name}.csv"), *sorted(root.glob(f"{name}_*.csv"))]
    if not found:
        sys.exit(f"{root}: no {name}.csv and no {name}_*.csv")
    frame = pd.read_csv(found[0], na_values="NA")
    prefix = "aiv_" if any(column.startswith("aiv_") for column in frame.columns) else "aic_"
    return frame.rename(columns=lambda column: column.removeprefix(prefix))


def run(folder):
    """What is compared of a run."""
    basic, pipes, memory = (table(folder, name) for name in ["OpBasicInfo", "PipeUtilization", "Memory"])
    busy = pd.Series({name: pipes[f"{pipe}_time(us)"].mean() for pipe, name in PIPES.items()})
    moved = {
        "asked to read": memory["GM_to_UB_datas(KB)"].sum() / 1024,
        "asked to write": memory["UB_to_GM_datas(KB)"].sum() / 1024,
        "main memory read": memory["read_main_memory_datas(KB)"].sum() / 1024,
        "main memory written": memory["write_main_memory_datas(KB)"].sum() / 1024,
    }
    return {
        "duration": basic["Task Duration(us)"].iloc[0],
        "cores": int(basic["Block Dim"].iloc[0]),
        "time": pipes["time(us)"].mean(),
        "busy": busy,
        "moved": pd.Series(moved),
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folders, picture = [Path(word) for word in sys.argv[1:3]], sys.argv[3]
    runs = {folder.name: run(folder) for folder in folders}
    if len(runs) < 2:
        sys.exit("the folders need different names")
    busy = pd.DataFrame({name: of["busy"] for name, of in runs.items()})
    moved = pd.DataFrame({name: of["moved"] for name, of in runs.items()})
    print(pd.DataFrame({name: {"task us": of["duration"], "cores": of["cores"], "core us": of["time"]}
                        for name, of in runs.items()}).round(2).to_string())
    print()
    print(busy.round(2).to_string())
    print()
    print(moved.round(3).to_string())

    left_title = ", ".join(f"{name}: {of['duration']:.1f} us on {of['cores']} cores" for name, of in runs.items())
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    figure.suptitle(left_title, fontsize=11)
    for axes, frame, label in [(left, busy, "busy, mean of cores, us"), (right, moved, "MiB")]:
        frame.plot.barh(ax=axes, width=0.75, color=["#3b6ea8", "#d58a3c"], legend=axes is left)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        for bars in axes.containers:
            axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
        axes.margins(x=0.15)
    figure.savefig(picture)


if __name__ == "__main__":
    main()
