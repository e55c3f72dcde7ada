"""Threads per second of the simulator, beside Numba's own simulator, in one run; memory; time of a first launch.

``python tests/benchmarks/simulator_speed.py`` prints the table in docs/simulator.md. Everything that the simulator
checks and counts is on. Numba's simulator (NUMBA_ENABLE_CUDASIM=1) is timed at smaller sizes where it would take over
a minute, and its time is scaled by threads times the iterations of each thread; the table says where.
"""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
REPEATS = 5
SECONDS = 0.5  # that repeated calls take together, at least
HUGE = 1 << 24  # threads of the launch whose memory is measured
FIRST_LAUNCH = """
import time
start = time.perf_counter()
import numpy as np
import grader.simulator as simulator
simulator.install()
from numba import cuda

@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]

a = cuda.to_device(np.ones(1000, np.float32))
out = cuda.device_array(1000, np.float32)
add[4, 256](a, a, out)
assert out.copy_to_host().sum() == 2000
print(time.perf_counter() - start)
"""


def kernels_of(assignment: str):
    """The reference of an assignment, imported by path."""
    path = ROOT / "solutions" / assignment / "kernels.py"
    spec = importlib.util.spec_from_file_location(f"kernels_{assignment}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(small: bool):
    """Name, call, threads, iterations of a thread; ``small``: sizes that Numba's simulator ends in time."""
    from numba import cuda

    rng = np.random.default_rng(0)

    def device(*shape):
        return cuda.to_device(rng.standard_normal(shape).astype(np.float32))

    def empty(*shape):
        return cuda.device_array(shape, np.float32)

    add = kernels_of("01")
    a, b, out = device(16384), device(16384), empty(16384)
    yield "vector addition, 16,384", lambda: add.vector_add(a, b, out), 16384, 1

    n = 32 if small else 128
    matmul = kernels_of("03")
    ma, mb, mo = device(n, n), device(n, n), empty(n, n)
    yield "16×16-tiled matmul, N=128", lambda: matmul.matmul(ma, mb, mo), n * n, n

    n = 2048 if small else 65536
    reduction = kernels_of("02")
    x, total = device(n), empty(1)
    yield "reduction, 65,536", lambda: reduction.reduce_sum(x, total), n, 1

    heads, n, d = (1, 32, 64) if small else (2, 256, 64)
    attention = kernels_of("04")
    q, k, v, o = (device(heads, n, d) for _ in range(4))
    tiles = math.ceil(n / 16)
    yield "attention, (2, 256, 64)", lambda: attention.attention(q, k, v, o, False), heads * tiles * 256, tiles


def measure(small: bool, repeats: int) -> list[dict]:
    """The median of ``repeats`` calls or more after a first one, per case; of that one alone for 1."""
    rows = []
    for name, call, threads, iterations in cases(small):
        if repeats > 1:
            call()
        times = []
        # Calls of milliseconds are repeated for long enough that the first few, which grow the heap, do not count most.
        while len(times) < repeats or (repeats > 1 and sum(times) < SECONDS):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        rows.append({"name": name, "seconds": statistics.median(times), "threads": threads, "iterations": iterations})
    return rows


def memory() -> float:
    """Peak memory of this process, in MiB, after a vector addition of HUGE threads."""
    from numba import cuda

    add = kernels_of("01")
    a, out = cuda.to_device(np.ones(HUGE, np.float32)), cuda.device_array(HUGE, np.float32)
    add.vector_add(a, a, out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 2**20


def child(mode: str) -> str:
    """What a process of its own prints."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = dict(os.environ, NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0", PYTHONPATH=paths)
    if mode == "numba":
        env["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, __file__, mode] if mode != "first" else [sys.executable, "-c", FIRST_LAUNCH]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def main() -> None:
    """Run all modes, each in processes of its own, and print the table."""
    ours, theirs = json.loads(child("ours")), json.loads(child("numba"))
    print(f"{'':28}{'simulator':>14}{'Numba':>14}{'ratio':>8}   (threads per second)")
    for mine, numba in zip(ours, theirs, strict=True):
        rate = mine["threads"] / mine["seconds"]
        scale = mine["iterations"] / numba["iterations"]
        their_rate = numba["threads"] / (numba["seconds"] * scale)
        same = (mine["threads"], mine["iterations"]) == (numba["threads"], numba["iterations"])
        note = "" if same else f"   Numba's at {numba['threads']:,} threads of {numba['iterations']} iterations, scaled"
        print(f"{mine['name']:28}{rate:14,.0f}{their_rate:14,.0f}{rate / their_rate:8,.0f}{note}")
        print(f"{'':28}{mine['seconds'] * 1e3:11,.1f} ms")
    print(f"\nmemory of a launch of {HUGE:,} threads, arrays and Python included: {float(child('memory')):,.0f} MiB")
    firsts = sorted(float(child("first")) for _ in range(REPEATS))
    print(f"first launch in a fresh process, import included: {statistics.median(firsts):.2f} s (median of {REPEATS})")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
        sys.exit()
    if sys.argv[1] != "numba":
        import grader.simulator as simulator

        simulator.install()
    if sys.argv[1] == "memory":
        print(memory())
    else:
        print(json.dumps(measure(sys.argv[1] == "numba", 1 if sys.argv[1] == "numba" else REPEATS)))
