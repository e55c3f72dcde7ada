"""course.yml's points in the grade cells of notebooks: the numbers and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_notebook as tiny

from grader.notebook import read_cells
from grader.notebook_points import with_points, write_points


def test_only_the_numbers_of_grade_cells_are_others() -> None:
    text = tiny.text_of(tiny.document())
    made, changed = with_points(text, {**tiny.POINTS, "speed": 22.5, "quiz": 7.0})
    assert changed == ("speed: 20 to 22.5", "quiz: 10 to 7")
    assert [cell.points for cell in read_cells(made) if cell.is_grade] == [50, 20, 22.5, 7]
    there, wanted = text.splitlines(), made.splitlines()
    assert sum(a != b for a, b in zip(there, wanted, strict=True)) == 2


def test_what_has_the_points_or_is_no_notebook_stays_as_it_is() -> None:
    text = tiny.text_of(tiny.document()).replace("\n ", "\n  ")
    assert with_points(text, tiny.POINTS) == (text, ())
    for broken in ("{broken", "[]", '{"cells": [1, {"metadata": 3}, {"metadata": {"nbgrader": {"grade": true}}}]}'):
        assert with_points(broken, tiny.POINTS) == (broken, ())


@pytest.mark.parametrize("points", [None, True, "20"])
def test_points_that_are_no_number_are_written(points: object) -> None:
    made = tiny.document()
    made["cells"][-1]["metadata"]["nbgrader"]["points"] = points
    _, changed = with_points(tiny.text_of(made), tiny.POINTS)
    assert len(changed) == 1


def test_a_file_is_written_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tiny.write(tmp_path, tiny.document()) / tiny.NAME
    path.chmod(0o640)
    assert write_points(path, {"quiz": 12}) == ("quiz: 10 to 12",)
    assert (path.stat().st_mode & 0o777, [p.name for p in tmp_path.iterdir()]) == (0o640, [tiny.NAME])
    assert write_points(path, {"quiz": 12}) == ()
    path.write_bytes(b"\xff")
    assert write_points(path, {"quiz": 12}) == ()
