"""03 Tiled matmul: what matmul must compute, and how exactly.

Runs in the trusted process only. In: a random generator and the sizes of a check. Out: inputs, expected
outputs, tolerances. For a student this file defines the exercise: ``expected`` says what is right.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.problem import Floats, Inputs, Output, Problem, Sample, Work

# The unit roundoff of float32: rounding a real number to float32 changes it by at most U times its size.
U = 2.0**-24
SAMPLED_ROWS = 48


class Matmul(Problem):
    """``out = a @ b`` for a of shape (m, k) and b of shape (k, n)."""

    entry = "matmul"

    def make_inputs(self, rng: np.random.Generator, m: int, k: int, n: int, special: bool = False) -> Inputs:
        """Standard normal a (m, k) and b (k, n); ``special`` puts an infinity into one row of a, NaN into
        another, and the same into two columns of b.

        They stand in the last column of a and the last row of b, where a tile that sticks out has its edge.
        """
        a = rng.standard_normal((m, k), dtype=np.float32)
        b = rng.standard_normal((k, n), dtype=np.float32)
        a[a == 0] = 1
        b[b == 0] = 1
        if special:
            rows = rng.choice(np.arange(1, m), size=2, replace=False)
            a[rows, -1] = [np.inf, np.nan]
            columns = rng.choice(np.arange(1, n), size=2, replace=False)
            b[-1, columns] = [np.inf, np.nan]
        return {"a": a, "b": b, "out": Output((m, n), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):
            return {"out": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):
            return {"out": inputs["a"] @ inputs["b"]}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """Per element ``6 U sqrt(k) sqrt(sum of (a[i, l] b[l, j])^2 over l)``.

        Let q be that second root. Each of the k products and k - 1 sums is rounded, which changes a result S
        by at most U |S|, in a direction that is as good as random, as the signs of the products are. A
        partial sum of l products has the size q sqrt(l / k) in the root mean square. Taking the order where
        the squares of all partial sums add up to most, one after the other, the error's root mean square is
        at most

            U / sqrt(3) * sqrt(q^2 + q^2 k / 2)  <=  0.71 U sqrt(k) q,

        and 6 leaves more than eight times that (for k up to 6 it is the worst case). Other orders, tiles,
        fused multiply-adds and wider accumulators err less (N. J. Higham and T. Mary, "Sharper Probabilistic
        Backward Error Analysis for Basic Linear Algebra Kernels with Random Data", SIAM J. Sci. Comput. 42,
        2020).

        Rounding a and b to float16 changes each product by 2^-11.3 of itself in the root mean square, the sum
        by 4.0e-4 q: for k = 4096 this is 17 times the tolerance, for smaller k more. So an output of few
        elements passes in float16 only if all of its errors happen to be that much smaller than usual.
        """
        a = np.where(np.isfinite(inputs["a"]), inputs["a"], 0)
        b = np.where(np.isfinite(inputs["b"]), inputs["b"], 0)
        squares = (a * a) @ (b * b)  # in float32: a tolerance need not be exact, and this is half the time
        bound = 6 * U * np.sqrt(a.shape[1] * squares.astype(np.float64))
        return {"out": np.where(np.isfinite(expected["out"]), bound, 0.0)}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """48 rows of out, drawn after the run: all of them would take the CPU longer than the race takes the GPU.

        Whoever leaves out one row in ten is caught in a single run with a probability of 99 %.
        """
        rows = inputs["a"].shape[0]
        if rows <= SAMPLED_ROWS:
            return None
        chosen = rng.choice(rows, size=SAMPLED_ROWS, replace=False)
        out = Output((SAMPLED_ROWS, inputs["b"].shape[1]), np.float32)
        return Sample({"a": inputs["a"][chosen], "b": inputs["b"], "out": out}, {"out": chosen})

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half of each side, down to products of 1024 x 1024 matrices."""
        halves = {name: size // 2 for name, size in sizes.items()}
        return halves if min(halves.values()) >= 1024 else None

    def work(self, inputs: Inputs) -> Work:
        (m, k), n = inputs["a"].shape, inputs["b"].shape[1]
        return Work(bytes=4 * (m * k + k * n + m * n), operations=2 * m * n * k)
