"""What kernels of assignments 01 to 04 compute, in NumPy: in float32 in any order, or with one step in float16.

Tests hold the tolerances of problem.py against it. ``order`` adds along the first axis and rounds every partial
sum to the dtype it is given; ``half`` names the step that is done in float16 ("" for none).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Order = Callable[[Array], Array]
Compute = Callable[..., Array]


def one_after_the_other(terms: Array) -> Array:
    """As one thread adds."""
    return np.add.accumulate(terms, axis=0, dtype=terms.dtype)[-1]


def backwards(terms: Array) -> Array:
    return one_after_the_other(terms[::-1])


def as_a_tree(terms: Array) -> Array:
    """As a block adds in shared memory: the upper half onto the lower half, again and again."""
    while len(terms) > 1:
        half = (len(terms) + 1) // 2
        folded = terms[:half].copy()
        folded[: len(terms) - half] += terms[half:]
        terms = folded
    return terms[0]


def in_chunks(terms: Array) -> Array:
    """As tiles of 16 are added: inside of each first."""
    whole = len(terms) - len(terms) % 16
    parts = [one_after_the_other(terms[start : start + 16]) for start in range(0, whole, 16)]
    parts += [one_after_the_other(terms[whole:])] if whole < len(terms) else []
    return one_after_the_other(np.stack(parts))


def in_strides(terms: Array) -> Array:
    """As a grid of 64 threads adds: each takes every 64th, then a tree."""
    padded = np.zeros((-(-len(terms) // 64) * 64, *terms.shape[1:]), terms.dtype)
    padded[: len(terms)] = terms
    return as_a_tree(one_after_the_other(padded.reshape(-1, 64, *terms.shape[1:])))


ORDERS = (one_after_the_other, backwards, as_a_tree, in_chunks, in_strides)


def to_half(values: Array, wanted: bool = True) -> Array:
    """``values`` rounded to float16 if wanted, as float32."""
    return values.astype(np.float16).astype(np.float32) if wanted else values


def added(terms: Array, order: Order, half: bool) -> Array:
    """The sum along the first axis, with float16 accumulators if ``half``."""
    return order(terms.astype(np.float16)).astype(np.float32) if half else order(terms)


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c``, rounded once: a product of float32 numbers is exact in float64."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def vector_add(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    a, b = (to_half(inputs[name], half == "inputs") for name in "ab")
    return to_half(added(np.stack([a, b]), order, half == "sums"), half == "output")


def saxpy(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    alpha, x, y = (to_half(np.asarray(inputs[name]), half == "inputs") for name in ("alpha", "x", "y"))
    return to_half(added(np.stack([alpha * x, y]), order, half == "sums"), half == "output")


def grayscale(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    dtype = np.float16 if half else np.float32
    channels = np.moveaxis(inputs["image"].astype(dtype), 2, 0)
    terms = np.array([77, 150, 29], dtype)[:, None, None] * channels
    offset = np.full((1, *channels.shape[1:]), 128, dtype)
    return (order(np.concatenate([terms, offset])) // dtype(256)).astype(np.uint8)


def reduce_sum(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    x = to_half(inputs["x"], half == "inputs")
    return to_half(added(x[:, None], order, half == "sums"), half == "output")


def reduce_max(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    return np.fmax.reduce(to_half(inputs["x"], bool(half)), keepdims=True)


def matmul(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    a, b = (to_half(inputs[name], half == "inputs") for name in "ab")
    terms = a.T[:, :, None] * b[:, None, :]
    return to_half(added(terms, order, half == "sums"), half == "output")


def matmul_fused(inputs: dict[str, Any]) -> Array:
    """With one fused multiply-add per step, as a GPU does it."""
    out = np.zeros((len(inputs["a"]), inputs["b"].shape[1]), np.float32)
    for column, row in zip(inputs["a"].T, inputs["b"], strict=True):
        out = fused_multiply_add(column[:, None], row[None, :], out)
    return out


def softmax(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    x = to_half(inputs["x"], half == "inputs")
    weights = to_half(np.exp(x - np.max(x, axis=1, keepdims=True)), half == "weights")
    return to_half(weights / added(weights.T, order, half == "sums")[:, None], half == "output")


LOG2_E = np.float32(math.log2(math.e))


def softmax_by_powers_of_two(inputs: dict[str, Any]) -> Array:
    """exp(x - m) as 2 ** (x log2(e) - m log2(e)), each product rounded by itself: the least accurate way."""
    x = inputs["x"]
    weights = np.exp2(x * LOG2_E - np.max(x, axis=1, keepdims=True) * LOG2_E)
    return weights * (np.float32(1) / one_after_the_other(weights.T)[:, None])


def softmax_online(inputs: dict[str, Any]) -> Array:
    """One walk over each row for maximum and sum, rescaling when the maximum grows."""
    x = inputs["x"]
    largest, total = x[:, 0].copy(), np.ones(len(x), np.float32)
    for column in x.T[1:]:
        grown = np.maximum(largest, column)
        total = total * np.exp(largest - grown) + np.exp(column - grown)
        largest = grown
    return np.exp(x - largest[:, None]) / total[:, None]


def _attention_scores(inputs: dict[str, Any], order: Order, half: str) -> Array:
    q, k = (to_half(inputs[name], half == "inputs") for name in "qk")
    terms = np.moveaxis(q[:, :, None, :] * k[:, None, :, :], 3, 0)
    scores = added(terms, order, half == "sums") * np.float32(1 / math.sqrt(q.shape[2]))
    if inputs["causal"]:
        n = q.shape[1]
        scores[:, np.triu(np.ones((n, n), bool), k=1)] = -np.inf
    return to_half(scores, half == "scores")


def attention(inputs: dict[str, Any], order: Order, half: str = "") -> Array:
    scores = _attention_scores(inputs, order, half)
    v = to_half(inputs["v"], half == "inputs")
    weights = to_half(np.exp(scores - np.max(scores, axis=2, keepdims=True)), half == "weights")
    by_key = np.moveaxis(weights, 2, 0)
    total = added(by_key, order, half == "sums")
    values = added(by_key[..., None] * np.moveaxis(v, 1, 0)[:, :, None, :], order, half == "sums")
    return to_half(values / total[..., None], half == "output")


def attention_online(inputs: dict[str, Any], tile: int) -> Array:
    """Tile by tile with online rescaling; exponentials as powers of two of unscaled products."""
    scores = _attention_scores(inputs, in_chunks, "") * LOG2_E
    heads, n, d = inputs["q"].shape
    largest = np.full((heads, n, 1), -np.inf, np.float32)
    total, acc = np.zeros((heads, n, 1), np.float32), np.zeros((heads, n, d), np.float32)
    for start in range(0, n, tile):
        part = scores[:, :, start : start + tile]
        grown = np.maximum(largest, np.max(part, axis=2, keepdims=True))
        weights, rescale = np.exp2(part - grown), np.exp2(largest - grown)
        total, acc = total * rescale, acc * rescale
        for j in range(weights.shape[2]):
            total += weights[:, :, j : j + 1]
            acc = fused_multiply_add(weights[:, :, j : j + 1], inputs["v"][:, None, start + j], acc)
        largest = grown
    return acc / total


# Per entry point: how to compute it, and the steps that can be done in float16.
KERNELS: dict[str, tuple[Compute, tuple[str, ...]]] = {
    "vector_add": (vector_add, ("inputs", "sums", "output")),
    "saxpy": (saxpy, ("inputs", "sums", "output")),
    "grayscale": (grayscale, ("arithmetic",)),
    "reduce_sum": (reduce_sum, ("inputs", "sums", "output")),
    "reduce_max": (reduce_max, ("inputs",)),
    "matmul": (matmul, ("inputs", "sums", "output")),
    "softmax": (softmax, ("inputs", "weights", "sums", "output")),
    "attention": (attention, ("inputs", "scores", "weights", "sums", "output")),
}
