"""Tuples with and without names, enums, and values that may be None."""

# mypy: ignore-errors
from __future__ import annotations

import collections
import enum
import math
from typing import NamedTuple

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda

from grader.simulator.frontend import has_builtin_target

Point = collections.namedtuple("Point", "x y")
Pair = collections.namedtuple("Pair", "first count")


class Grid(NamedTuple):
    spacing: float
    cells: int


class Color(enum.IntEnum):
    RED = 1
    BLUE = 3


class Mode(enum.Enum):
    FAST = 10
    EXACT = 20


SETTINGS = Grid(0.5, 7)
FAVOURITE = Color.BLUE


def test_named_tuples_as_arguments_captures_and_results(launch):
    @cuda.jit(device=True)
    def mirrored(p):
        return Point(p.y, y=p.x)

    def kernel(grid, origin, out):
        i = cuda.grid(1)
        p = Point(grid.spacing * i, origin.y)
        q = mirrored(p)
        out[0, i] = q.x * 100 + q.y + p[0]
        out[1, i] = SETTINGS.spacing * SETTINGS.cells + len(q)
        x, y = q
        out[2, i] = x - y
        out[3, i] = (p if i % 2 else q).x

    out = np.zeros((4, 8))
    assert errors(launch(kernel, 1, 8, Grid(0.25, 3), Point(1, 2.0), out)) == []
    i = np.arange(8)
    np.testing.assert_array_equal(out[0], 200 + 0.5 * i)
    np.testing.assert_array_equal(out[1], 5.5)
    np.testing.assert_array_equal(out[2], 2 - 0.25 * i)
    np.testing.assert_array_equal(out[3], np.where(i % 2, 0.25 * i, 2))


@pytest.mark.filterwarnings("ignore:First-class function")
def test_arrays_in_tuples_of_mixed_types(launch):
    @cuda.jit(device=True)
    def double(x):
        return 2 * x

    def kernel(a, out):
        i = cuda.grid(1)
        parts = (1, 2.5, a)
        out[0, i] = parts[1] + parts[2][i] + parts[0]
        rest = parts[1:]
        out[1, i] = rest[0] + rest[1][i]
        named = Pair(a, 3)
        out[2, i] = named.first[i] * named.count
        nested = ((i, 1.5), (a, out))
        out[3, i] = nested[0][0] + nested[1][0][i] + nested[0][1]
        out[4, i] = len(rest) + len(nested[1]) + len(parts[:-1])
        tools = (double, a)
        out[5, i] = tools[0](tools[1][i])

    a, out = np.random.default_rng(1).random(8), np.zeros((6, 8))
    result = launch(kernel, 1, 8, a, out)
    assert errors(result) == []
    i = np.arange(8)
    np.testing.assert_array_equal(out[0], 2.5 + a + 1)
    np.testing.assert_array_equal(out[1], 2.5 + a)
    np.testing.assert_array_equal(out[2], a * 3)
    np.testing.assert_array_equal(out[3], i + a + 1.5)
    np.testing.assert_array_equal(out[4], 6)
    np.testing.assert_array_equal(out[5], 2 * a)


def test_tuples_of_arrays_are_arguments_and_watched(launch):
    def kernel(arrays):
        a, b = arrays
        i = cuda.grid(1)
        b[i // 2] = a[i]

    a, b = np.arange(16.0), np.zeros(16)
    findings = launch(kernel, 1, 16, (a, b)).findings
    assert [(f.kind, f.array) for f in findings] == [("race", "arrays[1]")]


def test_tuples_are_compared_as_python_compares_them(launch):
    pairs = [(a, b) for a in range(3) for b in (0.0, 1.5)]

    def kernel(out):
        i = cuda.grid(1)
        p = (i // 2, 1.5 * (i % 2))
        for k in range(6):
            q = (k // 2, 1.5 * (k % 2))
            out[0, i, k] = p == q
            out[1, i, k] = p != q
            out[2, i, k] = p < q
            out[3, i, k] = p <= q
            out[4, i, k] = p > q
            out[5, i, k] = p >= q
            out[6, i, k] = q[0] in (1, 2)
            out[7, i, k] = (q[0], 1) in ((0, 1), (2, 1))

    out = np.zeros((8, 6, 6), np.int8)
    launch(kernel, 1, 6, out)
    for i, p in enumerate(pairs):
        for k, q in enumerate(pairs):
            expected = [p == q, p != q, p < q, p <= q, p > q, p >= q, q[0] in (1, 2), q[0] in (0, 2)]
            assert out[:, i, k].tolist() == expected


def test_enums_are_constants_arguments_and_compared(launch):
    @cuda.jit(device=True)
    def weight(color):
        if color == Color.RED:
            return 10
        return 20

    def kernel(mode, color, out):
        i = cuda.grid(1)
        mine = Color.RED if i % 2 else Color.BLUE
        out[0, i] = weight(mine) + mine
        out[1, i] = mine is Color.BLUE
        out[2, i] = Color.BLUE.value + Color["RED"] + FAVOURITE
        out[3, i] = mode.value if mode is Mode.EXACT else -1
        out[4, i] = mode != Mode.FAST
        out[5, i] = mine in (Color.RED, Color.BLUE)
        out[6, i] = color * 2

    out = np.zeros((7, 4))
    assert errors(launch(kernel, 1, 4, Mode.EXACT, Color.BLUE, out)) == []
    assert out.tolist() == [
        [23, 11, 23, 11],
        [1, 0, 1, 0],
        [7] * 4,
        [20] * 4,
        [1] * 4,
        [1] * 4,
        [6] * 4,
    ]


class Place(enum.Enum):
    HERE = (1, 2.5)
    THERE = (3, 0.5)


class Word(enum.Enum):
    FAST = "fast"
    SLOW = "slow"
    QUICK = "fast"


CHOSEN_PLACE, CHOSEN_WORD = Place.THERE, Word.QUICK


def test_enums_of_tuples_and_texts_are_compared(launch):
    def kernel(place, out):
        i = cuda.grid(1)
        word = Word.FAST if i % 2 else Word.SLOW
        out[0, i] = CHOSEN_PLACE is Place.THERE
        out[1, i] = CHOSEN_PLACE == Place.HERE
        out[2, i] = Place.HERE.value[1] + CHOSEN_PLACE.value[0]
        out[3, i] = place is Place.HERE
        out[4, i] = word == CHOSEN_WORD
        out[5, i] = word is Word["SLOW"]
        out[6, i] = place.value[1]

    out = np.zeros((7, 4))
    assert errors(launch(kernel, 1, 4, Place.HERE, out)) == []
    assert out.tolist() == [[1] * 4, [0] * 4, [5.5] * 4, [1] * 4, [0, 1, 0, 1], [1, 0, 1, 0], [2.5] * 4]


def test_values_that_are_none_for_some_threads(launch):
    @cuda.jit(device=True)
    def root(x):
        if x < 0:
            return None
        return x**0.5

    @cuda.jit(device=True)
    def find(a, value):
        for k in range(a.size):
            if a[k] == value:
                return k
        return None

    def kernel(a, out):
        i = cuda.grid(1)
        r = root(a[i])
        out[0, i] = -1 if r is None else r
        best = None
        if i % 3 == 0:
            best = a[i]
        if best is not None:
            out[1, i] = best + 1
        where = find(a, i)
        if where is None:
            out[2, i] = -7
        else:
            out[2, i] = where

    a = np.array([4.0, -1.0, 0.0, 2.0, 9.0, -3.0])
    out = np.zeros((3, 6))
    assert errors(launch(kernel, 1, 6, a, out)) == []
    assert out[0].tolist() == [2, -1, 0, 2**0.5, 3, -1]
    assert out[1].tolist() == [5, 0, 0, 3, 0, 0]
    assert out[2].tolist() == [2, -7, 3, -7, 0, -7]


def test_none_used_as_a_number_is_an_error(launch):
    @cuda.jit(device=True)
    def root(x):
        if x < 0:
            return None
        return x**0.5

    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = root(a[i]) + 1

    result = launch(kernel, 1, 3, np.array([1.0, -1.0, -4.0]), np.zeros(3))
    assert [(f.kind, f.count) for f in result.findings] == [("none-used", 2)]


def test_none_is_an_argument(launch):
    def kernel(mask, out):
        i = cuda.grid(1)
        if mask is None or mask[i]:
            out[i] += 1

    out = np.zeros(4)
    launch(kernel, 1, 4, None, out)
    launch(kernel, 1, 4, np.array([True, False, True, False]), out)
    assert out.tolist() == [2, 1, 2, 1]


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target cannot compile default arguments")
def test_default_arguments_of_device_functions_keep_their_type(launch):
    @cuda.jit(device=True)
    def scaled(x, factor=2.5, shift=3, negate=False):
        return -(x * factor + shift) if negate else x * factor + shift

    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = scaled(x[i])
        out[1, i] = scaled(x[i], 0.5)
        out[2, i] = scaled(x[i], 1.5, 1, True)

    x, out = np.arange(4.0), np.zeros((3, 4))
    launch(kernel, 1, 4, x, out)
    np.testing.assert_array_equal(out, [x * 2.5 + 3, x * 0.5 + 3, -(x * 1.5 + 1)])


def test_an_array_or_none_and_comparison_with_none(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        row = None
        if i % 2:
            row = a[i]
        out[0, i] = 1 if row is None else row[1]
        number = None
        if i > 1:
            number = i
        out[1, i] = number != None  # noqa: E711
        out[2, i] = 7 if number is not None and number == 3 else 8

    a, out = np.arange(8.0).reshape(4, 2), np.zeros((3, 4))
    assert errors(launch(kernel, 1, 4, a, out)) == []
    assert out.tolist() == [[1, 3, 1, 7], [0, 0, 1, 1], [8, 8, 8, 7]]


def test_arrays_are_the_same_where_they_are_the_same_memory(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        c = a if i % 2 else b
        out[0, i] = c is a
        out[1, i] = c is not b
        out[2, i] = a[1:] is a[:-1]
        out[3, i] = (4, 5, 6)[i % 3] + (1, 2.5)[1]

    out = np.zeros((4, 4))
    launch(kernel, 1, 4, np.zeros(4), np.zeros(4), out)
    assert out.tolist() == [[0, 1, 0, 1], [0, 1, 0, 1], [0] * 4, [6.5, 7.5, 8.5, 6.5]]


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target does not type such calls")
def test_tuples_are_spread_over_arguments(launch):
    @cuda.jit(device=True)
    def joined(a, b, c=7):
        return a + 10 * b + 100 * c

    @cuda.jit(device=True)
    def total(*values):
        result = 0
        for value in values:
            result += value
        return result

    def kernel(pair, out):
        i = cuda.grid(1)
        fixed = (1, i)
        out[0, i] = joined(*fixed)
        out[1, i] = joined(i, *pair)
        out[2, i] = total(i, *fixed, *pair)
        out[3, i] = math.pow(*pair) + complex(*fixed).imag

    out = np.zeros((4, 4))
    launch(kernel, 1, 4, (2, 3), out)
    i = np.arange(4)
    np.testing.assert_array_equal(out, [1 + 10 * i + 700, i + 20 + 300, i + 1 + i + 5, 8 + i])


class Corner(enum.Enum):
    LOW = (0.0, 1.0)
    HIGH = (2.0, 3.0)


@pytest.mark.parametrize(("a", "b"), [(Corner.LOW, Corner.LOW), (Corner.LOW, Corner.HIGH), (Color.RED, Color.RED)])
def test_members_of_enums_are_compared_by_identity_and_by_value(launch, a, b):
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i, 0] = a is b
        out[i, 1] = a is not b
        out[i, 2] = a == b
        out[i, 3] = a != b

    out = np.zeros((2, 4), bool)
    assert errors(launch(kernel, 1, 2, a, b, out)) == []
    assert out.tolist() == [[a is b, a is not b, a == b, a != b]] * 2
