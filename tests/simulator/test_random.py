"""xoroshiro128p of numba.cuda.random: the same numbers as Numba's host functions compute."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest
from numba import cuda
from numba.cuda.random import (
    init_xoroshiro128p_states_cpu,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

MASK = (1 << 64) - 1


def _states(count, seed=7):
    states = np.zeros(count, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(states, seed, 0)
    return states


def _next(state):
    """One step of D. Blackman and S. Vigna's xoroshiro128+ (2016), in Python integers."""

    def rotated(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    s0, s1 = state
    result = (s0 + s1) & MASK
    s1 ^= s0
    state[:] = [(rotated(s0, 55) ^ s1 ^ (s1 << 14)) & MASK, rotated(s1, 36)]
    return result


def test_integers_and_states_are_those_of_the_published_generator(launch):
    def kernel(states, out):
        i = cuda.grid(1)
        for k in range(5):
            out[i, k] = xoroshiro128p_next(states, i)

    states, out = _states(33), np.zeros((33, 5), np.uint64)
    plain = [[int(s["s0"]), int(s["s1"])] for s in states]
    result = launch(kernel, 1, 33, states, out)
    assert out.tolist() == [[_next(state) for _ in range(5)] for state in plain]
    assert [[int(s["s0"]), int(s["s1"])] for s in states] == plain
    assert result.findings == ()


@pytest.mark.parametrize(
    ("draw", "dtype"),
    [(xoroshiro128p_uniform_float32, np.float32), (xoroshiro128p_uniform_float64, np.float64)],
)
def test_uniform_numbers_are_bit_equal_to_the_hosts(launch, draw, dtype):
    def kernel(states, out):
        i = cuda.grid(1)
        for k in range(out.shape[1]):
            out[i, k] = draw(states, i)

    states, out = _states(64), np.zeros((64, 4), dtype)
    host = states.copy()
    launch(kernel, 2, 32, states, out)
    expected = np.array([[draw(host, i) for _ in range(4)] for i in range(64)])
    np.testing.assert_array_equal(out, expected.astype(dtype))
    np.testing.assert_array_equal(states, host)


@pytest.mark.parametrize(
    ("draw", "dtype"),
    [(xoroshiro128p_normal_float32, np.float32), (xoroshiro128p_normal_float64, np.float64)],
)
def test_normal_numbers_are_the_hosts_up_to_the_last_bits_of_log(launch, draw, dtype):
    def kernel(states, out):
        i = cuda.grid(1)
        out[i, 0] = draw(states, i)
        out[i, 1] = draw(states, i)

    states, out = _states(256, 99), np.zeros((256, 2), dtype)
    host = states.copy()
    launch(kernel, 2, 128, states, out)
    expected = np.array([[draw(host, i) for _ in range(2)] for i in range(256)])
    # Both take log of a float32, in float32, whose last bit differs between NumPy, the C library and a GPU.
    tolerance = 8 * np.finfo(np.float32).eps
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(states, host)


def test_a_jump_is_the_hosts(launch):
    def kernel(states):
        xoroshiro128p_jump(states, cuda.grid(1))

    states = _states(3)
    host = states.copy()
    launch(kernel, 1, 3, states)
    for i in range(3):
        xoroshiro128p_jump(host, i)
    np.testing.assert_array_equal(states, host)


def test_threads_that_share_one_state_race(launch):
    def kernel(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i % 16)

    result = launch(kernel, 1, 32, _states(32), np.zeros(32, np.float32))
    assert "race" in [finding.kind for finding in result.findings]


def test_pi_by_random_points(launch):
    def kernel(states, n, out):
        i = cuda.grid(1)
        if i < states.shape[0]:
            inside = 0
            for _ in range(n):
                x = xoroshiro128p_uniform_float32(states, i)
                y = xoroshiro128p_uniform_float32(states, i)
                if x * x + y * y <= 1:
                    inside += 1
            out[i] = 4.0 * inside / n

    states, out = _states(100), np.zeros(100)
    host = states.copy()
    launch(kernel, 1, 128, states, 50, out)
    expected = []
    for i in range(100):
        points = [(xoroshiro128p_uniform_float32(host, i), xoroshiro128p_uniform_float32(host, i)) for _ in range(50)]
        expected.append(sum(np.float32(x) ** 2 + np.float32(y) ** 2 <= 1 for x, y in points) * 4 / 50)
    np.testing.assert_allclose(out, expected)
    assert abs(out.mean() - math.pi) < 0.1
