"""What kernels print is what a GPU prints, by thread; what they raise is told under debug=True."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, typeof, uint64
from real_lowering import refusal

from grader.records import Severity
from grader.simulator.frontend import KernelError
from grader.simulator.printed import MAX_LINES
from grader.simulator.printing import MAX_ITEMS


def test_numbers_words_and_tuples_are_formatted_as_by_printf(launch):
    def kernel(x):
        i = cuda.grid(1)
        if i == 1:
            print("thread", i, x[i], float32(0.1), True, i > 5)
            print(uint64(2**64 - 1), -7, 1e300 * 1e300, (1, 2.5), (i,))
            print()
            print("at", cuda.threadIdx, cuda.blockIdx.x, cuda.blockDim)

    result = launch(kernel, 1, 4, np.array([0.0, 1.5, 2.0, 3.0]))
    assert result.printed == (
        "thread 1 1.500000 0.100000 True False",
        "18446744073709551615 -7 inf (1, 2.500000) (1,)",
        "",
        "at (1, 0, 0) 0 (4, 1, 1)",
    )


def test_lines_come_by_thread_and_in_the_order_of_each(launch):
    def kernel():
        i = cuda.grid(1)
        for k in range(2 + i % 2):
            print(i, k)
        if i % 2:
            print(i, "odd")

    result = launch(kernel, 2, 3)
    expected = []
    for i in range(6):
        expected += [f"{i} {k}" for k in range(2 + i % 2)] + ([f"{i} odd"] if i % 2 else [])
    assert list(result.printed) == expected


def test_device_functions_print_too(launch):
    @cuda.jit(device=True)
    def shown(value):
        print("value", value)
        return value * 2

    def kernel(out):
        out[cuda.grid(1)] = shown(cuda.grid(1))

    assert launch(kernel, 1, 2, np.zeros(2)).printed == ("value 0", "value 1")


def test_a_flood_of_lines_is_bounded(launch):
    def kernel():
        for k in range(20):
            print(cuda.grid(1), k)

    result = launch(kernel, 8, 128)
    assert len(result.printed) == MAX_LINES
    assert result.lines_left_out == 20 * 1024 - MAX_LINES


@pytest.mark.parametrize(
    ("value", "what"),
    [(np.zeros(3), "arrays"), (np.complex64(1), "complex numbers"), (np.datetime64("2026-01-01"), "dates")],
)
def test_what_numba_cannot_print_is_rejected_at_its_line_as_numba_does(launch, value, what):
    def kernel(x):
        print(x)

    with pytest.raises(KernelError, match=f"Numba cannot print {what}") as rejected:
        launch(kernel, 1, 1, value)
    assert rejected.value.line == kernel.__code__.co_firstlineno + 1
    assert "printing unimplemented" in refusal(kernel, (typeof(value),))


# As text: pytest rewrites the asserts of its modules.
_SCOPE = {"cuda": cuda}
_TEXT = """
def positive(x, out):
    i = cuda.grid(1)
    assert x[i] > 0, "x must be positive"
    out[i] = 1
"""
exec(compile(_TEXT, __file__, "exec"), _SCOPE)
_positive = _SCOPE["positive"]


def _raising(x, out):
    i = cuda.grid(1)
    if x[i] <= 0:
        raise ValueError("no such value")
    out[i] = 1


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(_positive, "AssertionError: x must be positive"), (_raising, "ValueError: no such value")],
)
def test_asserts_and_raises_are_told_under_debug_alone(launch, kernel, message):
    x = np.array([1.0, 2.0, -1.0, 4.0])
    out = np.zeros(4)
    silent = launch(kernel, 1, 4, x, out)
    (advice,) = [f for f in silent.findings if f.kind == "silent-raise"]
    assert advice.severity.value == "advice"
    assert message in advice.what
    assert silent.raised is None
    assert out.tolist() == [1, 1, 0, 1]
    told = launch(kernel, 1, 4, x, out, debug=True)
    (error,) = [f for f in told.findings if f.severity is Severity.ERROR]
    assert error.what == f"{message}, raised by thread 2 of block 0."
    said = f"tid=[2, 0, 0] ctaid=[0, 0, 0]: {message.split(': ')[1]}"
    assert str(told.raised.error()).endswith(said)
    assert str(told.raised.error()).startswith(f"In function {kernel.__name__!r}, file {__file__}, line ")


def test_an_assert_that_holds_says_nothing(launch):
    out = np.zeros(4)
    result = launch(_positive, 1, 4, np.ones(4), out, debug=True)
    assert [f for f in result.findings if f.kind in {"raised", "silent-raise"}] == []
    assert result.raised is None
    assert out.tolist() == [1] * 4


def test_what_a_device_function_raises_reaches_nobody(launch):
    @cuda.jit(device=True)
    def checked(value):
        if value < 0:
            raise ValueError("negative")
        return value

    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = checked(x[i]) + 1

    out = np.zeros(2)
    result = launch(kernel, 1, 2, np.array([1.0, -1.0]), out, debug=True)
    assert [f.kind for f in result.findings if f.kind in {"raised", "silent-raise"}] == ["silent-raise"]
    assert result.raised is None
    assert out.tolist() == [2, 0]


def test_the_items_of_a_tuple_are_printed_as_arguments(launch):
    def kernel(values):
        print(cuda.grid(1), *values)
        print(*(1, 2.5))
        print(*values, 7)

    assert launch(kernel, 1, 1, (4, 2.0)).printed == ("0 4 2.000000", "1 2.500000", "4 2.000000 7")


def test_too_many_items_show_their_format_also_where_python_makes_a_tuple_of_them(launch):
    names = ", ".join(f"r[{k}]" for k in range(MAX_ITEMS + 1))
    scope = {}
    exec(compile(f"def kernel(r):\n    print({names})\n", __file__, "exec"), scope)
    printed = launch(scope["kernel"], 1, 1, np.zeros(40, np.int64)).printed
    assert printed == (" ".join(["%lld"] * (MAX_ITEMS + 1)),)


def test_texts_that_are_values_are_refused_as_by_numba(launch):
    def kernel(n):
        text = "a" if n else "b"
        print(text)

    with pytest.raises(KernelError, match="print texts"):
        launch(kernel, 1, 1, 1)
