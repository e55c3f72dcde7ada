"""02 Reduction: what reduce_sum and reduce_max must compute, and how exactly.

Runs in the trusted process only. In: a random generator and the sizes of a check. Out: inputs, expected
outputs, tolerances. For a student this file defines the exercise: ``expected`` says what is right.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.problem import Floats, Inputs, Output, Problem, Work

# The unit roundoff of float32: rounding a real number to float32 changes it by at most U times its size.
U = 2.0**-24

# The elements that reduce_sum adds are whole multiples of GRID. Up to EXACT_UP_TO of them, every sum of some
# of them is a whole number of GRIDs below 2^24, so float32 holds it exactly.
GRID = 2.0**-13
EXACT_UP_TO = 2**17


class ReduceSum(Problem):
    """``out[0]`` is the sum of all elements of x."""

    entry = "reduce_sum"

    def make_inputs(
        self, rng: np.random.Generator, n: int, special: Literal["", "nan", "inf", "both infinities"] = ""
    ) -> Inputs:
        """x with ``n`` elements between -1 and 1, all of the form (4 j + 1) / 8192; ``special`` adds
        non-finite ones.

        The form is chosen so that mistakes cannot hide. No element is zero, so one that is left out or added
        twice changes the sum. Sums are exact (see ``tolerance``). And whatever has fewer than 13 bits loses
        the last bit of three elements in four, always downwards, so that these losses do not cancel; nor does
        the sum itself fit into float16.
        """
        x = np.zeros(n, np.float32)
        while np.float16(total := np.sum(x, dtype=np.float64)) == total:
            x = ((4 * rng.integers(-2048, 2048, n) + 1) * GRID).astype(np.float32)
        places = rng.choice(n, 2, replace=False) if special else ()
        if special == "nan":
            x[places[0]] = np.nan
        elif special == "inf":
            x[places[0]] = -np.inf
        elif special == "both infinities":
            x[places[0]], x[places[1]] = np.inf, -np.inf
        return {"x": x, "out": Output((1,), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):  # inf - inf is NaN, here as on a GPU
            return {"out": np.sum(inputs["x"], dtype=np.float64, keepdims=True)}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        return {"out": np.sum(inputs["x"], keepdims=True)}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """Zero up to EXACT_UP_TO elements, in whatever order they are added; above it ``3 U sqrt(n sum
        x^2)``.

        Count in units of GRID. An element is a whole number with mean -1 and standard deviation s = 4730, so
        a sum of m <= n of them, chosen without a look at their values, has the standard deviation s sqrt(m).
        For n = 2^17 the limit of exactness, 2^24, is 9.8 standard deviations away: a sum of uniform numbers
        passes that with a probability below 10^-20 (Hoeffding's lemma), and a summation has fewer than 2^17
        partial sums.

        Above, rounding begins. An addition changes its result S by at most U |S|, in a direction that is as
        good as random, so n - 1 of them err by no more than U sqrt(sum of S^2 / 3) in the root mean square.
        The order that makes this largest is one after the other, where S^2 is m s^2 on average for m = 1 ...
        n and the bound U s n / sqrt(6). The tolerance is seven times that (N. J. Higham and T. Mary, "Sharper
        Probabilistic Backward Error Analysis for Basic Linear Algebra Kernels with Random Data", SIAM J. Sci.
        Comput. 42, 2020, have the theory). Rounding the elements to float16 takes 3/4 n GRIDs from the sum, a
        thousand times the tolerance.
        """
        x = inputs["x"].astype(np.float64)
        if x.size <= EXACT_UP_TO:
            return {"out": np.zeros(1)}
        bound = 3 * U * np.sqrt(x.size * np.sum(x * x, keepdims=True))
        return {"out": np.where(np.isfinite(bound), bound, 0.0)}

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as many, down to a million."""
        return {**sizes, "n": sizes["n"] // 2} if sizes["n"] >= 2**21 else None

    def work(self, inputs: Inputs) -> Work:
        n = inputs["x"].size
        return Work(bytes=4 * n + 4, operations=n - 1)


class ReduceMax(Problem):
    """``out[0]`` is the largest element of x that is a number, and -inf if none is."""

    entry = "reduce_max"

    def make_inputs(
        self,
        rng: np.random.Generator,
        n: int,
        largest_at: int | None = None,
        values: Literal["any", "negative", "some NaN", "all NaN", "-inf"] = "any",
    ) -> Inputs:
        """x with ``n`` standard normal elements, the largest at index ``largest_at`` (as in Python, -1 is the
        last).

        ``values`` makes all of them negative, or some of them NaN (the first and the last among them), or
        all.
        """
        x = rng.standard_normal(n, dtype=np.float32)
        x[x == 0] = 1
        x[np.argmax(x)] = np.abs(np.max(x))  # the largest is positive, unless asked for otherwise
        if values == "negative":
            x = -np.abs(x)
        if largest_at is not None:
            found = int(np.argmax(x))
            x[found], x[largest_at] = x[largest_at], x[found]
        if values == "some NaN":
            x[rng.random(n) < 1 / 3] = np.nan
            x[0] = x[-1] = np.nan
            x[rng.integers(1, n - 1)] = rng.standard_normal(dtype=np.float32)  # at least one number is left
        elif values == "all NaN":
            x[:] = np.nan
        elif values == "-inf":
            x[:] = -np.inf
        return {"x": x, "out": Output((1,), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        x = inputs["x"].astype(np.float64)
        return {"out": np.max(x, keepdims=True, initial=-np.inf, where=~np.isnan(x))}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        return {"out": np.fmax.reduce(inputs["x"], keepdims=True, initial=np.float32(-np.inf))}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """None: the maximum is one of the elements, and comparing them rounds nothing."""
        return {"out": np.zeros(1)}

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as many, down to a million."""
        return {**sizes, "n": sizes["n"] // 2} if sizes["n"] >= 2**21 else None

    def work(self, inputs: Inputs) -> Work:
        n = inputs["x"].size
        return Work(bytes=4 * n + 4, operations=n - 1)
