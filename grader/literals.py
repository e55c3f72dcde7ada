"""The literal that a text of Python assigns to a name, found without running any of it. Pure; any process.

In: a stranger's text. Out: a value made of texts, numbers and their collections, or NoLiteral with what to say.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

# A cell with an answer has a line or two. What is longer is not read, so that nothing has to be said of its depth.
MAX_CHARACTERS = 2000
MAX_QUOTED = 60
# Lines of a notebook that are no Python, the second being questions for help.
_MAGIC = ("%", "!", "?")
_HELP = re.compile(r"\s*[\w.*]+\?{1,2}\s*")
# What a notebook takes away in front of lines that were copied from a prompt.
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)|^(?:In \[\d+\]:| *\.{3,}:)(?: |$)", re.MULTILINE)
_BEGINS_WITH_PROMPT = re.compile(r"\s*(?:>>>|In \[\d+\]:) ")


class NoLiteral(ValueError):
    """A text assigns no literal to the name. ``kind`` is a short stable word; the rest is as in records.Failure."""

    def __init__(self, kind: str, what: str, found: str = "", where: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.kind, self.what, self.found, self.where, self.advice = kind, what, found, where, advice


def is_number(value: object) -> bool:
    """Whether ``value`` is an int or a float: True and False are neither."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def assigned(text: str, name: str, *, limit: int | None = MAX_CHARACTERS) -> object:
    """What the last assignment to ``name`` at the top level of ``text`` says, if that is a literal; ``...`` is one.

    Raises NoLiteral: ``too-long`` beyond ``limit`` characters, ``no-python``, ``not-assigned``, ``no-literal``.
    """
    if limit is not None and len(text) > limit:
        what = f"The cell with {name} is too long to be read."
        advice = "put what does not belong to the answer into another cell"
        raise NoLiteral("too-long", what, f"{len(text):,} characters, more than {limit:,}", name, advice)
    values = [value for target, value in _assignments(_parse(text, name)) if target == name]
    if not values:
        what = f"The cell with {name} assigns nothing to it."
        raise NoLiteral("not-assigned", what, "no such line", name, "put the line back, not indented")
    try:
        return ast.literal_eval(values[-1])
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        pass
    found = _quoted(values[-1])
    what = f"{name} is not written as a value that can be read."
    advice = "write the value itself: a number as digits, a choice in quotes; nothing is computed here"
    raise NoLiteral("no-literal", what, found, f"{name}, line {values[-1].lineno}", advice)


def _parse(text: str, name: str) -> ast.Module:
    """The text as Python, or as what a notebook makes Python of: prompts, magics, help, a cell that is indented."""
    if _BEGINS_WITH_PROMPT.match(text):
        text = _PROMPT.sub("", text)
    try:
        return _tree(text)
    except SyntaxError:
        pass
    except (ValueError, RecursionError, MemoryError) as error:
        raise _no_python(name, str(error) or type(error).__name__) from None
    try:
        return _tree(_of_notebook(text))
    except SyntaxError as error:
        raise _no_python(name, error.msg, error.lineno) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise _no_python(name, str(error) or type(error).__name__) from None


def _of_notebook(text: str) -> str:
    """``text`` without magics and questions for help, and without the indent of its first line; lines keep numbers."""
    lines = ["" if _is_no_python(line) else line for line in text.splitlines()]
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in lines)


def _is_no_python(line: str) -> bool:
    return line.lstrip().startswith(_MAGIC) or _HELP.fullmatch(line) is not None


def _tree(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a stranger's text looks like
        return ast.parse(text)


def _no_python(name: str, found: str, line: int | None = None) -> NoLiteral:
    where = f"{name}, line {line}" if line is not None else name
    return NoLiteral(
        "no-python", f"The cell with {name} is no Python.", found, where, "run the cell to see what is wrong"
    )


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        value = getattr(statement, "value", None)
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(value, ast.expr):
                yield target.id, value


def _quoted(value: ast.expr) -> str:
    try:
        text = ast.unparse(value)
    except (ValueError, RecursionError, MemoryError):
        return "an expression"
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]} …"
