"""A race's credit in the record of its check, where the check goes on after the race."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader import pytest_outcome
from grader.pytest_outcome import Outcome, check_result
from grader.records import Failure, State


@pytest.mark.parametrize(
    ("outcome", "credit", "told"),
    [
        (Outcome(State.JUDGED), 0.8, 0.8),
        (Outcome(State.JUDGED, Failure("technique", "There are too many reads.")), 0.0, 0.0),
        (Outcome(State.NOT_MEASURED, reason="blocks do not agree"), 0.0, None),
        (Outcome(State.NOT_JUDGED, reason="the GPU died"), 0.0, None),
    ],
)
def test_what_comes_after_a_race_may_lose_what_it_earned(
    monkeypatch: pytest.MonkeyPatch, outcome: Outcome, credit: float, told: float | None
) -> None:
    monkeypatch.setattr(pytest_outcome, "part_of", lambda item: ("speed", 1.0))
    monkeypatch.setattr(pytest_outcome, "sentence_of", lambda item: "It is fast.")
    raced = SimpleNamespace(findings=[], measured={"credit": 0.8, "speedup": 5.0}, printed=[])
    item: Any = SimpleNamespace(name="test_fast", path=Path("test_public.py"), funcargs={"submission": raced})
    result = check_result(item, outcome, 1.0)
    assert result.credit == credit
    assert result.measured.get("credit") == told
    assert result.measured["speedup"] == 5.0
