#!/usr/bin/env python3
"""Worst-case stack of the entry points of a linked image.

    stack.py IMAGE [--entry PREFIX]... [--limit BYTES] [--paths] [--tools DIR]

The frames are those that the compiler emitted (-Zemit-stack-sizes); of assembly and of libraries that were compiled without,
the sum of all that a function pushes or subtracts. The calls are those of the linked code. What cannot be bounded is
refused: recursion, direct or mutual, and calls through a register. Prints `bytes name` for each entry, largest first; exits with 1 on a refusal or beyond the limit.
"""
import argparse
import os
import re
import subprocess
import sys

FUNCTION = re.compile(r"^([0-9a-f]+) <(.*)>:$")
TARGET = re.compile(r"(?:0x)?([0-9a-f]+) <([^>+]*(?:<[^>]*>[^>+]*)*)(\+0x[0-9a-f]+)?>")


def run(tools, tool, *arguments):
    return subprocess.run([os.path.join(tools, tool), *arguments], check=True, capture_output=True, text=True).stdout


def frames(tools, image):
    """Bytes of each function's frame by its address."""
    sizes = {}
    for block in run(tools, "llvm-readelf", "--stack-sizes", image).splitlines():
        match = re.match(r"\s*(\d+)\s+(\S.*)$", block)
        if match:
            for name in match[2].split(", "):
                sizes[name] = max(sizes.get(name, 0), int(match[1]))
    return sizes


def pushed(line):
    """Bytes that one instruction of hand-written or library assembly takes from the stack (Arm)."""
    match = re.search(r"\b(?:push|stmdb\s+sp!,|push\.w)\s*\{([^}]*)\}", line)
    if match:
        count = 0
        for part in match[1].split(","):
            ends = [int(n) for n in re.findall(r"r(\d+)", part)]
            count += ends[1] - ends[0] + 1 if len(ends) == 2 else 1
        return 4 * count
    match = re.search(r"\bsub(?:\.w|w)?\s+sp,\s*(?:sp,\s*)?#(?:0x)?([0-9a-f]+)", line)
    return int(match[1], 16) if match else 0


def calls(tools, image):
    """Functions with their callees, whether they call through a register, and what they push."""
    graph, indirect, stack, name = {}, set(), {}, None
    text = run(tools, "llvm-objdump", "--disassemble", "--no-show-raw-insn", "--no-leading-addr", image)
    aliases, address_of = {}, {}
    for line in run(tools, "llvm-nm", "--defined-only", image).splitlines():
        address, kind, symbol = line.split(maxsplit=2)
        if kind in "tTwW":
            aliases.setdefault(int(address, 16) & ~1, []).append(symbol)
            address_of[symbol] = int(address, 16) & ~1
    for line in text.splitlines():
        head = re.match(r"^<(.*)>:$", line) or FUNCTION.match(line)
        if head:
            name = head[head.lastindex]
            graph.setdefault(name, set())
            stack.setdefault(name, 0)
            continue
        if name is None:
            continue
        stack[name] += pushed(line)
        code = line.strip().split("@")[0]
        word = code.split()[0] if code.split() else ""
        # Branches to another function are calls too: the last one of a function may be a jump.
        target = re.search(r"<([^+]+?)(\+0x[0-9a-f]+)?>", line)
        if target and word.startswith(("b", "cbz", "cbnz", "j", "call", "tail")) and not target[2]:
            if target[1] != name or word.startswith(("bl", "call", "jal")):
                graph[name].add(target[1])
        elif word in ("blx",) or (word == "bx" and not code.endswith("lr")) or word in ("jalr",):
            if not target:
                indirect.add(name)
    return graph, indirect, stack, aliases, address_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("image")
    parser.add_argument("--entry", action="append", default=[], help="how the names of entry points begin")
    parser.add_argument("--limit", type=int, help="most bytes")
    parser.add_argument("--paths", action="store_true", help="show the frames of each entry's deepest calls")
    parser.add_argument("--tools", default="/usr/bin", help="where llvm-objdump and the like are")
    options = parser.parse_args()
    sizes = frames(options.tools, options.image)
    graph, indirect, pushes, aliases, address_of = calls(options.tools, options.image)
    by_address = {address_of[name]: size for name, size in sizes.items() if name in address_of}
    problems, depth, path = [], {}, []

    def frame(name):
        size = by_address.get(address_of.get(name))
        return pushes.get(name, 0) if size is None else size

    def worst(name):
        if name in path:
            problems.append("recursion: " + " -> ".join(path[path.index(name):] + [name]))
            return 0
        if name in depth:
            return depth[name]
        path.append(name)
        if name in indirect:
            problems.append(f"a call through a register in {name}")
        below = max((worst(callee) for callee in sorted(graph.get(name, ()))), default=0)
        path.pop()
        depth[name] = frame(name) + below
        return depth[name]

    entries = [name for name in graph if name.startswith(tuple(options.entry))] if options.entry else list(graph)
    if not entries:
        problems.append(f"no function is called {', '.join(options.entry)}")
    if not sizes:
        problems.append("the image has no stack sizes")
    sys.setrecursionlimit(10000)
    found = sorted(((worst(name), name) for name in entries), reverse=True)
    for size, name in found:
        print(f"{size:6} {name}")
        if options.paths:
            while name:
                print(f"         {frame(name):5} {name}")
                name = max(graph.get(name, ()), key=worst, default=None)
        if options.limit is not None and size > options.limit:
            problems.append(f"{name} takes {size} bytes of stack: at most {options.limit} are allowed")
    for problem in dict.fromkeys(problems):
        print(f"stack: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
