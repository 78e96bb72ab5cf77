"""Times ubtile and PyTorch on tensors that are not contiguous, and prints the table of docs/strides.md.

`strides.py --timing BINARY`: the example `timing` of the benches, which plans for the strides of each layout; PyTorch gets tensors of
the same shapes and strides, in its eager form and in the one that writes into ready outputs. They take turns, a round the median of many
calls, and the fastest round of each counts.
"""

import argparse
import json
import subprocess

import torch

from stopwatch import median_ms

aten = torch.ops.aten
DTYPES = {"f32": torch.float32, "f16": torch.float16}
CASES = [
    ("im2col-backward", (8, 64, 56, 56), "k3 s1 p1"),
    ("im2col-backward", (1, 8, 512, 512), "k3 s1 p1"),
    ("im2col-backward", (8, 3, 224, 224), "k16 s16"),
    ("replication-pad2d-backward", (8, 64, 56, 56), "pad 1,1,1,1"),
    ("replication-pad2d-backward", (1, 8, 512, 512), "pad 3,3,3,3"),
    ("max-unpool2d-backward", (8, 64, 56, 56), "x2"),
    ("max-unpool2d-backward", (1, 8, 512, 512), "x2"),
    ("grid-sampler-2d-backward", (8, 64, 56, 56), ""),
    ("grid-sampler-2d-backward", (1, 3, 512, 512), ""),
]
# How a tensor lies: the first dimension in memory first. Of three dimensions, the last two change places either way.
ORDERS = {"channels-last": (0, 2, 3, 1), "transposed": (0, 1, 3, 2)}
# Layouts of the inputs and of the outputs.
LAYOUTS = [("contiguous", "contiguous"), ("transposed", "contiguous"), ("channels-last", "contiguous"),
           ("channels-last", "channels-last"), ("spread", "contiguous")]


def laid_out(tensor, layout):
    if layout == "spread":
        wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1]))
        wide[..., ::2] = tensor
        return wide[..., ::2]
    if layout == "contiguous":
        return tensor.contiguous()
    order = ORDERS[layout] if tensor.dim() == 4 else (0, 2, 1)
    back = [order.index(dim) for dim in range(tensor.dim())]
    return tensor.permute(order).contiguous().permute(back)


def numbers(words, start):
    [word] = [word for word in words if word.startswith(start)]
    return int(word.removeprefix(start))


def peer(operator, shape, attributes, dtype, layout, out_layout):
    """PyTorch's calls, or none: it has no grid sampler for F16 that is safe to call. In the eager form it lays the output of padding out as
    `self`, all others without gaps."""
    n, c, h, w = shape
    words = attributes.split()
    rand = lambda *sizes: laid_out(torch.rand(sizes).to(dtype), layout)
    out = laid_out(torch.empty(shape, dtype=dtype), out_layout)
    if operator == "im2col-backward":
        k, s, p = numbers(words, "k"), numbers(words, "s"), numbers([*words, "p0"][:3], "p")
        lh, lw = ((e + 2 * p - k) // s + 1 for e in (h, w))
        go = rand(n, c * k * k, lh * lw)
        sizes = [h, w], [k, k], [1, 1], [p, p], [s, s]
        return [lambda: aten.col2im(go, *sizes), lambda: aten.col2im.out(go, *sizes, out=out)]
    if operator == "replication-pad2d-backward":
        pads = [int(pad) for pad in words[1].split(",")]
        go, x = rand(n, c, h + pads[2] + pads[3], w + pads[0] + pads[1]), laid_out(torch.rand(shape).to(dtype), out_layout)
        return [lambda: aten.replication_pad2d_backward(go, x, pads),
                lambda: aten.replication_pad2d_backward.grad_input(go, x, pads, grad_input=out)]
    if operator == "max-unpool2d-backward":
        factor = numbers(words, "x")
        go = rand(n, c, h * factor, w * factor)
        _, indices = torch.nn.functional.max_pool2d(torch.rand(go.shape), factor, return_indices=True)
        indices = laid_out(indices, layout)
        if layout == "transposed":
            # Rows that are no line in memory are no dimension that `gather` could pick from.
            return []
        flat = [tensor.flatten(2) for tensor in (go, indices)]
        assert all(line.data_ptr() == tensor.data_ptr() for line, tensor in zip(flat, (go, indices)))
        return [lambda: torch.gather(flat[0], 2, flat[1]), lambda: torch.gather(flat[0], 2, flat[1], out=out.flatten(2))]
    theta = torch.tensor([[0.95, 0.08, 0.02], [-0.06, 0.97, -0.03]]).repeat(n, 1, 1)
    grid = torch.nn.functional.affine_grid(theta, shape, align_corners=False)
    go, x, rest = rand(*shape), rand(*shape), (0, 0, False, [True, True])
    if dtype != torch.float32:
        return []
    grid_grad = torch.empty_like(grid)
    return [lambda: aten.grid_sampler_2d_backward(go, x, grid, *rest),
            lambda: aten.grid_sampler_2d_backward.out(go, x, grid, *rest, out0=out, out1=grid_grad)]


def cell(args, name, calls, layout, out_layout):
    case = f"{name} " + (f"in={layout} " if layout != "contiguous" else "") + (f"out={out_layout}" if out_layout != "contiguous" else "")
    mine, theirs = [], []
    for _ in range(args.rounds):
        timed = subprocess.run([args.timing, "--seconds", str(args.budget), case], check=True, capture_output=True)
        mine.append(json.loads(timed.stdout))
        theirs.extend(median_ms(call, args.budget) for call in calls)
    best = min(row["ms"] for row in mine)
    copies = "*" if mine[0]["workspace_bytes"] and "grid" not in name else ""
    return f"{best:.2f}{copies}" + (f" ({min(theirs) / best:.1f})" if theirs else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--timing", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.3, help="seconds of a round")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print("| case | contiguous | transposed | channels-last | channels-last, outputs too | spread |\n|---|---|---|---|---|---|", flush=True)
    for operator, shape, attributes in CASES:
        for dtype, torch_dtype in DTYPES.items():
            name = f"{operator} {dtype} {','.join(map(str, shape))} {attributes}".strip()
            cells = [cell(args, name, peer(operator, shape, attributes, torch_dtype, *layouts), *layouts) for layouts in LAYOUTS]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


main()
