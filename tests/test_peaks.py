"""What a GPU reaches is measured once; a file of it that cannot be true is measured again."""

# mypy: ignore-errors
from __future__ import annotations

import json

import pytest

from grader import peaks
from grader.peaks import peaks_of
from grader.roofline import Peaks
from grader.sandbox.limits import Limits

GPU = {"name": "Fake GPU", "driver": "1.2"}
KEY = "Fake GPU GPU-1 driver 1.2"
GOOD = {"bytes_per_second": 1e12, "operations_per_second": 1e13, "cache_bytes": 5}
MEASURED = Peaks(2e12, 3e13, 7)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """``kept({…})`` writes the file and asks; returns the peaks and whether they were measured."""
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path)
    measurements = []

    def measure(child, limits):
        measurements.append(1)
        return MEASURED

    monkeypatch.setattr(peaks, "measure_peaks", measure)

    def ask(content, **asked):
        (tmp_path / "peaks.json").write_text(content if isinstance(content, str) else json.dumps(content))
        return peaks_of(None, GPU, "GPU-1", Limits(), **asked), bool(measurements)

    ask.file = tmp_path / "peaks.json"
    return ask


def test_what_is_kept_is_used(kept):
    assert kept({KEY: GOOD}) == (Peaks(1e12, 1e13, 5), False)


@pytest.mark.parametrize("name", ["bytes_per_second", "operations_per_second"])
@pytest.mark.parametrize("number", [0, -1.0, float("nan"), float("inf"), "fast", None, 1e-300, 1e300])
def test_a_number_that_no_gpu_reaches_is_measured_again(kept, name, number):
    assert kept({KEY: GOOD | {name: number}}) == (MEASURED, True)


def test_a_cache_has_no_less_than_no_bytes(kept):
    assert kept({KEY: GOOD | {"cache_bytes": -1}}) == (MEASURED, True)
    assert kept({KEY: GOOD | {"cache_bytes": 10**40}}) == (MEASURED, True)
    assert kept({KEY: GOOD | {"cache_bytes": 0}})[0].cache_bytes == 0


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', json.dumps({KEY: {"bytes_per_second": 1}})])
def test_a_file_that_is_none_of_ours_is_measured_again(kept, content):
    assert kept(content) == (MEASURED, True)


def test_another_gpus_number_costs_this_one_nothing(kept):
    assert kept({KEY: GOOD, "Other GPU": GOOD | {"bytes_per_second": 0}}) == (Peaks(1e12, 1e13, 5), False)


def test_doubted_peaks_are_the_larger_of_both_measurements_and_never_those_that_cannot_be(kept):
    slow = GOOD | {"bytes_per_second": 9e12}
    assert kept({KEY: slow}, doubted=True)[0] == Peaks(9e12, 3e13, 7)
    assert kept({KEY: slow | {"operations_per_second": float("inf")}}, doubted=True)[0] == MEASURED
    assert json.loads(kept.file.read_text())[KEY]["bytes_per_second"] == 2e12
