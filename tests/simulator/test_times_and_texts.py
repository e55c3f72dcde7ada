"""NumPy's dates, differences of dates, and texts of a fixed length in kernels: results, and what Numba refuses."""

# mypy: ignore-errors
from __future__ import annotations

import numba
import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda

from grader.simulator.frontend import KernelError, has_builtin_target

DAYS = np.array(["2020-01-31", "1969-05-01", "NaT", "2020-02-29"], "M8[D]")
HOURS = np.array(["2020-01-31T05", "1969-05-01", "2000-01-01", "NaT"], "M8[h]")
SPANS = np.array([5, -7, 0, "NaT"], "m8[D]")
SECONDS = np.array([86400 * 5, 7, -1, 3], "m8[s]")
EXPRESSIONS = {
    "m8[D]": [
        *("d[k] - d[0]", "t[k] + t[0]", "t[k] * 2", "3 * t[k]", "t[k] * 2.5", "t[k] // 2", "t[k] / 2", "-t[k]"),
        *("t[k] / 2.5", "t[k] // 0", "abs(t[k])"),
    ],
    "M8[D]": ["d[k] + t[k]", "t[k] + d[k]", "d[k] - t[k]", "max(d[k], d[0])", "min(d[0], d[k])"],
    "m8[s]": ["t[k] + s[k]"],
    "m8[h]": ["h[k] - d[k]"],
    "M8[s]": ["d[k] + s[k]"],
    "f8": ["t[k] / t[0]", "s[k] / t[1]", "t[k] / t[2]"],
    "i8": ["int(t[k])"],
    "?": [
        "d[k] < d[0]",
        "d[k] < h[k]",
        "d[k] == h[k]",
        "d[k] != d[k]",
        "t[k] >= s[k]",
        "t[k] != s[k]",
        "np.isnat(d[k])",
    ],
}
if has_builtin_target():  # it has fewer
    EXPRESSIONS = {
        dtype: [e for e in expressions if "isnat" not in e and "max" not in e and "min" not in e]
        for dtype, expressions in EXPRESSIONS.items()
    }


def _loops(dtype):
    lines = "".join(f"        o[{n}, k] = {expression}\n" for n, expression in enumerate(EXPRESSIONS[dtype]))
    scope = {"np": np}
    exec(compile(f"def kernel(d, h, t, s, o):\n    for k in range(4):\n{lines}", __file__, "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize("dtype", EXPRESSIONS)
def test_dates_and_their_differences_are_what_numba_computes(launch, dtype):
    expected = np.zeros((len(EXPRESSIONS[dtype]), 4), dtype)
    out = np.zeros_like(expected)
    numba.njit(_loops(dtype))(DAYS, HOURS, SPANS, SECONDS, expected)
    assert errors(launch(_loops(dtype), 1, 1, DAYS, HOURS, SPANS, SECONDS, out)) == []
    np.testing.assert_array_equal(out, expected)


def test_dates_by_thread_and_as_one_argument(launch):
    def kernel(dates, target, matches, out):
        i = cuda.grid(1)
        if i < dates.size:
            matches[i] = dates[i] == target
            out[i] = dates[i] - (target - dates[0])

    dates = np.arange("2005-02", "2006-02", dtype="M8[D]")
    matches, out = np.zeros(dates.size, bool), np.zeros_like(dates)
    launched = launch(kernel, 3, 128, dates, dates[5], matches, out)
    assert errors(launched) == []
    assert np.flatnonzero(matches).tolist() == [5]
    np.testing.assert_array_equal(out, dates - np.timedelta64(5, "D"))
    assert launched.counters["global_stores"] == 2 * dates.size


def test_a_race_on_dates_is_found(launch):
    def kernel(dates):
        dates[0] = dates[cuda.grid(1) + 1]

    assert errors(launch(kernel, 1, 64, np.arange(65).astype("M8[s]"))) == ["race"]


@pytest.mark.parametrize(
    ("dtype", "text"), [("U12", "XYZ"), ("S12", b"XYZ"), ("U2", "é"), ("U3", "abcdefg"), ("S3", b"abcdefg")]
)
def test_constant_texts_can_be_assigned(launch, dtype, text):
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size - 2:
            a[i] = text
        elif i < a.size - 1:
            a[i] = a[i + 1]

    a = np.zeros(40, dtype)
    a[-1] = last = np.array(text).astype(dtype)[()][:1]
    assert errors(launch(kernel, 2, 32, a)) == []
    assert (a[:38] == np.array(text).astype(dtype)).all()
    assert a[38] == a[39] == last


def test_texts_in_records(launch):
    def kernel(a):
        i = cuda.grid(1)
        a[i]["n"] = i
        a[i]["name"] = "abc"
        a[i]["code"] = b"xy"

    dtype = np.dtype([("n", np.int32), ("name", "U5"), ("code", "S4")], align=True)
    a = np.zeros(4, dtype)
    assert errors(launch(kernel, 1, 4, a)) == []
    np.testing.assert_array_equal(a, np.array([(i, "abc", b"xy") for i in range(4)], dtype))


def test_texts_outside_of_their_array_are_found(launch):
    def kernel(a):
        a[cuda.grid(1)] = "abc"

    launched = launch(kernel, 1, 5, np.zeros(4, "U12"))
    assert errors(launched) == ["out-of-bounds"]


@pytest.mark.skipif(has_builtin_target(), reason="numba-cuda's rule")
def test_texts_of_another_length_are_refused_as_by_numba(launch):
    def kernel(a, b):
        a[0] = b[0]

    with pytest.raises(KernelError, match="texts of another length"):
        launch(kernel, 1, 1, np.zeros(2, "U4"), np.zeros(2, "U8"))


def test_constant_texts_are_compared_and_measured(launch):
    @cuda.jit(device=True)
    def load(out, value):
        out[0] = value == "1"
        out[1] = value != "1"
        out[2] = value < "2"
        out[3] = len(value)

    def kernel(out):
        i = cuda.grid(1)
        load(out[i], "1" if i < 2 else "234")

    out = np.zeros((4, 4))
    assert errors(launch(kernel, 1, 4, out)) == []
    assert out.tolist() == [[1, 0, 1, 1]] * 2 + [[0, 1, 0, 3]] * 2
