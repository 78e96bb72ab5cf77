"""The cases of the comparison: what each operator runs on, ours and PyTorch's way.

A case is (operator, dtype, name, make). `make(generator)` gives the input tensors by ubtile's names, ubtile's options, and
PyTorch's call in its eager form and in the form that writes into ready outputs. Except for the grid sampler, operator, dtype
and name together are what the example `timing` of the benches understands.
"""

import math
import random
from dataclasses import dataclass
from typing import Callable

import torch

aten = torch.ops.aten
DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "c64": torch.complex64,
    "c128": torch.complex128, "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
}


@dataclass
class Call:
    inputs: dict
    options: list
    eager: Callable
    into: Callable
    compiled: Callable | None = None


@dataclass
class Case:
    operator: str
    group: str
    dtype: str
    name: str
    make: Callable
    # Whether `torch.compile` is timed, which takes some seconds a case.
    compiles: bool = True

    def call(self) -> Call:
        return self.make(DTYPES[self.dtype], torch.Generator().manual_seed(7))


def values(shape, dtype, generator):
    if dtype.is_complex:
        parts = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.complex(*(torch.randn(shape, generator=generator, dtype=parts) for _ in range(2)))
    if dtype == torch.uint8:
        return torch.randint(0, 200, shape, generator=generator).to(dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-100, 100, shape, generator=generator).to(dtype)


def grid_sampler(n, c, h, w, ho, wo, smooth, mode="bilinear", padding="zeros"):
    def make(dtype, generator):
        go, x = values((n, c, ho, wo), dtype, generator), values((n, c, h, w), dtype, generator)
        if smooth:
            theta = torch.tensor([[0.95, 0.08, 0.02], [-0.06, 0.97, -0.03]]).repeat(n, 1, 1)
            grid = torch.nn.functional.affine_grid(theta, (n, c, ho, wo), align_corners=False)
        else:
            grid = torch.rand((n, ho, wo, 2), generator=generator) * 2.2 - 1.1
        grid = grid.to(dtype).contiguous()
        i, p = ["bilinear", "nearest", "bicubic"].index(mode), ["zeros", "border", "reflection"].index(padding)
        dx, dg = torch.empty_like(x), torch.empty_like(grid)

        def half_by_f32():
            # The kernel for halves aborts on large inputs; casts around the f32 call do not.
            a, b = aten.grid_sampler_2d_backward(go.float(), x.float(), grid.float(), i, p, False, [True, True])
            return a.to(dtype), b.to(dtype)

        def eager():
            return aten.grid_sampler_2d_backward(go, x, grid, i, p, False, [True, True])

        def into():
            return aten.grid_sampler_2d_backward.out(go, x, grid, i, p, False, [True, True], out0=dx, out1=dg)

        if dtype in (torch.float16, torch.bfloat16):
            eager = into = half_by_f32
        return Call(
            {"grad_output": go, "input": x, "grid": grid},
            ["--interpolation", mode, "--padding-mode", padding],
            eager,
            into,
        )

    return make


def max_unpool(n, c, h, w, factor):
    def make(dtype, generator):
        oh, ow = h * factor, w * factor
        go = values((n, c, oh, ow), dtype, generator)
        y = torch.arange(h).view(1, 1, h, 1) * factor + torch.randint(0, factor, (n, c, h, w), generator=generator)
        x = torch.arange(w).view(1, 1, 1, w) * factor + torch.randint(0, factor, (n, c, h, w), generator=generator)
        indices = (y * ow + x).contiguous()
        flat, positions = go.view(n, c, oh * ow), indices.view(n, c, h * w)
        out = torch.empty((n, c, h * w), dtype=dtype)
        return Call(
            {"grad_output": go, "indices": indices},
            [],
            lambda: torch.gather(flat, 2, positions),
            lambda: torch.gather(flat, 2, positions, out=out),
        )

    return make


def replication_pad(n, c, h, w, left, right, top, bottom):
    def make(dtype, generator):
        go = values((n, c, h + top + bottom, w + left + right), dtype, generator)
        x = torch.empty((n, c, h, w), dtype=dtype)
        pads = [left, right, top, bottom]
        out = torch.empty_like(x)
        return Call(
            {"grad_output": go},
            ["--padding", ",".join(map(str, pads))],
            lambda: aten.replication_pad2d_backward(go, x, pads),
            lambda: aten.replication_pad2d_backward.grad_input(go, x, pads, grad_input=out),
        )

    return make


def im2col(n, c, h, w, k, s=1, p=0, d=1):
    def make(dtype, generator):
        lh, lw = ((e + 2 * p - d * (k - 1) - 1) // s + 1 for e in (h, w))
        go = values((n, c * k * k, lh * lw), dtype, generator)
        out = torch.empty((n, c, h, w), dtype=dtype)
        args = ([h, w], [k, k], [d, d], [p, p], [s, s])
        compiled = torch.compile(lambda t: aten.col2im(t, *args), dynamic=False)
        option = lambda name, v: [f"--{name}", f"{v},{v}"]
        return Call(
            {"grad_output": go},
            ["--input-size", f"{h},{w}", *option("kernel-size", k), *option("dilation", d), *option("padding", p)]
            + option("stride", s),
            lambda: aten.col2im(go, *args),
            lambda: aten.col2im.out(go, *args, out=out),
            lambda: compiled(go),
        )

    return make


def all_cases():
    cases = []

    def add(operator, group, dtypes, name, make):
        cases.extend(Case(operator, group, dtype, name, make) for dtype in dtypes)

    floats = ["f32", "f64", "f16", "bf16"]
    gs = "grid-sampler-2d-backward"
    # (N, C, Hi, Wi, Ho, Wo): classification, detection, segmentation, flow, super-resolution, and sizes that are multiples of nothing.
    wide = [(4, 64, 64, 64), (8, 256, 32, 32), (2, 32, 256, 256), (32, 8, 28, 28), (1, 64, 127, 131), (1, 256, 7, 7),
            (32, 512, 7, 7), (16, 24, 56, 56), (1, 19, 512, 1024), (3, 9, 111, 73), (1, 12, 113, 97, 226, 194),
            (2, 72, 45, 60)]
    few = [(1, 1, 700, 500), (1, 3, 512, 512), (4, 2, 256, 320), (32, 1, 28, 28), (2, 4, 1024, 1024),
           (8, 3, 224, 224), (1, 2, 436, 1024), (1, 3, 180, 320, 720, 1280), (5, 3, 67, 101), (32, 4, 7, 7), (1, 1, 33, 47)]
    for group, shapes in (("8 channels or more", wide), ("1-4 channels", few)):
        for n, c, h, w, *points in shapes:
            ho, wo = points or (h, w)
            size = f"({n},{c},{h},{w})" + (f" at {ho}x{wo}" if points else "")
            for smooth in (True, False):
                name = f"{size} {'smooth' if smooth else 'random'}"
                add(gs, group, floats, name, grid_sampler(n, c, h, w, ho, wo, smooth))
    modes = [("nearest", "zeros"), ("nearest", "border"), ("bicubic", "zeros"), ("bicubic", "border"), ("bicubic", "reflection"),
             ("bilinear", "border"), ("bilinear", "reflection")]
    for mode, padding in modes:
        for smooth in (True, False):
            name = f"{mode} {padding} {'smooth' if smooth else 'random'}"
            add(gs, "8 channels or more", floats, f"(4,64,64,64) {name}",
                grid_sampler(4, 64, 64, 64, 64, 64, smooth, mode, padding))
            add(gs, "1-4 channels", floats, f"(1,3,512,512) {name}",
                grid_sampler(1, 3, 512, 512, 512, 512, smooth, mode, padding))
    # Classification, detection, segmentation, flow and super-resolution; sizes that are multiples of nothing among them.
    integers = ["i8", "u8", "i16", "i32", "i64"]
    for n, c, h, w, f in ((1, 1, 7, 7, 2), (16, 512, 7, 7, 2), (32, 64, 14, 14, 3), (8, 128, 28, 28, 2), (8, 64, 56, 56, 2),
                          (32, 16, 112, 112, 2), (1, 64, 113, 113, 2), (1, 256, 25, 34, 2), (4, 96, 31, 45, 2),
                          (2, 64, 256, 256, 2), (1, 16, 512, 512, 2), (1, 3, 341, 257, 3)):
        add("max-unpool2d-backward", "all", [*floats, *integers], f"{n},{c},{h},{w} x{f}", max_unpool(n, c, h, w, f))
    for n, c, h, w, *pads in ((1, 1, 7, 7, 1, 1, 1, 1), (16, 512, 7, 7, 2, 2, 2, 2), (32, 256, 14, 14, 1, 1, 1, 1),
                              (16, 64, 28, 28, 8, 8, 8, 8), (8, 64, 56, 56, 1, 1, 1, 1), (32, 3, 224, 224, 3, 3, 3, 3),
                              (2, 256, 25, 34, 1, 1, 1, 1), (4, 64, 97, 61, 2, 1, 3, 2), (4, 64, 127, 131, 3, 3, 3, 3),
                              (1, 64, 135, 240, 1, 1, 1, 1), (1, 32, 436, 1024, 4, 4, 4, 4), (1, 64, 512, 512, 1, 2, 3, 4),
                              (1, 3, 1024, 1024, 8, 8, 8, 8)):
        name = f"{n},{c},{h},{w} pad {','.join(map(str, pads))}"
        add("replication-pad2d-backward", "all", [*floats, "c64", "c128"], name, replication_pad(n, c, h, w, *pads))
    for n, c, h, w, k, s, p, d in ((1, 1, 7, 7, 3, 1, 1, 1), (32, 64, 7, 7, 3, 1, 1, 1), (16, 128, 14, 14, 3, 1, 1, 1),
                                   (16, 64, 28, 28, 5, 1, 2, 1), (8, 64, 56, 56, 3, 1, 1, 1), (8, 64, 56, 56, 3, 2, 1, 1),
                                   (8, 32, 112, 112, 3, 2, 1, 1), (32, 3, 224, 224, 7, 2, 3, 1), (1, 32, 224, 224, 5, 1, 2, 1),
                                   (4, 256, 25, 34, 3, 1, 1, 1), (1, 64, 64, 64, 3, 1, 2, 2), (2, 32, 113, 97, 2, 2, 0, 1),
                                   (2, 64, 97, 61, 5, 3, 2, 1), (4, 16, 128, 128, 7, 2, 3, 1), (1, 64, 135, 240, 3, 1, 1, 1),
                                   (1, 32, 180, 320, 6, 2, 2, 1), (1, 16, 256, 256, 7, 1, 3, 1), (1, 3, 512, 512, 4, 3, 0, 1),
                                   (1, 16, 1024, 512, 2, 2, 0, 1), (8, 3, 224, 224, 16, 16, 0, 1), (2, 64, 91, 77, 7, 7, 0, 1)):
        name = f"{n},{c},{h},{w} k{k} s{s} p{p} d{d}"
        add("im2col-backward", "all", floats, name, im2col(n, c, h, w, k, s, p, d))
    return cases


def random_cases(count, seed):
    """Cases that nobody picked, the operators in turn: sizes of the kinds above, most of them multiples of nothing."""
    draw = random.Random(seed)
    floats = ["f32", "f32", "f64", "f16", "bf16"]

    def sizes(*bounds, each=1):
        """A number from each of the bounds, small ones as often as large ones: of so many elements `each` at most 16 million."""
        while True:
            drawn = [round(math.exp(draw.uniform(math.log(low), math.log(high)))) for low, high in bounds]
            if math.prod(drawn) * each <= 1 << 24:
                return drawn

    def sampled():
        n, c, h, w = sizes((1, 32), (1, 512), (7, 1024), (7, 1024))
        # Bilinear as often as most people have it.
        mode, padding = draw.choice([*["bilinear"] * 3, "nearest", "bicubic"]), draw.choice(["zeros", "border", "reflection"])
        smooth = draw.random() < 0.5
        group = "8 channels or more" if c >= 8 else "1-4 channels" if c <= 4 else "5-7 channels"
        name = f"({n},{c},{h},{w}) {mode} {padding} {'smooth' if smooth else 'random'}"
        make = grid_sampler(n, c, h, w, h, w, smooth, mode, padding)
        return Case("grid-sampler-2d-backward", group, draw.choice(floats), name, make)

    def unpooled():
        shape = sizes((1, 32), (1, 512), (4, 512), (4, 512), (2, 8))
        dtype = draw.choice([*floats, "i8", "u8", "i16", "i32", "i64"])
        name = "{},{},{},{} x{}".format(*shape)
        return Case("max-unpool2d-backward", "all", dtype, name, max_unpool(*shape))

    def padded():
        n, c, h, w = sizes((1, 32), (1, 512), (7, 1024), (7, 1024))
        even = draw.random() < 0.5
        pads = [draw.randint(1, 4)] * 4 if even else [draw.randint(0, min(16, h - 1, w - 1)) for _ in range(4)]
        name = f"{n},{c},{h},{w} pad {','.join(map(str, pads))}"
        dtype = draw.choice([*floats, "c64", "c128"])
        return Case("replication-pad2d-backward", "all", dtype, name, replication_pad(n, c, h, w, *pads))

    def summed():
        k, s, d = draw.randint(2, 11), draw.randint(1, 4), draw.choice([1, 1, 1, 2])
        p = draw.choice([0, d * (k - 1) // 2])
        if draw.random() < 0.3:
            # Patches.
            k = s = draw.randint(2, 32)
            p, d = 0, 1
        n, c, h, w = sizes((1, 32), (1, 256), (32, 512), (32, 512), each=max(1, k * k / s / s))
        name = f"{n},{c},{h},{w} k{k} s{s} p{p} d{d}"
        return Case("im2col-backward", "all", draw.choice(floats), name, im2col(n, c, h, w, k, s, p, d))

    draws = (sampled, unpooled, padded, summed)
    return [draws[number % len(draws)]() for number in range(count)]


def quick(cases):
    """Every shape in F32, every other one in F64 and F16, every third one in the other dtypes; a few are compiled."""
    picked, seen = [], {}
    for case in cases:
        number = seen[case.operator, case.group, case.dtype] = seen.get((case.operator, case.group, case.dtype), -1) + 1
        # A grid sampler's shape is two cases, a smooth grid and a random one.
        shape = number // 2 if case.operator == "grid-sampler-2d-backward" else number
        if shape % {"f32": 1, "f64": 2, "f16": 2}.get(case.dtype, 3) == 0:
            case.compiles = shape % {"f32": 2, "f64": 6, "f16": 6}.get(case.dtype, 9) == 0
            picked.append(case)
    return picked
