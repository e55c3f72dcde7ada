"""The questions of a notebook, with an author's key or without. Pure; trusted process.

A question is a code cell of a notebook, named ``answer_1``, ``answer_2``, …; its key stands in the cell's solution
region, in Python literals alone::

    answer_1 = ...  # "a", "b" or "c"
    ### BEGIN SOLUTION
    answer_1 = "b"
    why_1 = {"a": "A warp has 32 threads, whatever the block's size.", "c": "That is the size of a block."}
    ### END SOLUTION

The key's literal says what is asked for: a text is a choice, a set of texts several, a number a number (with
``within_1``, how far off an answer may be). ``why_1`` explains a wrong answer to who gave it; its key ``None`` is for
those that it does not name. In: cells. Out: ``Asked``, what a student has; ``Question``, with the key. Nothing is run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from grader.errors import AuthoringError
from grader.literals import NoLiteral, assigned, is_number
from grader.notebook import SOLUTION_BEGIN, SOLUTION_END, Cell

MAX_SENTENCE = 300
_NAME = re.compile(r"answer_([1-9][0-9]{0,3})")
_TEXT = re.compile(r'"([^"]*)"')
# Of a paragraph that holds no question: lists of choices, tables, quotations, code, figures.
_NO_SENTENCE = re.compile(r"\s*(?:[-*+]\s|\d+[.)]\s|[|>`<!]|~~~|\$\$)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")

Key = str | frozenset[str] | int | float


@dataclass(frozen=True)
class Asked:
    """A question as a student has it: its cell's name, the sentence that asks, the choices if there are any."""

    name: str
    sentence: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question(Asked):
    """A question with its key. ``within`` is how far off a number may be; ``why`` explains wrong answers."""

    key: Key = ""
    within: float = 0.0
    why: Mapping[str | int | float | None, str] = field(default_factory=dict)

    @property
    def right_line(self) -> str:
        """The line of a cell that answers it: the author's own."""
        key = f"{{{', '.join(map(repr, sorted(self.key)))}}}" if isinstance(self.key, frozenset) else repr(self.key)
        return f"{self.name} = {key}"


def asked(cells: Sequence[Cell]) -> tuple[Asked, ...]:
    """The questions of a notebook, with a key or without, in their order."""
    found: dict[str, Asked] = {}
    for place, cell in enumerate(cells):
        if cell.is_solution and not cell.is_grade and _NAME.fullmatch(cell.grade_id):
            sentence = _sentence(cells[:place]) or cell.grade_id
            found.setdefault(cell.grade_id, Asked(cell.grade_id, sentence, _choices(cell)))
    return tuple(found.values())


def questions(cells: Sequence[Cell]) -> tuple[Question, ...]:
    """The questions of an author's notebook with their keys. Raises AuthoringError with the cell's name."""
    texts = {cell.grade_id: cell.source for cell in reversed(cells)}  # the first of a name counts
    return tuple(_with_key(question, texts[question.name]) for question in asked(cells))


def without_key(source: str) -> str:
    """An answer's cell without its solution regions: what a student is given, but for nbgrader's stub."""
    kept, inside = [], False
    for line in source.splitlines():
        inside = inside or SOLUTION_BEGIN in line
        if not inside:
            kept.append(line)
        inside = inside and SOLUTION_END not in line
    return "\n".join(kept)


def plain(choice: str) -> str:
    """A choice as it is compared: without its surrounding spaces and its capitals."""
    return choice.strip().lower()


def near(answer: object, value: object, within: float) -> bool:
    """Whether two numbers differ by no more than ``within``, in the decimals that they are written in."""
    if not is_number(answer) or not is_number(value):
        return False
    exact, other = _decimal(answer), _decimal(value)
    return exact.is_finite() and other.is_finite() and abs(exact - other) <= _decimal(within)


def _decimal(number: object) -> Decimal:
    return Decimal(repr(number))


def _with_key(question: Asked, source: str) -> Question:
    number = question.name.removeprefix("answer_")
    region = _region(question.name, source)
    key = _key(question, _literal(region, question.name, question.name))
    choices = question.choices
    within = 0.0
    written = _literal(region, f"within_{number}", question.name, None)
    if isinstance(key, int | float):
        within = _within(question.name, key, written)
    elif written is not None:
        raise AuthoringError(f"{question.name}: within_{number} is for numbers, and the key is {key!r}")
    why = _why(question.name, _literal(region, f"why_{number}", question.name, {}))
    if isinstance(key, str | frozenset):
        of_key = {key} if isinstance(key, str) else key
        choices = choices or tuple(sorted({*of_key, *(k for k in why if isinstance(k, str))}))
        if not question.choices and set(choices) == of_key:  # students are told of the choices
            raise AuthoringError(f"{question.name}: expected wrong choices, too, in why_{number} or behind the dots")
        missing = sorted(of_key - set(choices))
        if missing:
            raise AuthoringError(f"{question.name}: the key's {missing[0]!r} is none of the choices {choices}")
    for wrong in why:
        _require_wrong(question.name, wrong, key, within, choices)
    return Question(question.name, question.sentence, choices, key, within, why)


def _region(name: str, source: str) -> str:
    lines = source.splitlines()
    begins = [number for number, line in enumerate(lines) if line.strip() == SOLUTION_BEGIN]
    ends = [number for number, line in enumerate(lines) if line.strip() == SOLUTION_END]
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise AuthoringError(f"{name}: expected its key between one line {SOLUTION_BEGIN!r} and one {SOLUTION_END!r}")
    return "\n".join(lines[begins[0] : ends[0] + 1])


_REQUIRED = object()


def _literal(region: str, target: str, name: str, default: object = _REQUIRED) -> object:
    try:
        return assigned(region, target, limit=None)
    except NoLiteral as problem:
        if problem.kind == "not-assigned" and default is not _REQUIRED:
            return default
        raise AuthoringError(f"{name}: in its solution region: {problem.what}") from None


def _key(question: Asked, value: object) -> Key:
    if is_number(value):
        assert isinstance(value, int | float)
        if _decimal(value).is_finite():
            return value
    if isinstance(value, str) and value and value == plain(value):
        return value
    if isinstance(value, set) and value and all(isinstance(v, str) and v and v == plain(v) for v in value):
        return frozenset(value)
    raise AuthoringError(
        f"{question.name}: expected a number, a text in small letters, or a set of such texts, found {value!r}"
    )


def _within(name: str, key: float, written: object) -> float:
    if written is None and isinstance(key, int):
        return 0.0
    if not is_number(written):
        found = "none" if written is None else repr(written)
        raise AuthoringError(f"{name}: expected within_{name[7:]}, how far off an answer may be, found {found}")
    assert isinstance(written, int | float)
    if not (_decimal(written).is_finite() and written >= 0):
        raise AuthoringError(f"{name}: expected a finite number of 0 or more as within_{name[7:]}, found {written!r}")
    return float(written)


def _why(name: str, written: object) -> dict[str | int | float | None, str]:
    if isinstance(written, dict):
        answers = all(key is None or is_number(key) or (isinstance(key, str) and key == plain(key)) for key in written)
        if answers and all(isinstance(sentence, str) and sentence.strip() for sentence in written.values()):
            return written
    raise AuthoringError(f"{name}: expected why_{name[7:]} to map wrong answers, in small letters, to sentences")


def _require_wrong(name: str, wrong: object, key: Key, within: float, choices: tuple[str, ...]) -> None:
    """``wrong`` is an answer that somebody could give, and not right."""
    if wrong is None:
        return
    if isinstance(key, str | frozenset):
        of_key = {key} if isinstance(key, str) else key
        if wrong not in choices:
            raise AuthoringError(f"{name}: why_{name[7:]} explains {wrong!r}, which is none of the choices {choices}")
        if wrong in of_key:
            raise AuthoringError(f"{name}: why_{name[7:]} explains {wrong!r}, which is right")
    elif not is_number(wrong):
        raise AuthoringError(f"{name}: why_{name[7:]} explains {wrong!r}, and the key is a number")
    elif near(wrong, key, within):
        raise AuthoringError(f"{name}: why_{name[7:]} explains {wrong!r}, which is right")


# ---------------------------------------------------------------------- what is asked


def _choices(cell: Cell) -> tuple[str, ...]:
    """The texts in quotes of the comment behind ``answer_N = ...``."""
    for line in without_key(cell.source).splitlines():
        code, mark, comment = line.partition("#")
        if mark and code.replace(" ", "") == f"{cell.grade_id}=...":
            found = [plain(text) for text in _TEXT.findall(comment)]
            return tuple(dict.fromkeys(found))
    return ()


def _sentence(before: Sequence[Cell]) -> str:
    """The last paragraph of the text before a question that is neither list nor table nor figure."""
    text = next((cell.source for cell in reversed(before) if cell.cell_type == "markdown"), "")
    paragraphs = list(_paragraphs(text))
    if not paragraphs:
        return ""
    plain = _EMPHASIS.sub(r"\2", " ".join(paragraphs[-1].lstrip("# ").split()))
    return textwrap.shorten(plain, MAX_SENTENCE, placeholder=" …")


def _paragraphs(text: str) -> Iterator[str]:
    fenced = False
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        fence = line.lstrip().startswith(("```", "~~~"))
        if fenced or fence or not line.strip() or _NO_SENTENCE.match(line):
            if lines:
                yield "\n".join(lines)
            lines = []
        else:
            lines.append(line)
        fenced = fenced != fence
