"""A tolerance must let every float32 computation pass, in whatever order, and none with a step in float16.

Both are shown for every size that a check uses, and for stand-ins of the sizes that are raced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import numpy_kernels as kernels
import pytest
from checked_calls import ORDINARY, PROBLEMS, inputs_of

from grader.correctness import compare

SEEDS = (1, 2, 3)


def _judge(entry: str, inputs: dict[str, Any]) -> Callable[[npt.NDArray[Any]], str]:
    """``judge(found)``: what the judge would say of a result for ``inputs``; empty if it is right."""
    problem, output = PROBLEMS[entry], inputs["out"]
    expected = problem.expected(inputs)
    tolerance = problem.tolerance(inputs, expected)["out"]

    def judge(found: npt.NDArray[Any]) -> str:
        assert found.shape == output.shape
        assert found.dtype == output.dtype
        failure = compare("out", expected["out"], found, tolerance, entry)
        return "" if failure is None else str(failure)

    return judge


def _wrong(entry: str, inputs: dict[str, Any], found: npt.NDArray[Any]) -> str:
    """What the judge would say of ``found``; empty if it is right."""
    return _judge(entry, inputs)(found)


def _orders(entry: str, orders: tuple[kernels.Order, ...]) -> tuple[kernels.Order, ...]:
    """Those to try: one, where no more than two terms are added."""
    return orders[:1] if entry in ("vector_add", "saxpy") else orders


@pytest.mark.parametrize(("entry", "sizes"), ORDINARY)
def test_float32_passes_in_every_order(entry: str, sizes: dict[str, Any]) -> None:
    for seed in SEEDS:
        inputs = inputs_of(entry, sizes, seed)
        wrong = _judge(entry, inputs)
        for order in _orders(entry, kernels.ORDERS):
            assert not wrong(kernels.KERNELS[entry][0](inputs, order)), order.__name__
        assert not wrong(PROBLEMS[entry].baseline(inputs)["out"])


def _float16_shows(entry: str, sizes: Mapping[str, Any]) -> bool:
    """Sizes from which on a float16 step is certain to fail; below, an output or two may be lucky."""
    if entry in ("vector_add", "saxpy"):
        return bool(sizes["n"] >= 31)
    if entry == "reduce_sum":  # a longer one is rounded: then a float16 of the total may be lucky, too
        return bool(31 <= sizes["n"] <= 2**17)
    if entry == "grayscale":
        return bool(sizes["height"] * sizes["width"] >= 500)
    if entry == "matmul":
        return bool(sizes["m"] * sizes["n"] >= 2)
    if entry == "softmax":
        return bool(sizes["rows"] >= 2 and sizes["cols"] >= 2)
    if entry == "attention":
        return bool(sizes["n"] >= 3 and sizes["d"] >= 2)
    return True


@pytest.mark.parametrize(
    ("entry", "sizes"),
    [call for call in ORDINARY if _float16_shows(*call.values)],
)
def test_float16_in_any_step_fails(entry: str, sizes: dict[str, Any]) -> None:
    compute, steps = kernels.KERNELS[entry]
    for seed in SEEDS:
        inputs = inputs_of(entry, sizes, seed)
        wrong = _judge(entry, inputs)
        orders = _orders(entry, (kernels.one_after_the_other, kernels.as_a_tree, kernels.in_strides))
        for step, order in itertools.product(steps, orders):
            assert wrong(compute(inputs, order, step)), (step, order.__name__, seed)


@pytest.mark.parametrize("entry", [entry for entry in PROBLEMS if entry not in ("grayscale", "softmax")])
def test_float16_nearly_always_fails_for_a_single_element(entry: str) -> None:
    names = {"matmul": ("m", "k", "n"), "attention": ("heads", "n", "d", "causal")}.get(entry, ("n",))
    compute = kernels.KERNELS[entry][0]
    drawn = [inputs_of(entry, dict.fromkeys(names, 1), seed) for seed in range(40)]
    lucky = sum(not _wrong(entry, inputs, compute(inputs, kernels.as_a_tree, "inputs")) for inputs in drawn)
    assert lucky <= 1


def test_fused_multiply_adds_pass() -> None:
    for seed in SEEDS:
        inputs = inputs_of("saxpy", {"n": 10_007}, seed)
        fused = kernels.fused_multiply_add(np.asarray(inputs["alpha"]), inputs["x"], inputs["y"])
        assert not _wrong("saxpy", inputs, fused)
        for m, k, n in ((1, 1, 1), (33, 65, 17), (2, 1023, 3)):
            inputs = inputs_of("matmul", {"m": m, "k": k, "n": n}, seed)
            assert not _wrong("matmul", inputs, kernels.matmul_fused(inputs))


@pytest.mark.parametrize(("rows", "cols"), [(5, 1023), (131, 3), (1, 1025)])
@pytest.mark.parametrize("logits", ["ordinary", "huge", "all -10,000"])
def test_other_ways_to_softmax_pass(rows: int, cols: int, logits: str) -> None:
    for seed in SEEDS:
        inputs = inputs_of("softmax", {"rows": rows, "cols": cols, "logits": logits}, seed)
        for compute in (kernels.softmax_online, kernels.softmax_by_powers_of_two):
            assert not _wrong("softmax", inputs, compute(inputs)), compute.__name__


@pytest.mark.parametrize("logits", ["ordinary", "huge", "all negative"])
@pytest.mark.parametrize("causal", [False, True])
def test_online_attention_passes_with_any_tile(logits: str, causal: bool) -> None:
    for seed, (n, d), tile in itertools.product(SEEDS, ((37, 16), (70, 64)), (1, 16, 64)):
        sizes = {"heads": 2, "n": n, "d": d, "causal": causal, "logits": logits}
        inputs = inputs_of("attention", sizes, seed)
        assert not _wrong("attention", inputs, kernels.attention_online(inputs, tile)), tile


# ------------------------------------------------------------------ tolerances at the size of a race


def test_a_long_sum_passes_in_float32_and_fails_in_float16() -> None:
    inputs = inputs_of("reduce_sum", {"n": 1 << 22}, 1)
    for order in (kernels.one_after_the_other, kernels.as_a_tree, kernels.in_strides):
        assert not _wrong("reduce_sum", inputs, kernels.reduce_sum(inputs, order))
        assert _wrong("reduce_sum", inputs, kernels.reduce_sum(inputs, order, "inputs"))


def test_sums_are_exact_as_far_as_the_tolerance_says() -> None:
    limit = 2**17
    for seed in SEEDS:
        inputs = inputs_of("reduce_sum", {"n": limit}, seed)
        expected = PROBLEMS["reduce_sum"].expected(inputs)
        assert PROBLEMS["reduce_sum"].tolerance(inputs, expected)["out"] == 0
        assert expected["out"] == math.fsum(inputs["x"])
        for order in kernels.ORDERS:
            assert kernels.reduce_sum(inputs, order) == expected["out"]


def test_a_long_product_passes_in_float32_and_fails_in_float16() -> None:
    for seed in SEEDS:
        inputs = inputs_of("matmul", {"m": 24, "k": 4096, "n": 24}, seed)
        for order in kernels.ORDERS:
            assert not _wrong("matmul", inputs, kernels.matmul(inputs, order))
            assert _wrong("matmul", inputs, kernels.matmul(inputs, order, "inputs"))


def test_long_rows_pass_in_float32_and_fail_in_float16() -> None:
    inputs = inputs_of("softmax", {"rows": 16, "cols": 4096}, 1)
    for order in kernels.ORDERS:
        assert not _wrong("softmax", inputs, kernels.softmax(inputs, order))
        for step in ("inputs", "weights", "output"):
            assert _wrong("softmax", inputs, kernels.softmax(inputs, order, step))


def test_attention_to_many_keys_passes_in_float32_and_fails_in_float16() -> None:
    inputs = inputs_of("attention", {"heads": 1, "n": 4096, "d": 8, "causal": False}, 1)
    inputs["q"] = inputs["q"][:, :64]  # all keys, some queries: the rest is the same
    expected = PROBLEMS["attention"].expected(inputs)
    tolerance = PROBLEMS["attention"].tolerance(inputs, expected)["out"]
    assert np.all(np.abs(kernels.attention(inputs, kernels.in_strides) - expected["out"]) <= tolerance)
    for step in ("inputs", "scores", "weights", "output"):
        assert np.any(np.abs(kernels.attention(inputs, kernels.in_strides, step) - expected["out"]) > tolerance), step
