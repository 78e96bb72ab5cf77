"""What needs no peer: dispatch, the build for this machine's processor, growing tensors, and doing without workspace.

`alone.py --timing BINARY --native BINARY --dispatch BINARY --json FILE`: the example `timing` of the benches as it is built by
default and for this processor, the example `dispatch`, and where the results go.
"""

import argparse
import json
import os
import subprocess

# A plane or an image of each, and how many of them make so many MiB.
MIB = (1, 4, 16, 64, 256, 1024)
GROWING = {
    "grid-sampler-2d-backward f32 {},64,64,64": 4 * (3 * 64 + 4) * 64 * 64,
    "max-unpool2d-backward f32 1,{},128,128 x2": (4 * 4 + 8 + 4) * 128 * 128,
    "replication-pad2d-backward f32 1,{},128,128 pad 1,1,1,1": 4 * (130 * 130 + 128 * 128),
    "im2col-backward f32 1,{},128,128 k3 s1 p1": 4 * (9 + 1) * 128 * 128,
}
BUILDS = [
    "grid-sampler-2d-backward f32 4,64,64,64", "grid-sampler-2d-backward f16 4,64,64,64", "grid-sampler-2d-backward f32 1,3,512,512",
    "grid-sampler-2d-backward f64 1,3,512,512", "max-unpool2d-backward f32 8,64,56,56 x2", "max-unpool2d-backward f16 16,512,7,7 x2",
    "replication-pad2d-backward f32 8,64,56,56 pad 1,1,1,1", "replication-pad2d-backward f16 16,512,7,7 pad 2,2,2,2",
    "im2col-backward f32 8,64,56,56 k3 s1 p1", "im2col-backward bf16 8,64,56,56 k3 s2 p1", "im2col-backward f64 16,128,14,14 k3 s1 p1",
]
# Sums of F16 have no other room than the stack then, so a grid is passed over for every 64 of them: a small case.
WORKSPACE = [
    "grid-sampler-2d-backward f32 4,64,64,64", "grid-sampler-2d-backward f32 2,32,256,256",
    "grid-sampler-2d-backward f32 1,3,512,512", "grid-sampler-2d-backward f16 4,16,14,14",
    "max-unpool2d-backward f32 1,64,56,56 x2 in=transposed", "replication-pad2d-backward f32 8,64,56,56 pad 1,1,1,1 in=channels-last",
    "im2col-backward f32 8,3,224,224 k16 s16 in=channels-last",
]


def timing(binary, case, seconds, *options):
    timed = subprocess.run([binary, "--seconds", str(seconds), *options, case], check=True, capture_output=True)
    return json.loads(timed.stdout)


def fastest(variants, case, rounds=7, seconds=0.1):
    """The fastest call of each variant, which take turns: each is a binary and its options."""
    runs = [[timing(binary, case, seconds, *options) for binary, *options in variants] for _ in range(rounds)]
    return [min(rows, key=lambda row: row["min_ms"]) for rows in zip(*runs)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("timing", "native", "dispatch", "json"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()

    lines = subprocess.run([args.dispatch], check=True, capture_output=True, text=True).stdout.splitlines()
    found = {"dispatch": [json.loads(line) for line in lines], "builds": [], "growing": [], "workspace": []}
    for case in BUILDS:
        default, native = fastest([(args.timing,), (args.native,)], case)
        found["builds"].append({"case": case, "ms": default["min_ms"], "native_ms": native["min_ms"]})
    for case in WORKSPACE:
        free, without = fastest([(args.timing,), (args.timing, "--workspace-limit", "0")], case, seconds=0.05)
        found["workspace"].append(
            {"case": case, "ms": free["min_ms"], "bytes": free["workspace_bytes"], "without_ms": without["min_ms"]})
    for name, each in GROWING.items():
        # Two sizes may be one image each.
        for case in dict.fromkeys(name.format(max(1, round(mib * 2**20 / each))) for mib in MIB):
            [row] = fastest([(args.timing,)], case, rounds=3)
            found["growing"].append({"case": case, "operator": name.split()[0], "bytes": row["bytes"], "ms": row["min_ms"],
                                     "bound_ms": row["min_bound_ms"]})
    with open(args.json + ".tmp", "w") as file:
        json.dump(found, file, indent=1)
    os.replace(args.json + ".tmp", args.json)


main()
