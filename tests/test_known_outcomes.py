"""A lint that shares outcomes between submissions says what one says that judges each call anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import class_judges
import pytest
import two_exercises

from grader.authoring import lint
from grader.classroom import Task
from grader.course import Course
from grader.errors import DeviceFault
from grader.fingerprint import fingerprint
from grader.judge import Candidate
from grader.judging import judge_submission, judge_task, known_outcomes
from grader.known_outcomes import KnownOutcomes, Told
from grader.records import CheckResult, Failure, KernelPrints, Place, Verdict

RIGHT = Told(None, None, None, (), (), KernelPrints())
SOURCE = two_exercises.KERNELS.encode()


class Counted(KnownOutcomes):
    """Counts by entry points how often something was really judged."""

    def __init__(self) -> None:
        super().__init__()
        self.judged: Counter[tuple[str, ...]] = Counter()

    def once(
        self, source: bytes, calls: Sequence[tuple[str, Mapping[str, Any]]], by: Hashable, judge: Callable[[], Told]
    ) -> Told:
        def counted() -> Told:
            self.judged[tuple(sorted({entry for entry, _ in calls}))] += 1
            return judge()

        return super().once(source, calls, by, counted)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return two_exercises.write(tmp_path)


def judge(course: Course, text: str, known: KnownOutcomes | None) -> tuple[Verdict, list[object]]:
    """The verdict, and of its checks all but times and places."""
    folder = course.file.parent / "judged"
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(text)
    checks = course.file.parent / "solutions/01"
    verdict = judge_submission(checks, folder, device="simulated", seed=5, known=known)
    return verdict, [without_places(check) for check in verdict.checks]


def without_places(check: CheckResult) -> CheckResult:
    failure = None if check.failure is None else replace(check.failure, where="")
    findings = tuple(replace(finding, place=Place(0, "")) for finding in check.findings)
    return replace(check, seconds=0, failure=failure, findings=findings)


def test_verdicts_are_the_same_whatever_was_judged_before(course: Course) -> None:
    known = Counted()
    texts = [two_exercises.KERNELS, *map(two_exercises.mutant, two_exercises.MUTANTS)]
    anew = {text: judge(course, text, None)[1] for text in texts}
    for text in texts + texts[::-1]:
        assert judge(course, text, known)[1] == anew[text]


def test_only_what_a_mutant_changes_is_judged_again(course: Course) -> None:
    def judged(text: str, known: Counted) -> dict[tuple[str, ...], int]:
        judge(course, two_exercises.KERNELS, known)
        known.judged.clear()
        judge(course, text, known)
        return dict(known.judged)

    both = {("double", "halve"): 1}
    assert judged(two_exercises.KERNELS, Counted()) == {}
    assert judged(two_exercises.mutant("double_triples"), Counted()) == {("double",): 3} | both
    assert judged(two_exercises.mutant("halve_quarters"), Counted()) == {("halve",): 4} | both
    assert judged(two_exercises.mutant("halve_times_is_divided"), Counted()) == {("halve",): 4} | both
    assert (
        judged(two_exercises.mutant("grid_is_fixed_at_the_start"), Counted())
        == {
            ("double",): 3,
            ("halve",): 4,
        }
        | both
    )


def test_lint_says_the_same_with_and_without_sharing(tmp_path: Path) -> None:
    mutants = ("halve_times_is_divided", "double_leaves_its_grid")
    course = two_exercises.write(tmp_path, mutants)
    shared = lint(course, "01", judge_task, workers=1)
    assert [row for row in shared if row.ok is not True] == []
    assert {row.what for row in shared} >= set(mutants)
    assert shared == lint(course, "01", class_judges.anew, workers=1)


def test_all_that_a_lint_judges_has_one_seed_and_another_lint_another(course: Course) -> None:
    seeds: list[int | None] = []

    def note(task: Task) -> Verdict:
        seeds.append(task.lint)
        return class_judges.full_marks(task)

    for _ in range(2):
        lint(course, "01", note, workers=1, make_executor=ThreadPoolExecutor)
    assert None not in seeds
    assert len(set(seeds)) == 2
    assert len(set(seeds[: len(seeds) // 2])) == 1


def test_what_one_lint_knows_is_gone_in_the_next() -> None:
    known = known_outcomes(1)
    assert known_outcomes(1) is known
    assert known_outcomes(2) is not known
    assert known_outcomes(1) is not known


def test_a_student_is_judged_by_a_candidate_that_knows_nothing(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr("grader.known_outcomes.KnownOutcomes.once", refuse)
    solution = course.file.parent / "solutions/01"
    verdict = judge_task(Task(solution, solution, "ada", "simulated"))
    assert [check.name for check in verdict.checks if check.passed is False] == []
    assert verdict.seed != judge_task(Task(solution, solution, "ada", "simulated")).seed


# ------------------------------------------------------------------ KnownOutcomes by itself


def once(known: KnownOutcomes, told: Told | Exception, **changed: Any) -> Told:
    def judge() -> Told:
        if isinstance(told, Exception):
            raise told
        return told

    given = {"source": SOURCE, "calls": [("double", {"n": 3})], "by": "seed 1", "judge": judge}
    return known.once(**given | changed)


def test_the_second_time_is_the_first() -> None:
    known = KnownOutcomes()
    failed = replace(RIGHT, failure=Failure("wrong-values", "out[0] is wrong."), printed=("hello\n",))
    assert once(known, failed) is failed
    assert once(known, RIGHT) is failed
    assert once(known, RIGHT, source=SOURCE + b"\n# a comment\n") is failed


@pytest.mark.parametrize(
    "changed",
    [
        {"calls": [("double", {"n": 4})]},
        {"calls": [("double", {"n": 3.0})]},
        {"calls": [("double", {"n": "3"})]},
        {"calls": [("double", {"m": 3})]},
        {"calls": [("halve", {"n": 3})]},
        {"calls": [("double", {"n": 3}), ("double", {"n": 3})]},
        {"by": "seed 2"},
        {"source": SOURCE.replace(b"THREADS = 64", b"THREADS = 32")},
        {"source": SOURCE + b"\nprint(3)\n"},
    ],
)
def test_another_call_is_judged_by_itself(changed: dict[str, Any]) -> None:
    known = KnownOutcomes()
    other = replace(RIGHT, printed=("other\n",))
    assert once(known, RIGHT) is RIGHT
    assert once(known, other, **changed) is other


def test_calls_in_another_order_are_judged_by_themselves() -> None:
    known = KnownOutcomes()
    other = replace(RIGHT, printed=("other\n",))
    calls = [("double", {"n": 3}), ("halve", {"n": 3})]
    assert once(known, RIGHT, calls=calls) is RIGHT
    assert once(known, other, calls=calls[::-1]) is other


@pytest.mark.parametrize("kind", ["time-out", "stalled", "memory", "crash"])
def test_an_end_that_the_machine_may_have_a_part_in_is_not_kept(kind: str) -> None:
    known = KnownOutcomes()
    once(known, replace(RIGHT, failure=Failure(kind, "It did not end.")))
    assert once(known, RIGHT) is RIGHT


def test_a_fault_is_not_kept() -> None:
    known = KnownOutcomes()
    with pytest.raises(DeviceFault):
        once(known, DeviceFault("the GPU fell off the bus"))
    assert once(known, RIGHT) is RIGHT


@pytest.mark.parametrize("changed", [{"source": b"import os\n" + SOURCE}, {"calls": [("double", {"n": (1, 2)})]}])
def test_what_has_no_fingerprint_or_no_plain_sizes_is_not_kept(changed: dict[str, Any]) -> None:
    known = KnownOutcomes()
    once(known, replace(RIGHT, printed=("first\n",)), **changed)
    assert once(known, RIGHT, **changed) is RIGHT


def test_the_exercises_have_fingerprints() -> None:
    """Otherwise nothing above would have been shared."""
    for name in two_exercises.MUTANTS:
        assert fingerprint(two_exercises.mutant(name).encode(), ["double", "halve"]) is not None


def test_a_knowing_candidate_offers_what_a_candidate_does() -> None:
    from grader.known_outcomes import KnowingCandidate

    public = {name for name in vars(Candidate) if not name.startswith("_")}
    assert public <= set(vars(KnowingCandidate))
