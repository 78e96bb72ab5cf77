"""Counts the instructions of one run of each operator and dtype on emulated machines.

    firmware-costs.py TARGET=IMAGE=MACHINE ...

An IMAGE is `costs` of .ci/selftest, a MACHINE the command that boots it (machines.sh). Its request (operator, dtype, runs) stands behind a mark in the file and is changed in a copy. The
emulator executes and logs one instruction at a time; two runs less one run is what a run takes, whatever else the image does.
Prints a Markdown table: instructions for each element of the first output.
"""

import concurrent.futures
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

MARK = struct.pack("<4I", 0x75627469, 0x6C652063, 0x6F737473, 0x2D726571)
OPERATORS = ["grid sampler, bilinear", "grid sampler, bicubic", "max unpool", "replication pad", "im2col"]
DTYPES = ["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool", "c64", "c128"]
FLOATS = ["f16", "bf16", "f32", "f64"]
CASES = [(operator, dtype) for operator, dtypes in enumerate(
    [FLOATS, FLOATS, [*FLOATS, "i8", "i16", "i32", "i64"], [*FLOATS, "c64", "c128"], FLOATS]) for dtype in dtypes]

def one_at_a_time(qemu):
    """How this QEMU is told to translate single instructions; the option changed its name with version 8.1."""
    version = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=True).stdout
    major, minor = map(int, re.search(r"version (\d+)\.(\d+)", version).groups())
    return ["-accel", "tcg,one-insn-per-tb=on"] if (major, minor) >= (8, 1) else ["-singlestep"]


def count(target, image, machine, folder, operator, dtype, runs):
    """Instructions from reset to exit, and the elements that the image says it computed."""
    code = bytearray(image)
    at = code.index(MARK) + len(MARK)
    code[at:at + 12] = struct.pack("<3I", operator, DTYPES.index(dtype), runs)
    path = pathlib.Path(folder) / f"{target}-{operator}-{dtype}-{runs}"
    path.write_bytes(code)
    read, write = os.pipe()
    with subprocess.Popen(
        [*machine, *one_at_a_time(machine[0]), "-d", "exec,nochain", "-D", f"/dev/fd/{write}", "-kernel", path], pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT) as process:
        os.close(write)
        lines = 0
        with open(read, "rb", buffering=0) as log:
            while part := log.read(1 << 20):
                lines += part.count(b"Trace ")
        said = process.stdout.read().strip()
    path.unlink()
    if not re.fullmatch(rb"\d{4}", said) or int(said) == 0:
        sys.exit(f"{target}: operator {operator} in {dtype} was not computed: {said!r}")
    return lines, int(said)


def per_element(target, image, machine, folder, operator, dtype):
    """Instructions of one run for each element of its first output."""
    (twice, elements), (once, _) = (count(target, image, machine, folder, operator, dtype, runs) for runs in (2, 1))
    return (twice - once) / elements


def main():
    images = {}
    for argument in sys.argv[1:]:
        target, image, machine = argument.split("=", 2)
        images[target] = (pathlib.Path(image).read_bytes(), machine.split())
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = {
            (target, case): pool.submit(per_element, target, *image, folder, *case)
            for target, image in images.items() for case in CASES
        }
        print("| operator | dtype |" + "".join(f" {target} |" for target in images))
        print("|---|---|" + "---|" * len(images))
        for case in CASES:
            cells = "".join(f" {rows[target, case].result():.0f} |" for target in images)
            print(f"| {OPERATORS[case[0]]} | {case[1]} |{cells}", flush=True)


main()
