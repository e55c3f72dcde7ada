"""01 Indexing: what vector_add, saxpy and grayscale must compute, and how exactly.

Runs in the trusted process only. In: a random generator and the sizes of a check. Out: inputs, expected
outputs, tolerances. For a student this file defines the exercise: ``expected`` says what is right.
"""

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.problem import Floats, Inputs, Output, Problem, Sample, Work

# The unit roundoff of float32: rounding a real number to float32 changes it by at most U times its size.
U = 2.0**-24

# Room for products of two roundings, which the derivations below leave out.
SECOND_ORDER = 1 + 2.0**-20

# So many outputs of a larger race are looked at, others in every run. Whoever leaves out one in a thousand is caught.
SAMPLED = 2**16

# Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, in 256ths. They add up to 256, so white stays white.
RED, GREEN, BLUE = 77, 150, 29


def some(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[npt.NDArray[np.int64], ...]:
    """SAMPLED random places, with the last one, of an array of this shape: an index for each of its axes."""
    size = math.prod(shape)
    return np.unravel_index(np.append(rng.integers(0, size, SAMPLED - 1), size - 1), shape)


def random_floats(rng: np.random.Generator, n: int) -> npt.NDArray[np.float32]:
    """``n`` standard normal float32 numbers, none of them zero."""
    values = rng.standard_normal(n, dtype=np.float32)
    values[values == 0] = 1
    return values


class VectorAdd(Problem):
    """``out[i] = a[i] + b[i]``."""

    entry = "vector_add"

    def make_inputs(self, rng: np.random.Generator, n: int, special: bool = False) -> Inputs:
        """a and b with ``n`` elements; ``special`` puts infinities, a NaN and negative zeros into them."""
        a, b = random_floats(rng, n), random_floats(rng, n)
        if special:
            places = rng.choice(np.arange(1, n), size=4, replace=False)
            a[places] = [np.inf, np.inf, np.nan, -0.0]
            b[places[1]], b[places[3]] = -np.inf, -0.0
        return {"a": a, "b": b, "out": Output((n,), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):  # inf - inf is NaN, here as on a GPU
            return {"out": inputs["a"].astype(np.float64) + inputs["b"]}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        return {"out": inputs["a"] + inputs["b"]}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """One rounding of the exact sum: ``U |a + b|``.

        An IEEE addition gives the exact sum, rounded once. Adding in float16, or rounding an input or the sum
        to float16, is wrong by up to 2^-11 |a + b|: 8192 times as much.
        """
        return {"out": _of_finite(U * np.abs(expected["out"]))}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """SAMPLED elements."""
        if inputs["a"].size <= SAMPLED:
            return None
        (chosen,) = some(rng, inputs["a"].shape)
        out = Output((SAMPLED,), np.float32)
        return Sample({"a": inputs["a"][chosen], "b": inputs["b"][chosen], "out": out}, {"out": chosen})

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as many, down to a million."""
        return halved(sizes, least=2**20)

    def work(self, inputs: Inputs) -> Work:
        n = inputs["a"].size
        return Work(bytes=3 * 4 * n, operations=n)


class Saxpy(Problem):
    """``out[i] = alpha * x[i] + y[i]``, "single-precision a times x plus y"."""

    entry = "saxpy"

    def make_inputs(self, rng: np.random.Generator, n: int, special: bool = False) -> Inputs:
        """alpha, and x and y with ``n`` elements; ``special`` puts infinities and NaNs at random places."""
        alpha = random_floats(rng, 1)[0]
        x, y = random_floats(rng, n), random_floats(rng, n)
        if special:
            places = rng.choice(np.arange(1, n), size=4, replace=False)
            x[places] = [np.inf, np.inf, np.nan, -0.0]
            y[places[1]], y[places[3]] = -np.copysign(np.float32(np.inf), alpha), np.nan
        return {"alpha": alpha, "x": x, "y": y, "out": Output((n,), np.float32)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):
            return {"out": np.float64(inputs["alpha"]) * inputs["x"] + inputs["y"]}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        with np.errstate(invalid="ignore"):
            out = inputs["alpha"] * inputs["x"]
            out += inputs["y"]
        return {"out": out}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """Two roundings, of the product and of the sum: ``U (|alpha x| + |alpha x + y|)``.

        A fused multiply-add rounds once, after the addition, and stays within the second term. In float16
        each rounding is 8192 times as coarse.
        """
        product = np.abs(np.float64(inputs["alpha"]) * inputs["x"])
        return {"out": _of_finite(SECOND_ORDER * U * (product + np.abs(expected["out"])))}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """SAMPLED elements."""
        if inputs["x"].size <= SAMPLED:
            return None
        (chosen,) = some(rng, inputs["x"].shape)
        smaller = {name: inputs[name][chosen] for name in ("x", "y")}
        out = Output((SAMPLED,), np.float32)
        return Sample({"alpha": inputs["alpha"], **smaller, "out": out}, {"out": chosen})

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as many, down to a million."""
        return halved(sizes, least=2**20)

    def work(self, inputs: Inputs) -> Work:
        n = inputs["x"].size
        return Work(bytes=3 * 4 * n, operations=2 * n)


def telling_pixel(rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """A random pixel, no channel of it 0, whose grey is another one by each of the usual mistakes.

    Then an image of one pixel is no matter of luck. Of all pixels about one in sixteen is such a one.
    """
    pixels = rng.integers(1, 256, (2000, 3), dtype=np.uint8)
    weights = np.array([RED, GREEN, BLUE])
    right, *other_orders = ((pixels[:, order] @ weights + 128) // 256 for order in map(list, permutations(range(3))))
    exact = pixels @ np.array([0.299, 0.587, 0.114])
    mistakes = [*other_orders, pixels @ weights // 256, np.floor(exact), np.floor(exact + 0.5), pixels.sum(axis=1) // 3]
    tells = np.all([mistake != right for mistake in mistakes], axis=0)
    return pixels[tells][0]


class Grayscale(Problem):
    """``out[r, c] = (77 R + 150 G + 29 B + 128) // 256`` of the pixel ``image[r, c] = (R, G, B)``."""

    entry = "grayscale"

    def make_inputs(self, rng: np.random.Generator, height: int, width: int, saturated: bool = False) -> Inputs:
        """A (height, width, 3) uint8 image; ``saturated`` draws each channel from 0 and 255 only, but the first's."""
        image = rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        if saturated:
            image = np.where(image < 128, np.uint8(0), np.uint8(255))
        image[0, 0] = telling_pixel(rng)
        return {"image": image, "out": Output((height, width), np.uint8)}

    def expected(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        red, green, blue = np.moveaxis(inputs["image"].astype(np.int64), 2, 0)
        return {"out": (RED * red + GREEN * green + BLUE * blue + 128) // 256}

    def baseline(self, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
        image = inputs["image"]
        luma = np.uint16(RED) * image[:, :, 0]  # uint16 suffices: 256 * 255 + 128 is below 65,536
        luma += np.uint16(GREEN) * image[:, :, 1]
        luma += np.uint16(BLUE) * image[:, :, 2]
        luma += 128
        luma >>= 8
        return {"out": luma.astype(np.uint8)}

    def tolerance(self, inputs: Inputs, expected: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
        """None: the definition is in whole numbers.

        float32 arithmetic on the same weights is exact too, since every intermediate result is a whole number
        below 2^24. float16 has 11 bits where the sum needs 16, and misses about one pixel in fifty.
        """
        return {"out": np.zeros(())}

    def sample(self, inputs: Inputs, rng: np.random.Generator) -> Sample | None:
        """SAMPLED pixels, as an image of one row."""
        height, width, _ = inputs["image"].shape
        if height * width <= SAMPLED:
            return None
        rows, columns = (index[np.newaxis] for index in some(rng, (height, width)))
        out = Output((1, SAMPLED), np.uint8)
        return Sample({"image": inputs["image"][rows, columns], "out": out}, {"out": (rows, columns)})

    def smaller(self, sizes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Half as high and wide, down to a thousand."""
        return halved(sizes, least=2**10)

    def work(self, inputs: Inputs) -> Work:
        height, width, channels = inputs["image"].shape
        return Work(bytes=(channels + 1) * height * width, operations=7 * height * width)


def halved(sizes: Mapping[str, Any], least: int) -> dict[str, Any] | None:
    """Half of each size; None where one would be less than ``least``."""
    halves = {name: size // 2 for name, size in sizes.items()}
    return halves if min(halves.values()) >= least else None


def _of_finite(bound: Floats) -> Floats:
    """``bound`` where it is a number: an expected infinity or NaN leaves no room."""
    return np.where(np.isfinite(bound), bound, 0.0)
