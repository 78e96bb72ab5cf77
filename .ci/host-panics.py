"""Proves that no function of the kernels and the planner calls a panic in a host's program, which has the vectors of every level:
`host-panics.py PROGRAM`, for x86-64.

The image of the firmware gate has no vectors. Here functions are told by their names, so what a caller inlines is the caller's; a
function of the standard library that panics is found where it is called, by address or through the table of addresses that position
independent programs call through."""

import re
import subprocess
import sys

# Functions that a program has of ours, at least.
LEAST = 50

OURS = re.compile(r"<?(\w+::)?(ubtile_kernels|ubtile_tiling)::")
PANICS = re.compile(r"core::panicking|panic_|_fail\b|_failed\b|fail_rt|capacity_overflow|handle_alloc_error")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def offenders(program):
    """What calls a panic, and how many functions of ours there are."""
    names, calls = {}, set()
    for line in run("nm", "--demangle", program).splitlines():
        if found := re.match(r"([0-9a-f]+) \w (.*)", line):
            names[int(found[1], 16)] = found[2]
    # What the table of addresses holds.
    table = {}
    for line in run("objdump", "--dynamic-reloc", program).splitlines():
        if found := re.match(r"([0-9a-f]+) R_X86_64_RELATIVE\s+\*ABS\*\+0x([0-9a-f]+)", line):
            table[int(found[1], 16)] = names.get(int(found[2], 16), "")
    function, functions = "", 0
    for line in run("objdump", "--disassemble", "--demangle", "--no-show-raw-insn", program).splitlines():
        if found := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = found[1]
            functions += bool(OURS.match(function))
        elif OURS.match(function) and (found := re.search(r"\b(?:call|jmp)\b.*?(?:# ([0-9a-f]+) <|<(.*)>$)", line)):
            callee = table.get(int(found[1], 16), "") if found[1] else found[2]
            if PANICS.search(callee):
                calls.add(f"{function} calls {callee}")
    return calls, functions


found, functions = offenders(sys.argv[1])
print("\n".join(sorted(found)) or f"no panic in {functions} functions of the kernels and the planner")
if not found and functions < LEAST:
    print("too few to prove anything: without symbols?")
sys.exit(1 if found or functions < LEAST else 0)
