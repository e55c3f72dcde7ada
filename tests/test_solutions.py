"""The problems of assignments 01 to 04: what is right, term by term, and which inputs are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from checked_calls import CALLS, ORDINARY, PROBLEMS, RACES, SCRIBES, inputs_of, unique

from grader.problem import Output


def test_grayscale_is_the_rounded_weighted_mean() -> None:
    inputs = inputs_of("grayscale", {"height": 9, "width": 7}, 1)
    found = PROBLEMS["grayscale"].expected(inputs)["out"]
    for row, column in np.ndindex(9, 7):
        red, green, blue = (int(channel) for channel in inputs["image"][row, column])
        assert found[row, column] == math.floor((77 * red + 150 * green + 29 * blue) / 256 + 0.5)
        assert abs(found[row, column] - (0.299 * red + 0.587 * green + 0.114 * blue)) < 1.1


def test_an_image_of_one_pixel_tells_the_usual_mistakes_apart() -> None:
    for seed in range(50):
        inputs = inputs_of("grayscale", {"height": 1, "width": 1}, seed)
        red, green, blue = map(int, inputs["image"][0, 0])
        exact = 0.299 * red + 0.587 * green + 0.114 * blue
        mistakes = [
            (77 * red + 150 * green + 29 * blue) // 256,
            (77 * blue + 150 * green + 29 * red + 128) // 256,
            int(exact),
            int(exact + 0.5),
            (red + green + blue) // 3,
        ]
        assert int(PROBLEMS["grayscale"].expected(inputs)["out"][0, 0]) not in mistakes


def test_matmul_is_the_sum_of_products() -> None:
    inputs = inputs_of("matmul", {"m": 3, "k": 5, "n": 4}, 1)
    found = PROBLEMS["matmul"].expected(inputs)["out"]
    for i, j in np.ndindex(3, 4):
        products = inputs["a"][i].astype(np.float64) * inputs["b"][:, j]
        assert found[i, j] == pytest.approx(math.fsum(products), rel=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_a_mean_of_values_weighted_by_softmax(causal: bool) -> None:
    inputs = inputs_of("attention", {"heads": 2, "n": 6, "d": 3, "causal": causal}, 1)
    found = PROBLEMS["attention"].expected(inputs)["out"]
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    for head, query in np.ndindex(2, 6):
        seen = range(query + 1 if causal else 6)
        weights = [math.exp(math.fsum(q[head, query] * k[head, key]) / math.sqrt(3)) for key in seen]
        for column in range(3):
            mean = math.fsum(w * v[head, key, column] for w, key in zip(weights, seen, strict=True)) / math.fsum(
                weights
            )
            assert found[head, query, column] == pytest.approx(mean, rel=1e-12)


def test_maximum_ignores_nan_and_is_minus_infinity_without_numbers() -> None:
    def found(values: list[float]) -> float:
        inputs = {"x": np.array(values, np.float32), "out": Output((1,), np.float32)}
        expected, baseline = PROBLEMS["reduce_max"].expected(inputs), PROBLEMS["reduce_max"].baseline(inputs)
        assert expected["out"][0] == baseline["out"][0]
        return float(expected["out"][0])

    assert found([math.nan, -3, math.nan, -2, math.nan]) == -2
    assert found([math.nan, math.nan]) == -math.inf
    assert found([-1, math.inf, math.nan]) == math.inf


# ------------------------------------------------------------------ samples


@pytest.mark.parametrize(("entry", "sizes"), unique(RACES))
def test_a_sample_of_a_race_is_what_the_whole_call_has_there(entry: str, sizes: dict[str, Any]) -> None:
    problem, smaller = PROBLEMS[entry], sizes
    while problem.smaller(smaller):
        smaller = problem.smaller(smaller)
    inputs = inputs_of(entry, smaller, 1)
    sample = problem.sample(inputs, np.random.default_rng(2))
    again = problem.sample(inputs, np.random.default_rng(3))
    whole = problem.expected(inputs)
    if sample is None:
        assert all(value.size == 1 for value in whole.values())  # there is nothing to choose from
        return
    part = problem.expected(sample.inputs)
    rooms, room = problem.tolerance(sample.inputs, part), problem.tolerance(inputs, whole)
    for name, place in sample.places.items():
        assert part[name].shape == sample.inputs[name].shape == whole[name][place].shape
        assert np.allclose(part[name], whole[name][place], rtol=1e-12, atol=0)
        there = np.broadcast_to(room[name], whole[name].shape)[place]
        assert np.allclose(np.broadcast_to(rooms[name], part[name].shape), there, rtol=1e-5, atol=0)
        assert not np.array_equal(whole[name][place], whole[name][again.places[name]])


# ------------------------------------------------------------------ inputs


@pytest.mark.parametrize(("entry", "sizes"), unique(CALLS))
def test_inputs_are_random_and_begin_with_no_zero(entry: str, sizes: dict[str, Any]) -> None:
    first, again, other = (inputs_of(entry, sizes, seed) for seed in (1, 1, 2))
    for name, value in first.items():
        if isinstance(value, Output | bool):
            continue
        assert np.array_equal(value, again[name], equal_nan=True)
        assert np.asarray(value).dtype in (np.float32, np.uint8)
        if sizes.get("values") not in ("all NaN", "-inf"):
            assert not np.array_equal(value, other[name], equal_nan=True)
        assert np.all(np.asarray(value).reshape(-1)[:1] != 0)


def test_special_inputs_hold_what_they_promise() -> None:
    x = inputs_of("reduce_max", {"n": 1023, "largest_at": 256}, 1)["x"]
    assert np.argmax(x) == 256
    x = inputs_of("reduce_max", {"n": 3, "values": "some NaN"}, 1)["x"]
    assert np.isnan(x).tolist() == [True, False, True]
    assert np.all(inputs_of("reduce_max", {"n": 99, "values": "negative"}, 1)["x"] < 0)
    x = inputs_of("softmax", {"rows": 50, "cols": 3, "logits": "masked"}, 1)["x"]
    assert np.all(np.isneginf(x[:, [0, 2]]))
    assert np.all(np.isfinite(x[:, 1]))
    for logits in ("huge", "all negative"):
        inputs = inputs_of("attention", {"heads": 2, "n": 20, "d": 24, "causal": True, "logits": logits}, 1)
        scores = inputs["q"] @ inputs["k"].transpose(0, 2, 1) / math.sqrt(24)
        assert np.max(np.abs(scores), axis=(1, 2)) == pytest.approx(10_000, rel=1e-3)
        assert np.all(scores[:, 0, 0] < 0)
        assert np.all(scores < -104) == (logits == "all negative")  # exp(-104) is 0 in float32


@pytest.mark.parametrize("entry", PROBLEMS)
def test_checked_sizes_are_not_only_multiples_and_come_several_to_a_process(entry: str) -> None:
    calls = [sizes for name, sizes in CALLS if name == entry]
    for name in {"n", "m", "k", "rows", "cols", "height", "width"} & calls[0].keys():
        values = {sizes[name] for sizes in calls}
        assert any(value % 32 for value in values)
        assert any(value < 32 for value in values)
        assert any(value > 32 for value in values)
    groups = [group for scribe in SCRIBES.values() for group in scribe.groups if group[0][0] == entry]
    assert max(len({str(sizes) for _, sizes in group}) for group in groups) >= 2
    assert entry in [name for name, _ in RACES]


@pytest.mark.parametrize(("entry", "sizes"), ORDINARY)
def test_work_counts_every_array_once(entry: str, sizes: dict[str, Any]) -> None:
    inputs = inputs_of(entry, sizes, 1)
    arrays = [v.nbytes for v in inputs.values() if isinstance(v, np.ndarray)]
    arrays += [math.prod(v.shape) * np.dtype(v.dtype).itemsize for v in inputs.values() if isinstance(v, Output)]
    work = PROBLEMS[entry].work(inputs)
    assert work.bytes == sum(arrays)
    assert work.operations >= math.prod(inputs["out"].shape) - 1
