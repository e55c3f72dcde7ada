"""What measures on a GPU fits the grader still: carried out on a GPU that is none, since nobody else would notice."""

# mypy: ignore-errors
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from grader import race_rounds, racing
from grader.baseline import Baseline

from .conftest import MS

TESTS = Path(__file__).parents[1]
VECTOR_ADD = ("01", "vector_add", {"n": 1 << 12}, TESTS.parent / "solutions/01/kernels.py")


@pytest.fixture
def measurements(fake_children, tmp_path, monkeypatch):
    """tests/gpu/measurements.py, and its Racer on the fake GPU."""
    children, script = fake_children
    monkeypatch.syspath_prepend(str(TESTS / "gpu"))
    monkeypatch.setattr(racing, "baseline_time", lambda *_: Baseline(10 * MS, 12 * MS))
    monkeypatch.setattr(race_rounds, "RUNS", 5)
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path,))
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr("grader.peaks.POSSIBLE", ((1e3, 1e15), (1e3, 1e15)))
    script.write_text(json.dumps({"ns": {"vector_add_kernel": 0.5 * MS}}))
    import measurements

    yield measurements, measurements.Racer(children, tmp_path)
    del sys.modules["measurements"]


def test_a_race_is_measured_and_has_a_row(measurements, capsys):
    module, racer = measurements
    number, entry, sizes, file = VECTOR_ADD
    found = [racer.race(number, entry, sizes, file, full_at=module.FULL_AT) for _ in range(2)]
    assert [0 < one["credit"] < 1 for one in found] == [True, True], found
    module.row_of_repeats(module.text_of(entry, sizes), found)
    assert "`vector_add(n=4096)` | 500 µs to 500 µs | 0.00% | 10.0 ms (12.0 ms to 12.0 ms)" in capsys.readouterr().out


def test_a_race_without_a_reference_is_measured_as_well(measurements):
    _, racer = measurements
    number, entry, sizes, file = VECTOR_ADD
    assert racer.race(number, entry, sizes, file, reference=False)["credit"] == 1


def test_a_batch_of_runs_has_clocks(measurements):
    module, racer = measurements
    number, entry, sizes, _ = VECTOR_ADD
    assert len(module.clocks_of(racer.children, number, entry, sizes)) == 8
