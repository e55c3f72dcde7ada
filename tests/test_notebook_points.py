"""course.yml's points in the grade cells of notebooks: the numbers and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_notebook as tiny

from grader import notebook_points
from grader.notebook import read_cells
from grader.notebook_points import with_points, write_points


def test_only_the_numbers_of_grade_cells_are_others() -> None:
    text = tiny.text_of(tiny.document())
    made, changed = with_points(text, {**tiny.POINTS, "speed": 22.5, "quiz": 7.0})
    assert changed == ("speed: 20 to 22.5", "quiz: 10 to 7")
    assert [cell.points for cell in read_cells(made) if cell.is_grade] == [50, 20, 22.5, 7]
    there, wanted = text.splitlines(), made.splitlines()
    assert sum(a != b for a, b in zip(there, wanted, strict=True)) == 2


def test_all_else_stays_to_the_letter_and_a_cell_that_is_there_twice_is_written_twice() -> None:
    source, wanted = tiny.document(), tiny.document()
    for made, points in ((source, 10), (wanted, 7)):
        made["cells"][0]["source"] = ["Größe ½\n"]
        made["cells"][-1] = tiny.grade_cell("quiz", points)
        made["cells"].append(tiny.grade_cell("quiz", points))
        # Named like a part, and no grade cell: a release refuses it, and nothing is written into it.
        made["cells"].append(tiny.code("other", "", grade=False, solution=True, grade_id="speed", points=3))
    text, changed = with_points(tiny.text_of(source), {**tiny.POINTS, "quiz": 7.0})
    assert text == tiny.text_of(wanted)
    assert changed == ("quiz: 10 to 7",) * 2


def test_what_has_the_points_or_is_no_notebook_stays_as_it_is() -> None:
    text = tiny.text_of(tiny.document()).replace("\n ", "\n  ")
    assert with_points(text, tiny.POINTS) == (text, ())
    for broken in ("{broken", "[]", '{"cells": [1, {"metadata": 3}, {"metadata": {"nbgrader": {"grade": true}}}]}'):
        assert with_points(broken, tiny.POINTS) == (broken, ())


@pytest.mark.parametrize(("points", "told"), [(None, "none"), (True, "True"), ("20", "20")])
def test_points_that_are_no_number_are_written(points: object, told: str) -> None:
    made = tiny.document()
    made["cells"][-1]["metadata"]["nbgrader"]["points"] = points
    _, changed = with_points(tiny.text_of(made), tiny.POINTS)
    assert changed == (f"quiz: {told} to 10",)


@pytest.mark.parametrize(("before", "wanted"), [(True, 1), (False, 0)])
def test_true_and_false_are_no_points_though_python_takes_them_for_1_and_0(before: bool, wanted: float) -> None:
    made = tiny.document()
    made["cells"][-1]["metadata"]["nbgrader"]["points"] = before
    text, changed = with_points(tiny.text_of(made), {**tiny.POINTS, "quiz": wanted})
    assert changed == (f"quiz: {before} to {wanted}",)
    assert read_cells(text)[-1].points == wanted


def test_a_file_is_written_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tiny.write(tmp_path, tiny.document()) / tiny.NAME
    path.chmod(0o640)
    assert write_points(path, {"quiz": 12}) == ("quiz: 10 to 12",)
    assert (path.stat().st_mode & 0o777, [p.name for p in tmp_path.iterdir()]) == (0o640, [tiny.NAME])
    assert write_points(path, {"quiz": 12}) == ()
    path.write_bytes(b"\xff")
    assert write_points(path, {"quiz": 12}) == ()


def test_a_file_that_cannot_be_written_or_is_too_large_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny.write(tmp_path, tiny.document()) / tiny.NAME
    before = path.read_bytes()
    monkeypatch.setattr(notebook_points, "MAX_NOTEBOOK_BYTES", len(before) - 1)
    assert write_points(path, {"quiz": 12}) == ()
    monkeypatch.undo()

    def full(self: Path, text: str, **_: object) -> int:
        self.write_bytes(text.encode()[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        write_points(path, {"quiz": 12})
    assert path.read_bytes() == before
