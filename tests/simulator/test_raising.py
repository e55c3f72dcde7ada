"""What operations raise by themselves: told to the host under debug=True; else a thread goes on, or just ends."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda

from grader.records import Severity


def _kernel(expression):
    text = f"def kernel(a, b, out):\n    i = cuda.grid(1)\n    out[i] = {expression}\n    out[i + 8] = 1\n"
    scope = {"cuda": cuda}
    exec(compile(text, __file__, "exec"), scope)
    return scope["kernel"]


def _told(launched):
    return [f.kind for f in launched.findings if f.severity is Severity.ERROR]


WAYS = [
    ("a[i] / b[i]", "f8", "division by zero", np.inf),
    ("a[i] / b[i]", "f4", "division by zero", np.inf),
    ("a[i] / b[i]", "i4", "division by zero", np.inf),
    ("a[i] // b[i]", "f8", "division by zero", np.inf),
    ("a[i] // b[i]", "i8", "integer division by zero", 0),
    ("a[i] % b[i]", "f8", "modulo by zero", np.nan),
    ("a[i] % b[i]", "i2", "integer modulo by zero", 0),
    ("divmod(a[i], b[i])[1]", "i8", "integer divmod by zero", 0),
    ("divmod(a[i], b[i])[1]", "f8", "modulo by zero", np.nan),
    ("b[i] ** -a[i]", "i8", "0 cannot be raised to a negative power", np.iinfo("i8").min),
]


@pytest.mark.parametrize(("expression", "dtype", "message", "silent"), WAYS)
def test_a_division_by_zero_raises_under_debug_alone(launch, expression, dtype, message, silent):
    a, b = np.full(8, 3, dtype), np.array([1, 1, 0, 1, 0, 1, 1, 1], dtype)
    out = np.zeros(16)
    launched = launch(_kernel(expression), 1, 8, a, b, out)
    assert _told(launched) == []
    assert launched.raised is None
    np.testing.assert_array_equal(out[[2, 4]], silent)
    assert (out[8:] == 1).all()
    out = np.zeros(16)
    launched = launch(_kernel(expression), 1, 8, a, b, out, debug=True)
    assert _told(launched) == ["raised"]
    error = launched.raised.error()
    assert type(error) is ZeroDivisionError
    assert str(error).endswith(f"tid=[2, 0, 0] ctaid=[0, 0, 0]: {message}")
    assert out[2] == 0  # the thread ended there
    np.testing.assert_array_equal(out[8:], b != 0)


@pytest.mark.parametrize(("dtype", "raises"), [("f4", False), ("f8", True), ("i4", True)])
def test_fast_divisions_of_float32_do_not_raise(launch, dtype, raises):
    a, b, out = np.ones(8, dtype), np.zeros(8, dtype), np.zeros(16)
    launched = launch(_kernel("a[i] / b[i]"), 1, 8, a, b, out, debug=True, fastmath=True)
    assert (launched.raised is not None) == raises


def test_a_complex_division_by_zero_ends_its_thread(launch):
    a, b, out = np.ones(8, complex), np.array([1, 0, 1j, 2, 0, 1, 1, 1]), np.zeros(16, complex)
    launched = launch(_kernel("a[i] / b[i]"), 1, 8, a, b, out)
    assert [f.kind for f in launched.findings] == ["silent-raise"]
    np.testing.assert_array_equal(out[8:], b != 0)
    assert out[2] == -1j
    assert isinstance(launch(_kernel("a[i] / b[i]"), 1, 8, a, b, out, debug=True).raised.error(), ZeroDivisionError)


def test_an_item_outside_of_a_tuple_raises_under_debug_and_is_reported_else(launch):
    kernel = _kernel("a.shape[b[i]]")
    a, b, out = np.ones((3, 4)), np.array([0, 1, -1, -2, 2, -3, 0, 1]), np.zeros(16)
    launched = launch(kernel, 1, 8, a, b, out)
    assert _told(launched) == ["out-of-bounds"]
    assert launched.raised is None
    out = np.zeros(16)
    launched = launch(kernel, 1, 8, a, b, out, debug=True)
    assert _told(launched) == ["raised"]
    assert isinstance(launched.raised.error(), IndexError)
    assert str(launched.raised.error()).endswith("tid=[4, 0, 0] ctaid=[0, 0, 0]: tuple index out of range")
    np.testing.assert_array_equal(out[:8], [3, 4, 4, 3, 0, 0, 3, 4])


def test_device_functions_divide_without_raising(launch):
    @cuda.jit(device=True)
    def quotient(x, y):
        return x / y

    def kernel(out):
        i = cuda.grid(1)
        out[i] = quotient(1.0, i)

    out = np.zeros(2)
    launched = launch(kernel, 1, 2, out, debug=True)
    assert launched.raised is None
    assert out.tolist() == [np.inf, 1]
