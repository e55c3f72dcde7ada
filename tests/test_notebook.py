"""Notebooks as cells: whatever lies there is read for what it holds, or refused in one sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.notebook import Cell, NotebookError, read_cells, sources


def notebook(*cells: object) -> str:
    return json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def raw_cell(source: object = "x = 1", **nbgrader: object) -> dict[str, Any]:
    return {"cell_type": "code", "id": "a", "source": source, "metadata": {"nbgrader": nbgrader}}


def test_a_cell_is_what_nbgrader_makes_of_it() -> None:
    graded = raw_cell(["%check ", "speed"], grade_id="speed", grade=True, solution=False, locked=True, points=30)
    title = {"cell_type": "markdown", "id": "title", "source": "# One", "metadata": {}}
    assert read_cells(notebook(title, graded).encode()) == (
        Cell("", "markdown", "# One", False, False, None, "title"),
        Cell("speed", "code", "%check speed", True, False, 30.0, "a"),
    )


def test_a_byte_order_mark_is_no_part_of_a_notebook() -> None:
    assert len(read_cells(b"\xef\xbb\xbf" + notebook(raw_cell()).encode())) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "found in line 1"),
        (b"{broken", "which is JSON, found in line 1: Expecting property name"),
        (b'{\n"cells": [}', "found in line 2"),
        (b"[]", "found JSON that is a list"),
        (b"12", "found JSON that is a number"),
        (b"null", "found JSON that is null"),
        (b"{}", "with a list of cells, found none"),
        (b'{"cells": {}}', "with a list of cells, found none"),
        (b'{"nbformat": 3, "worksheets": []}', "found one of format 3: open and save it in JupyterLab"),
        (b'{"cells": "\xe9"}', "in UTF-8, found byte 0xe9"),
        (b"[" * 1_000_000, "found JSON that cannot be read"),
        (b'{"cells": ' + b"1" * 10_000 + b"}", "found JSON that cannot be read"),
        (b'{"cells": [' + b"{}," * 10_000 + b"{}]}", "at most 10,000 cells, found 10,001"),
        (b'{"cells": [' + b"[]," * 2_000_000 + b"{}]}", "found JSON of 2,000,003 lists and objects: clear all outputs"),
    ],
)
def test_what_is_no_notebook_is_refused_in_one_sentence(text: bytes, said: str) -> None:
    with pytest.raises(NotebookError) as refused:
        read_cells(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "strange",
    [
        {"cell_type": 7, "source": {"a": 1}, "metadata": []},
        {"metadata": {"nbgrader": "yes"}, "id": None},
        raw_cell(grade_id=["answer_1"], grade="true", solution=1, points="10"),
        raw_cell(points=True),
        raw_cell(points=10**400),
        {},
    ],
)
def test_a_strange_cell_is_a_cell_and_earns_nothing(strange: dict[str, Any]) -> None:
    (cell, good) = read_cells(notebook(strange, raw_cell(grade_id="answer_1")))
    assert (cell.is_grade, cell.is_solution, cell.points) == (False, False, None)
    assert good.grade_id == "answer_1"


def test_numbers_that_are_none_are_no_points() -> None:
    text = notebook(raw_cell(points=1.5)).replace("1.5", "NaN")
    assert read_cells(text)[0].points is None


def test_what_is_no_cell_is_left_out() -> None:
    assert [cell.source for cell in read_cells(notebook(None, 3, [raw_cell()], raw_cell("y")))] == ["y"]


def test_the_first_cell_of_a_name_counts() -> None:
    cells = read_cells(notebook(raw_cell("a", grade_id="answer_1"), raw_cell("b", grade_id="answer_1"), raw_cell("c")))
    assert sources(cells) == {"answer_1": "a"}


@pytest.mark.parametrize("handed_out", ["answer_1 = ...  # a number", "\n# think\nanswer_1 = ...\n# write\n", ""])
def test_a_copy_counts_where_the_first_was_left_as_it_was(handed_out: str) -> None:
    stub, answer, other = (raw_cell(text, grade_id="answer_1") for text in (handed_out, "answer_1 = 5", "answer_1 = 6"))
    for cells in ([stub, answer, other], [answer, stub, other], [answer, other, stub], [stub, stub, answer, other]):
        assert sources(read_cells(notebook(*cells)))["answer_1"] == "answer_1 = 5"
    assert sources(read_cells(notebook(stub, stub)))["answer_1"] == handed_out
    started = raw_cell("answer_1 = ...\nprint(1)", grade_id="answer_1")
    assert sources(read_cells(notebook(started, answer)))["answer_1"] == "answer_1 = ...\nprint(1)"


def test_matching_a_cell_takes_no_longer_for_who_writes_a_strange_one() -> None:
    strange = raw_cell("answer_1 = ...  " + "# \n \t" * 200_000 + "!", grade_id="answer_1")
    assert len(sources(read_cells(notebook(strange, strange)))) == 1


def test_half_a_surrogate_pair_can_be_written_to_a_file() -> None:
    (cell,) = read_cells(notebook(raw_cell("answer_1 = '\ud800'", grade_id="\udfff")))
    assert cell.source.encode() == b"answer_1 = '?'"
    assert cell.grade_id.encode() == b"?"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
keys = ("cell_type", "id", "source", "metadata", "nbgrader", "grade_id", "points")
cells = st.dictionaries(st.sampled_from(keys), anything | st.dictionaries(st.sampled_from(keys), anything), max_size=6)


@given(st.lists(cells | anything, max_size=4))
def test_any_json_is_read_or_refused(contents: list[Any]) -> None:
    for cell in read_cells(json.dumps({"cells": contents})):
        assert all(isinstance(text, str) for text in (cell.grade_id, cell.cell_type, cell.source, cell.cell_id))
