"""The table in docs/speed.md of what earns what, and the tables of measurements that it is made from."""

from __future__ import annotations

import math

import pytest
from gpu.measurements import NOTHING, factor, row
from speed_table import FAST, READABLE, ROOT, Race, measured, races, remarks, rows, table

from grader.course import load_course

TO_DO = "after new numbers, put what `python tests/speed_table.py` prints into docs/speed.md"


def test_the_table_in_the_docs_is_that_of_the_courses_numbers_and_the_measured_speeds() -> None:
    told = (ROOT / "docs/speed.md").read_text("utf-8")
    of_calls = [line for line in told.splitlines() if line.startswith(("| | call |", "| 0"))]
    made = [line for line in table() if not line.startswith("| ---")]
    assert of_calls == made, TO_DO
    for remark in remarks(measured()):
        assert remark in " ".join(told.split()), TO_DO


def test_every_call_that_is_raced_has_a_row() -> None:
    raced = {
        line.split('race("')[1].split('"')[0]
        for path in ROOT.glob("solutions/*/test_public.py")
        for line in path.read_text("utf-8").splitlines()
        if 'race("' in line
    }
    assert raced == {race.entry for race in measured()}
    assert len(raced) == len(table()) - 2


def test_what_a_row_says_follows_from_the_minimum_and_the_share_of_the_reference() -> None:
    speed = load_course(ROOT / "course.yml").assignment("03").speed
    assert speed is not None
    assert speed.min_speedup is not None
    assert speed.full_at is not None
    minimum, full = speed.min_speedup, 1000 * speed.full_at
    (row,) = rows([Race("matmul(m=4)", {READABLE: 1000.0, "no_tiles": 2 * minimum, FAST: None})])
    share = math.log(2) / math.log(full / minimum)
    assert row == (
        *("03", "`matmul`", f"{minimum:g}", f"{full:,.0f}", f"{share:.0%}"),
        *("1,000", NOTHING, f"{2 * minimum:.3g} (no tiles)", f"{share:.0%}"),
    )


def test_a_race_without_a_time_is_a_dash_and_no_row_is_lost() -> None:
    text = """
## Races

| call | kernels | time | runs | speed-up | of the GPU's limit |
| --- | --- | --- | --- | --- | --- |
| `matmul(m=4096)` | fast | – | – | – | – |
| `matmul(m=4096)` | no_tiles | 104 ms | 8 | 3.25 | 4% (arithmetic) |
| `saxpy(n=1)` | readable | 1 ms | 8 | 1,320 | 4% (memory) |

## Faults

| `kernel` | what |
"""
    assert races(text) == [Race("matmul(m=4096)", {FAST: None, "no_tiles": 3.25}), Race("saxpy(n=1)", {READABLE: 1320})]
    with pytest.raises(ValueError, match="expected a table below '## Races'"):
        races("# Measurements")


def test_measured_numbers_are_written_as_people_write_them(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [factor(value) for value in (1316.4, 16_777.0, 367.2, 99.96, 25.52, 3.254, 0.05)]
    assert shown == ["1,320", "16,800", "367", "100", "25.5", "3.25", "0.05"]
    row("none", "", None, 0, "3 ms")
    assert capsys.readouterr().out == "| none | – | – | 0 | 3 ms |\n"
