"""Functions that call themselves run as written, each call in a frame of its own."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32

from grader.errors import NotSimulated
from grader.simulator.frontend import KernelError
from grader.simulator.stops import DepthLimit


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


@cuda.jit(device=True)
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


@cuda.jit(device=True)
def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@cuda.jit(device=True)
def hanoi(n, source, target, spare, moves):
    """Counts the moves between each two pegs; returns nothing."""
    if n == 0:
        return
    hanoi(n - 1, source, spare, target, moves)
    moves[source, target] += 1
    hanoi(n - 1, spare, target, source, moves)


@cuda.jit(device=True)
def paths(x, y, limit):
    """Ways through a grid, with a loop and its counter in every frame."""
    total = 0
    for k in range(limit):
        if k == 0 and x > 0:
            total += paths(x - 1, y, limit)
        elif k == 1 and y > 0:
            total += paths(x, y - 1, limit)
        elif k == 2 and x == 0 and y == 0:
            total += 1
    return total


def test_each_thread_recurses_to_its_own_depth(launch):
    def kernel(out):
        i = cuda.grid(1)
        out[0, i] = factorial(i % 13)
        out[1, i] = fibonacci(i % 12)
        out[2, i] = is_even(i)

    out = np.zeros((3, 64), np.int64)
    assert launch(kernel, 2, 32, out).findings == ()
    fib, fact = [0, 1], [1]
    for k in range(1, 13):
        fib.append(fib[-1] + fib[-2])
        fact.append(fact[-1] * k)
    assert out[0].tolist() == [fact[i % 13] for i in range(64)]
    assert out[1].tolist() == [fib[i % 12] for i in range(64)]
    assert out[2].tolist() == [i % 2 == 0 for i in range(64)]


def test_calls_inside_arguments_of_calls(launch):
    def kernel(out):
        i = cuda.grid(1)
        out[i] = ackermann(i // 4, i % 4)

    def reference(m, n):
        if m == 0:
            return n + 1
        return reference(m - 1, 1 if n == 0 else reference(m, n - 1))

    out = np.zeros(12, np.int64)
    launch(kernel, 1, 12, out)
    assert out.tolist() == [reference(i // 4, i % 4) for i in range(12)]


def test_functions_that_return_nothing_and_write_arrays(launch):
    def kernel(moves):
        i = cuda.grid(1)
        hanoi(i, 0, 2, 1, moves[i])

    def reference(n, source, target, spare, moves):
        if n:
            reference(n - 1, source, spare, target, moves)
            moves[source, target] += 1
            reference(n - 1, spare, target, source, moves)

    moves = np.zeros((7, 3, 3), np.int32)
    assert launch(kernel, 1, 7, moves).findings == ()
    expected = np.zeros_like(moves)
    for n in range(7):
        reference(n, 0, 2, 1, expected[n])
    np.testing.assert_array_equal(moves, expected)


def test_every_frame_has_its_own_loop_counter(launch):
    def kernel(out):
        i = cuda.grid(1)
        out[i] = paths(i % 3, i // 3, 3)

    def reference(x, y):
        if x == 0 and y == 0:
            return 1
        return (reference(x - 1, y) if x else 0) + (reference(x, y - 1) if y else 0)

    out = np.zeros(9, np.int64)
    launch(kernel, 1, 9, out)
    assert out.tolist() == [reference(i % 3, i // 3) for i in range(9)]


def test_barriers_inside_of_recursion(launch):
    @cuda.jit(device=True)
    def halve(s, t, width):
        if width == 0:
            return s[0]
        if t < width:
            s[t] += s[t + width]
        cuda.syncthreads()
        return halve(s, t, width // 2)

    def kernel(x, out):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[cuda.grid(1)]
        cuda.syncthreads()
        out[cuda.grid(1)] = halve(s, t, 32)

    x = np.random.default_rng(1).integers(0, 9, 128).astype(np.float32)
    out = np.zeros(128, np.float32)
    assert launch(kernel, 2, 64, x, out).findings == ()
    np.testing.assert_array_equal(out, np.repeat(x.reshape(2, 64).sum(1), 64))


def test_threads_that_return_early_leave_the_others_their_frames(launch):
    def kernel(out):
        i = cuda.grid(1)
        if i % 3 == 0:
            return
        first = fibonacci(i % 7)
        if i % 3 == 1:
            out[i] = first
            return
        out[i] = first + factorial(i % 5)

    fact, fib = [1, 1, 2, 6, 24], [0, 1, 1, 2, 3, 5, 8]
    out = np.zeros(60, np.int64)
    launch(kernel, 1, 60, out)
    assert out.tolist() == [0 if i % 3 == 0 else fib[i % 7] + (fact[i % 5] if i % 3 == 2 else 0) for i in range(60)]


def test_unwinding_frames_that_look_alike_is_no_endless_wait(launch):
    @cuda.jit(device=True)
    def down(n, out):
        if n > 0:
            down(n - 1, out)
            for _ in range(3):
                pass

    def kernel(out):
        down(900, out)
        out[cuda.grid(1)] = 1

    out = np.zeros(2)
    result = launch(kernel, 1, 2, out)
    assert result.findings == ()
    assert result.finished
    assert out.tolist() == [1, 1]


def test_endless_recursion_names_its_line(launch):
    @cuda.jit(device=True)
    def forever(n):
        if n < 0:
            return 0
        return forever(n + 1) + 1

    def kernel(out):
        out[0] = forever(1)

    with pytest.raises(DepthLimit) as stopped:
        launch(kernel, 1, 1, np.zeros(1))
    assert stopped.value.place.text == "return forever(n + 1) + 1"


def test_recursion_without_any_result_is_numbas_error(launch):
    @cuda.jit(device=True)
    def runaway(n):
        return runaway(n + 1)

    def kernel(out):
        out[0] = runaway(1)

    with pytest.raises(KernelError, match="runaway"):
        launch(kernel, 1, 1, np.zeros(1))


def test_local_arrays_of_recursive_functions_are_not_known(launch):
    @cuda.jit(device=True)
    def nested(n):
        mine = cuda.local.array(2, float32)
        mine[0] = n
        if n > 0:
            nested(n - 1)
        return mine[0]

    def kernel(out):
        out[0] = nested(2)

    with pytest.raises(NotSimulated, match=r"local array.*mine = cuda.local.array"):
        launch(kernel, 1, 1, np.zeros(1))


def _scaled(factor, inner):
    @cuda.jit(device=True)
    def function(x):
        return factor * inner(x)

    return function


def _unchanged():
    @cuda.jit(device=True)
    def function(x):
        return x

    return function


def test_functions_of_one_factory_that_call_each_other_are_different_functions(launch):
    function = _scaled(2, _scaled(3, _scaled(5, _unchanged())))

    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    x, out = np.arange(64, dtype=np.int64), np.zeros(64, np.int64)
    result = launch(kernel, 2, 32, x, out)
    np.testing.assert_array_equal(out, 30 * x)
    assert not result.findings or all(finding.severity.name == "ADVICE" for finding in result.findings)
