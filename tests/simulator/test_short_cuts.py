"""What loops repeat is not looked at anew each time: random kernels give the same findings, counts, results as if."""

# mypy: ignore-errors
from __future__ import annotations

import importlib.util
import random

import numpy as np
import pytest

from grader.simulator import launch as launches
from grader.simulator import watch
from grader.simulator.fences import Fences
from grader.simulator.marks import MANY, NOBODY, Numbering
from grader.simulator.regions import Region
from grader.simulator.shadow import Shadow
from grader.simulator.spots import Lockstep, Spot
from grader.simulator.traffic import _Pattern
from grader.simulator.wide_elements import WideElements

HEAD = """
from numba import cuda, float32, float64, int32
from grader.vector_access import load4, store4

def kernel(row, table, offsets, narrow, out):
    tile = cuda.shared.array((8, 16), float32)
    line = cuda.shared.array(96, int32)
    mine = cuda.local.array(8, float64)
    acc = cuda.local.array((3, 4), float32)
    turn = cuda.shared.array((2, 72), float32)
    quads = cuda.shared.array((4, 36), float32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    view = table[t % 16]
    value = float32(0)
"""
FILLED = """
    line[t] = 1
    if t < 32:
        line[t + 64] = 2
    for k in range(8):
        mine[k] = k
    for k in range(3):
        for j in range(4):
            acc[k, j] = t + j
    for k in range(0, 144, 36):
        quads[k // 36, t % 36] = k
    for k in range(2):
        turn[k, t] = 4
        if t < 8:
            turn[k, t + 64] = 5
    for k in range(0, 8, 4):
        tile[k + t // 16, t % 16] = 3
    cuda.syncthreads()
"""
SIZES = {
    "line": (96,), "row": (100,), "mine": (8,), "view": (32,), "tile": (8, 16), "table": (16, 32), "acc": (3, 4),
    "turn": (2, 72), "quads": (4, 36),
}  # fmt: skip
WIDE = {"quads": (4, 36), "table": (16, 32)}  # for four elements at a time
SHARED_BY_ALL = ("0", "1", "2", "7")
FIXED = ("t", "t + 1", "63 - t", "t % 8", "t // 8", "t * 5 % 64", "t ^ 1", "offsets[t]", "narrow[t]", "3", "b", "t + b")
MIDDLE = "t + {} * (t % 63 > 0)"  # the first and the last lane stay
MOVED = ("t + {}", "t + {} * 8", "{}", "{} * 8 + t % 8", "t - {} + 4", "64 - {} + t % 16", "offsets[t] + {}", MIDDLE)
RANGES = ("0, 3", "0, 4", "3, -1, -1", "0, 8, 2", "1, 3")


class Kernels:
    """Texts of random kernels: reads, writes and atomics in loops, branches, between barriers."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._loops = []
        self._lines = []

    def text(self):
        filled = self._random.choice(["", FILLED])
        for _ in range(3):
            self._block("    ", same_for_all=True)
        return HEAD + filled + "\n".join(self._lines) + "\n    out[b, t] = value\n"

    def _index(self, size, *, for_all=False):
        """``for_all``: one that all lanes share."""
        moved = [form.format(name) for name in self._loops for form in MOVED]
        index = self._random.choice([*SHARED_BY_ALL, *self._loops * 3] if for_all else [*FIXED, *moved])
        return f"({index}) % {size}" if self._random.random() < 0.75 else index

    def _element(self):
        name = self._random.choice(list(SIZES))
        # What is a tile in registers is indexed by what all lanes share; the buffer whose turn it is, too.
        for_all = {"acc": (0.9, 0.9), "mine": (0.5,), "turn": (0.9, 0)}.get(name, (0, 0))
        sizes = zip(SIZES[name], for_all, strict=False)
        return f"{name}[{', '.join(self._index(n, for_all=self._random.random() < share) for n, share in sizes)}]"

    def _four(self):
        """An array and where four of its elements begin: mostly inside and aligned."""
        name, (rows, columns) = self._random.choice(list(WIDE.items()))
        aligned = self._random.random() < 0.9
        column = f"4 * (({self._index(columns)}) % {columns // 4})" if aligned else self._index(columns)
        return f"{name}, ({self._index(rows, for_all=self._random.random() < 0.7)}, {column})"

    def _block(self, indent, *, same_for_all):
        """``same_for_all``: all threads of a block are here."""
        for _ in range(self._random.randint(1, 3)):
            kind = self._random.random()
            if kind < 0.25:
                line = f"value += {self._element()}"
            elif kind < 0.3:
                line = f"value += load4({self._four()})[{self._random.randrange(4)}]"
            elif kind < 0.34:
                line = f"store4({self._four()}, (value, 1, t, 2))"
            elif kind < 0.38:
                line = f"{self._element()} += value"
            elif kind < 0.52:
                line = f"{self._element()} = {self._random.choice(['value', '1', 't', 't % 2', 'b'])}"
            elif kind < 0.57:
                line = f"cuda.atomic.add(line, {self._index(96)}, 1)"
            elif kind < 0.7:
                line = self._random.choice(["cuda.syncthreads()", "cuda.syncwarp()"]) if same_for_all else "value += 1"
            elif kind < 0.86 and len(self._loops) < 2:
                self._loops.append("kj"[len(self._loops)])
                self._lines.append(f"{indent}for {self._loops[-1]} in range({self._random.choice(RANGES)}):")
                self._block(indent + "    ", same_for_all=same_for_all)
                self._loops.pop()
                continue
            elif len(indent) < 16:
                condition = self._random.choice(["t < 32", "t % 2 == 0", "value > 3", "t < 50", "b == 0", "b > 0"])
                self._lines.append(f"{indent}if {condition}:")
                self._block(indent + "    ", same_for_all=same_for_all and condition.startswith("b"))
                continue
            else:
                line = self._random.choice(["if t >= 50: return", "if b == 1: return", "cuda.threadfence()"])
            self._lines.append(indent + line)


def run(launch, kernel, blocks):
    numbers = np.random.default_rng(0)
    row, table = np.arange(100.0), np.ones((16, 32), np.float32)
    offsets, narrow = numbers.integers(0, 30, 64), numbers.integers(-20, 60, 64).astype(np.int8)
    out = np.zeros((blocks, 64), np.float32)
    result = launch(kernel, blocks, 64, row, table, offsets, narrow, out)
    findings = sorted((f.kind, f.place.line, f.array, f.count) for f in result.findings)
    lines = {place.line: {k: n for k, n in counts.items() if n} for place, counts in result.lines.items()}
    return findings, {k: n for k, n in result.counters.items() if n}, lines, [row, table, out]


def block_of_mark(self, mark):
    """Which block each mark is about, asked of one mark after the other."""
    marks = np.asarray(mark)
    return np.array([_block_of_one(self, int(one)) for one in marks.reshape(-1)], np.int64).reshape(marks.shape)


def _block_of_one(numbering, mark):
    if mark >= 0:
        return mark >> numbering.shift
    if mark in (NOBODY, MANY):
        return NOBODY
    number = (-2 - mark) >> 1
    return number if (-2 - mark) & 1 else number >> (numbering.shift - 5)


def apart(translate):
    """``translate``, with local memory in which each lane has a segment of its own."""

    def made(*arguments):
        program = translate(*arguments)
        program.interleaved = False
        return program

    return made


def take_the_long_way(monkeypatch):
    """Switch off whatever spares looking again at what has been seen."""
    monkeypatch.setattr(Spot, "of", classmethod(lambda *_: None))
    monkeypatch.setattr(Lockstep, "of", classmethod(lambda *_: None))
    monkeypatch.setattr(WideElements, "again", lambda *_: None)
    monkeypatch.setattr(launches, "translate", apart(launches.translate))
    monkeypatch.setattr(_Pattern, "fits", lambda *_: False)
    monkeypatch.setattr(Region, "is_read_in", lambda *_: True)
    monkeypatch.setattr(Region, "is_written_to", lambda _: True)
    monkeypatch.setattr(Fences, "are_used", property(lambda _: True))
    monkeypatch.setattr(Numbering, "block_of_mark", block_of_mark)
    monkeypatch.setattr(Shadow, "forget", lambda *_: None)
    monkeypatch.setattr(watch, "MAX_UNMARKED", 0)


@pytest.mark.parametrize("seed", range(32))
def test_short_cuts_change_no_finding_no_count_and_no_result(launch, tmp_path, monkeypatch, seed):
    path = tmp_path / f"kernel_{seed}.py"
    path.write_text(Kernels(seed).text())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    blocks = (1, 2, 5)[seed % 3]
    *found, arrays = run(launch, module.kernel, blocks)
    take_the_long_way(monkeypatch)
    *expected, others = run(launch, module.kernel, blocks)
    assert found == expected
    for one, other in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(one, other)
