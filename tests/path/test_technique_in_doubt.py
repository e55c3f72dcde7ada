"""An estimate alone fails nobody; where an exact count has missed the same, it need not wait for a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import tiny_course

from grader.judging import judge_submission
from grader.records import CheckResult, Failure, State
from grader.scoring import settled

CHECKS = '''\
import pytest


@pytest.mark.part("correctness")
def test_doubles(submission):
    """Each element comes out doubled."""
    submission.check(n=64)


@pytest.mark.part("technique")
def test_reads_once(submission):
    """Each element is read once."""
    submission.simulate(n=64).require("loads_of_x", at_most=64)


@pytest.mark.part("speed")
def test_raced(submission):
    """What is raced reads each element once as well."""
    submission.simulate(n=64 * 64, blocks=4).require("loads_of_x", at_most=64 * 64)
'''
TWICE = "out[i] = x[i] + x[i]\n        out[i] = x[i] + x[i]"


def judged(root: Path, kernel: str, checks: str = CHECKS) -> dict[str, CheckResult]:
    """The checks of a submission whose kernel computes with ``kernel``, by name."""
    tiny_course.write_course(root, test_public=checks, test_hidden="")
    (root / "solutions/01/test_hidden.py").unlink()
    (root / "ada").mkdir(exist_ok=True)
    text = tiny_course.KERNELS.replace("out[i] = 2 * x[i]\n    ###", f"{kernel}\n    ###")
    assert kernel in text
    (root / "ada/kernels.py").write_text(text)
    verdict = judge_submission(root / "solutions/01", root / "ada", device="simulated", seed=1)
    return {check.name: check for check in verdict.checks}


def test_what_misses_the_technique_wherever_it_is_looked_at_fails(tmp_path: Path) -> None:
    found = judged(tmp_path, TWICE)
    assert found["test_doubles"].passed
    assert found["test_reads_once"].passed is False
    assert found["test_raced"].passed is False
    failure = found["test_raced"].failure
    assert failure is not None
    assert "too many reads of x" in failure.what


def test_whatever_the_order_of_the_checks(tmp_path: Path) -> None:
    first, technique, speed = CHECKS.partition('@pytest.mark.part("technique")')
    body, mark, raced = speed.partition('@pytest.mark.part("speed")')
    found = judged(tmp_path, TWICE, first + mark + raced + "\n\n" + technique + body)
    assert list(found).index("test_raced") < list(found).index("test_reads_once")
    assert found["test_raced"].passed is False


def test_what_misses_it_by_an_estimate_alone_waits_for_a_person(tmp_path: Path) -> None:
    deeper = TWICE.replace("\n", "\n    ")
    only_at_large_sizes = f"if out.size > 64:\n            {deeper}\n        else:\n            out[i] = 2 * x[i]"
    found = judged(tmp_path, only_at_large_sizes)
    assert found["test_reads_once"].passed
    assert found["test_raced"].state is State.NOT_MEASURED
    assert "somebody has to look" in found["test_raced"].reason


def test_nor_does_another_counter_or_entry_point_settle_it() -> None:
    failure = Failure("technique", "too many")
    technique = CheckResult("a", "technique", 1.0, "", False, False, failure=failure, missed="double loads_of_x")
    speed = CheckResult(
        "b", "speed", 1.0, "", False, None, State.NOT_MEASURED, missed="double loads_of_x", doubt=failure
    )
    assert settled([speed, technique])[0].failure == failure
    for other in ("halve loads_of_x", "double stores_of_out", ""):
        assert settled([speed, replace(technique, missed=other)])[0] == speed
        assert settled([replace(speed, missed=other), technique])[0].passed is None
    assert settled([speed, replace(speed, name="c")]) == (speed, replace(speed, name="c"))
