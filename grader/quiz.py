"""Quizzes: questions with keys and a student's cells in, CheckResults of part ``quiz`` out. Pure; trusted process.

How questions and keys are written: ``quiz_keys``. An answer is the last literal that its cell assigns; nothing is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from grader.literals import NoLiteral, assigned, is_number
from grader.quiz_keys import Asked, Key, Question, near, plain
from grader.records import QUIZ, CheckResult, Failure, State

LATER = "judged when you hand in"
MAX_SHOWN = 60  # characters of a student's answer


def judge(questions: Sequence[Question], answers: Mapping[str, str]) -> tuple[CheckResult, ...]:
    """A check for each question, judged by the source of its cell in ``answers``; one without a cell is not passed.

    What is said of a wrong answer is its explanation, never the key.
    """
    return tuple(_judged(question, answers.get(question.name)) for question in questions)


def not_passed(questions: Sequence[Question], failure: Failure) -> tuple[CheckResult, ...]:
    """A check for each question of a notebook that could not be read, none of them passed."""
    return tuple(_check(question, failure) for question in questions)


def waiting(questions: Iterable[Asked | str], answers: Mapping[str, str] | None = None) -> tuple[CheckResult, ...]:
    """Checks for questions of which the key is not here: not measured; ``answers``: what cannot be read is said."""
    checks = []
    for question in questions:
        known = Asked(question, question) if isinstance(question, str) else question
        reason = LATER
        if answers is not None:
            told = _read(known, answers.get(known.name))
            if known.choices and not isinstance(told, Failure):
                told = _known(known, _texts(told))
            reason = f"{told.what.rstrip('.')}; {LATER}" if isinstance(told, Failure) else LATER
        checks.append(_check(known, None, reason=reason))
    return tuple(checks)


# ---------------------------------------------------------------------- a student's answer


def _judged(question: Question, source: str | None) -> CheckResult:
    answer = _read(question, source)
    if not isinstance(answer, Failure):
        answer = _of_kind(question, answer)
    if isinstance(answer, Failure):
        return _check(question, answer)
    if _right(question, answer):
        return _check(question, None, passed=True)
    return _check(
        question,
        Failure(
            "wrong-answer",
            f"{question.name} is not right.",
            found=_shown(answer),
            where=question.name,
            advice=_explanation(question, answer),
        ),
    )


def _check(question: Asked, failure: Failure | None, *, passed: bool = False, reason: str = "") -> CheckResult:
    judged = not reason
    return CheckResult(
        name=question.name,
        part=QUIZ,
        weight=1.0,
        sentence=question.sentence,
        hidden=False,
        passed=passed if judged else None,
        state=State.JUDGED if judged else State.NOT_MEASURED,
        credit=1.0 if passed else 0.0,
        failure=failure,
        reason=reason,
    )


def _read(question: Asked, source: str | None) -> object:
    """The literal that a cell assigns to the question's name, or a Failure."""
    name = question.name
    if source is None:
        what = f"No answer to {name} was handed in."
        advice = f"keep the cell with {name} in the notebook, and hand in the notebook"
        return Failure("no-answer", what, f"a cell that assigns {name}", "none", name, advice)
    try:
        value = assigned(source, name)
    except NoLiteral as problem:
        expected = f"a line such as {_example(question)}"
        return Failure(problem.kind, problem.what, expected, problem.found, problem.where, problem.advice)
    if value is ...:
        what, advice = f"{name} is not answered yet.", "write your answer in place of the dots"
        return Failure("no-answer", what, f"a line such as {_example(question)}", "...", name, advice)
    return value


def _example(question: Asked) -> str:
    """What a line with an answer looks like. Any value in it could be the key."""
    if isinstance(question, Question):
        if isinstance(question.key, frozenset):
            return f'{question.name} = {{"<choice>", "<choice>"}}'
        if not isinstance(question.key, str):
            return f"{question.name} = <number>"
    return f'{question.name} = "<choice>"' if question.choices else f"{question.name} = <number>"


def _of_kind(question: Question, value: object) -> Key | Failure:
    """``value`` as an answer of the kind that is asked for."""
    if isinstance(question.key, str):
        if not isinstance(value, str):
            return _other_kind(question, value, "one of its choices, in quotes")
        return _known(question, frozenset((plain(value),))) or plain(value)
    if isinstance(question.key, frozenset):
        chosen = [value] if isinstance(value, str) else value
        if not isinstance(chosen, set | frozenset | list | tuple) or not all(isinstance(c, str) for c in chosen):
            return _other_kind(question, value, "a set of its choices, each in quotes")
        texts = _texts(value)
        return _known(question, texts) or texts
    if not is_number(value):
        return _other_kind(question, value, "a number, without quotes")
    assert isinstance(value, int | float)
    return value


def _texts(value: object) -> frozenset[str]:
    """The choices that an answer names, be it one or several."""
    chosen = [value] if isinstance(value, str) else value if isinstance(value, set | frozenset | list | tuple) else ()
    return frozenset(plain(choice) for choice in chosen if isinstance(choice, str))


def _known(question: Asked, chosen: frozenset[str]) -> Failure | None:
    strange = sorted(chosen - set(question.choices))
    if not strange:
        return None
    what = f"{question.name} names a choice that there is not."
    expected = ", ".join(f'"{choice}"' for choice in question.choices)
    return Failure("no-such-choice", what, expected, _shown(strange[0]), question.name, "choose from these")


def _other_kind(question: Question, value: object, wanted: str) -> Failure:
    what = f"{question.name} is another kind of answer than the question asks for."
    return Failure("answer-kind", what, wanted, _shown(value), question.name, f"write {_example(question)}")


def _shown(answer: object) -> str:
    if isinstance(answer, frozenset):
        text = "{" + ", ".join(sorted(map(repr, answer))) + "}" if answer else "no choice"
    else:
        text = repr(answer)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]} …"


def _right(question: Question, answer: Key) -> bool:
    if isinstance(question.key, str | frozenset):
        return answer == question.key
    return near(answer, question.key, question.within)


def _explanation(question: Question, answer: Key) -> str:
    if isinstance(answer, frozenset):
        assert isinstance(question.key, frozenset)
        told = [question.why[choice] for choice in sorted(answer - question.key) if choice in question.why]
        if question.key - answer:
            told.append(question.why.get(None, "A choice that belongs to the answer is missing."))
        return " ".join(told)
    if isinstance(answer, str):
        return question.why.get(answer, question.why.get(None, ""))
    told = [why for wrong, why in question.why.items() if near(answer, wrong, question.within)]
    return told[0] if told else question.why.get(None, "")
