"""04 Fused attention: what softmax and attention must compute, and how exactly.

Runs in the trusted process only. In: a random generator and the sizes of a check. Out: inputs, expected
outputs, tolerances. For a student this file defines the exercise: ``expected`` says what is right.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.problem import Floats, Inputs, Output, Problem, Sample, Work

# The unit roundoff of float32: rounding a real number to float32 changes it by at most U times its size.
U = 2.0**-24

# The smallest normal float32. Below it float32 has fewer digits, and a GPU may flush to zero.
SMALLEST = 2.0**-126

# As large as a logit gets, either way. exp(HUGE) overflows float64, too; exp(-HUGE) is 0.
HUGE = 10_000.0

# So many rows of a larger race's results are looked at, others in every run: their definition takes the CPU seconds.
# Whoever leaves out one row in ten is caught in a single run with a probability of 99 %.
SAMPLED_ROWS = 48

# So many rows of scores are held at a time, however long the sequence.
ROWS_AT_A_TIME = 512


def random_floats(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Standard normal float32 numbers, none of them zero."""
    values = rng.standard_normal(shape, dtype=np.float32)
    values[values == 0] = 1
    return values


class Softmax(Problem):
    """``out[r, c] = exp(x[r, c]) / sum of exp(x[r, :])``."""

    entry = "softmax"

    def make_inputs(
        self,
        rng: np.random.Generator,
        rows: int,
        cols: int,
        logits: Literal["ordinary", "huge", "all -10,000", "masked"] = "ordinary",
    ) -> Inputs:
        """x of shape (rows, cols), normal with standard deviation 3, or, by ``logits``:

        huge: near 10,000 and -10,000 in random turns; all -10,000: near -10,000; masked: -inf in about a
        third of the places and in each row's first and last one (for at least three columns).
        """
        x = 3 * random_floats(rng, (rows, cols))
        if logits == "huge":
            x += rng.choice(np.array([-HUGE, HUGE], np.float32), (rows, cols))
        elif logits == "all -10,000":
            x -= np.float32(HUGE)
        elif logits == "masked":
            masked = rng.random((rows, cols)) < 1 / 3
            masked[:, [0, -1]] = True
            masked[np.arange(rows), rng.integers(1, cols - 1, rows)] = False
            x[masked] = -np.inf
        return {"x": x, "out": Output((rows, cols), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        return {"out": _softmax(inputs["x"].astype(np.float64))}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        out = inputs["x"] - np.max(inputs["x"], axis=1, keepdims=True)
        np.exp(out, out=out)
        out /= np.sum(out, axis=1, keepdims=True)
        return {"out": out}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """Per element ``p U (cols + 32 + w + sum of p w over the row) + SMALLEST``, w = 4 (|x| + |largest
        x|).

        The exponent x - m is rounded, which changes exp(x - m) by at most U |x - m| of itself. Whoever
        computes it as 2 ** (x log2(e) - m log2(e)) rounds each product and the constant too: w U covers both.
        A float32 exp is right to 2 units in the last place, 4 U. Adding cols positive numbers in any order is
        wrong by at most (cols - 1) U of their sum, besides what is wrong with the numbers themselves. An
        online softmax multiplies its sum by exp(old m - new m) when it finds a larger m; 32 U has room for
        this, for the exponentials and for the division.

        Rounding x to float16 changes p by up to 8192 |x| U of itself, rounding p or the sum by up to 8192 U.
        """
        x, p = inputs["x"].astype(np.float64), expected["out"]
        largest = np.max(x, axis=1, keepdims=True)
        w = np.where(p > 0, 4 * (np.abs(np.where(np.isfinite(x), x, 0)) + np.abs(largest)), 0)
        relative = x.shape[1] + 32 + w + np.sum(p * w, axis=1, keepdims=True)
        return {"out": U * p * relative + SMALLEST}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """SAMPLED_ROWS rows."""
        rows, cols = inputs["x"].shape
        if rows <= SAMPLED_ROWS:
            return None
        chosen = rng.choice(rows, SAMPLED_ROWS, replace=False)
        out = Output((SAMPLED_ROWS, cols), np.float32)
        return Sample({"x": inputs["x"][chosen], "out": out}, {"out": chosen})

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as many rows, down to 256."""
        return {**sizes, "rows": sizes["rows"] // 2} if sizes["rows"] >= 512 else None

    def work(self, inputs: Inputs) -> Work:
        n = inputs["x"].size  # per element: compare, subtract, exp, add, divide
        return Work(bytes=2 * 4 * n, operations=5 * n)


class Attention(Problem):
    """``out[h] = softmax(q[h] @ k[h].T / sqrt(d)) @ v[h]``; causal: query i sees the keys 0 ... i only."""

    entry = "attention"

    def make_inputs(
        self,
        rng: np.random.Generator,
        heads: int,
        n: int,
        d: int,
        causal: bool,
        logits: Literal["ordinary", "huge", "all negative"] = "ordinary",
    ) -> Inputs:
        """Standard normal q, k and v of shape (heads, n, d), which gives scores q k / sqrt(d) of size 1.

        By ``logits``, q is scaled until the largest score of each head is 10,000 in size; huge: with query 0
        and key 0 opposed, so that causal attention begins far below zero; all negative: with signs that make
        every score negative.
        """
        q, k, v = (random_floats(rng, (heads, n, d)) for _ in range(3))
        if logits == "huge":
            q[:, 0] = -k[:, 0]
        elif logits == "all negative":
            q, k = -np.abs(q), np.abs(k)
        if logits != "ordinary":
            size = np.abs(q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)) / math.sqrt(d)
            q *= (HUGE / np.max(size, axis=(1, 2), keepdims=True)).astype(np.float32)
        return {"q": q, "k": k, "v": v, "out": Output((heads, n, d), np.float32), "causal": causal}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        out = np.empty(inputs["q"].shape)
        for head, rows, scores in _scores(inputs):
            out[head, rows] = _softmax(scores) @ inputs["v"][head].astype(np.float64)
        return {"out": out}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        q, k, v = inputs["q"], inputs["k"], inputs["v"]
        n, d = q.shape[1:]
        out = np.empty_like(v)
        future = np.triu(np.ones((n, n), bool), k=1) if inputs["causal"] else None
        for head in range(len(q)):  # one head's scores at a time stay closer to the cache
            scores = (q[head] * np.float32(1 / math.sqrt(d))) @ k[head].T
            if future is not None:
                scores[future] = -np.inf
            scores -= np.max(scores, axis=1, keepdims=True)
            np.exp(scores, out=scores)
            np.matmul(scores, v[head], out=out[head])
            out[head] /= np.sum(scores, axis=1, keepdims=True)
        return {"out": out}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """Errors of the scores, of the sum over keys, and of the division, in this order::

            U (3 sqrt(sum of (p (v - out) z)^2) + 4 sqrt(n) sqrt(sum of (p v)^2) + (2 sqrt(n) + 16) |out|)

        with sums over the keys j that query i sees, p = softmax(s), and z U the error of a score s:
        ``z = 4 sqrt(d) sqrt(sum of (q k)^2 over d) / sqrt(d) + 8 (|s| + |largest s|) + 16``.

        A score is a dot product of d terms; assignment 03 derives its part of z. Scaling, subtracting the
        maximum and the exponential have the rest, as in softmax's tolerance. To first order, a change e of
        score j changes out by p (v - out) e, and the signs of v - out are random, so errors of different keys
        add up like the sides of a right angle; 3 leaves room (for up to nine keys it is the worst case). The
        second term is assignment 03's for the product of p and v, the third is for the sum of the p
        (positive, so it errs by about 0.25 U sqrt(n) of itself), rescaling and division. To be right about
        logits of 10,000 means to be finite and to pick the right keys: z grows with them as float32's error
        does.

        With n keys of similar weight, float16 scores, weights or values are wrong by about 3300 U |v| /
        sqrt(n) in the root mean square, and the tolerance is near (4 + 120 / sqrt(n)) U |v|.
        """
        q2, k2 = inputs["q"].astype(np.float64) ** 2, inputs["k"].astype(np.float64) ** 2
        keys = inputs["k"].shape[1]
        bound = np.empty(inputs["q"].shape)
        for head, rows, scores in _scores(inputs):
            v, out = inputs["v"][head].astype(np.float64), expected["out"][head, rows]
            p = _softmax(scores)
            largest = np.max(scores, axis=1, keepdims=True)
            z = 4 * np.sqrt(q2[head, rows] @ k2[head].T) + 16
            z += 8 * (np.abs(np.where(p > 0, scores, 0)) + np.abs(largest))
            weight = (p * z) ** 2
            spread = weight @ v**2 - 2 * out * (weight @ v) + out**2 * np.sum(weight, axis=1, keepdims=True)
            bound[head, rows] = (
                3 * np.sqrt(np.maximum(spread, 0))
                + 4 * math.sqrt(keys) * np.sqrt(p**2 @ v**2)
                + (2 * math.sqrt(keys) + 16) * np.abs(out)
            )
        return {"out": U * bound + SMALLEST}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """SAMPLED_ROWS queries of each head, with all keys; all of them where a query does not see all keys."""
        heads, n, d = inputs["q"].shape
        if n <= SAMPLED_ROWS or inputs["causal"]:
            return None
        chosen = rng.choice(n, SAMPLED_ROWS, replace=False)
        fewer = {"q": inputs["q"][:, chosen], "out": Output((heads, SAMPLED_ROWS, d), np.float32)}
        return Sample({**inputs, **fewer}, {"out": (slice(None), chosen)})

    def work(self, inputs: Inputs) -> Work:
        heads, n, d = inputs["q"].shape
        pairs = heads * (n * (n + 1) // 2 if inputs["causal"] else n * n)
        # Per pair of query and key: two dot products' steps of d, and five operations of the softmax.
        return Work(bytes=4 * 4 * heads * n * d, operations=pairs * (4 * d + 5))


def _softmax(x: Floats) -> Floats:
    """Softmax of each row of ``x``, which may hold -inf."""
    weights = np.exp(x - np.max(x, axis=1, keepdims=True))
    return weights / np.sum(weights, axis=1, keepdims=True)


def _scores(inputs: Inputs) -> Iterator[tuple[int, slice, Floats]]:
    """For each head and some rows at a time: head, rows, and the scores, -inf where a query must not look."""
    q, k = inputs["q"].astype(np.float64), inputs["k"].astype(np.float64)
    heads, n, d = q.shape
    for head in range(heads):
        for start in range(0, n, ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, n))
            scores = q[head, rows] @ k[head].T / math.sqrt(d)
            if inputs["causal"]:
                scores[np.arange(k.shape[1]) > np.arange(start, rows.stop)[:, None]] = -np.inf
            yield head, rows, scores
