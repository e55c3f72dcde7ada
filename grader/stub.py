"""A student's kernels.py from the reference: solution regions become "YOUR CODE HERE". Trusted; pure.

In: the text of solutions/NN/kernels.py with nbgrader's markers, ``### BEGIN SOLUTION`` and ``### END
SOLUTION``. Out: the stub's text, and the solution's lines, so that a release can be searched for them.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from grader.errors import ReleaseError
from grader.notebook import SOLUTION_BEGIN, SOLUTION_END

BEGIN, END = SOLUTION_BEGIN, SOLUTION_END
# A line with fewer tokens than this is an idiom (``i = cuda.grid(1)``, ``if i < n:``), not a solution.
TELLING_TOKENS = 9
_SKIPPED = (
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.COMMENT,
)


@dataclass(frozen=True)
class Region:
    """A solution region: 1-based lines of its markers, the text of BEGIN's indentation, the lines between."""

    begin: int
    end: int
    indent: str
    lines: tuple[str, ...]

    def code_lines(self) -> Iterator[tuple[int, str]]:
        """Line numbers and lines that are neither blank nor comments."""
        for number, line in enumerate(self.lines, self.begin + 1):
            if line.strip() and not line.lstrip().startswith("#"):
                yield number, line


def regions(text: str, name: str) -> tuple[Region, ...]:
    """The solution regions of a file called ``name``. Raises ReleaseError where markers do not pair up."""
    found: list[Region] = []
    lines = text.splitlines()
    begin: int | None = None
    for number, line in enumerate(lines, 1):
        if BEGIN in line:
            if begin is not None:
                raise ReleaseError(f"{name}:{number}: expected {END} for line {begin} first, found {BEGIN}")
            begin = number
        elif END in line:
            if begin is None:
                raise ReleaseError(f"{name}:{number}: expected {BEGIN} before this {END}, found none")
            opening = lines[begin - 1]
            indent = opening[: len(opening) - len(opening.lstrip())]
            found.append(Region(begin, number, indent, tuple(lines[begin : number - 1])))
            begin = None
    if begin is not None:
        raise ReleaseError(f"{name}:{begin}: expected {END} for this {BEGIN}, found the end of the file")
    if not found:
        raise ReleaseError(f"{name}: expected at least one region from {BEGIN} to {END}, found none")
    return tuple(found)


def make_stub(text: str, name: str) -> str:
    """The stub: every region one comment line, and ``pass`` where a body would otherwise be empty."""
    found = regions(text, name)
    lines = text.splitlines()
    stub: list[str] = []
    passes: dict[int, int] = {}  # line of a ``pass`` in the stub: its index there
    at = 0
    for region in found:
        stub += lines[at : region.begin - 1]
        count = sum(1 for _ in region.code_lines())
        stub.append(f"{region.indent}# YOUR CODE HERE (about {count} line{'s' if count != 1 else ''})")
        stub.append(f"{region.indent}pass")
        passes[len(stub)] = len(stub) - 1
        at = region.end
    stub += lines[at:]
    try:
        needless = _needless(ast.parse("\n".join(stub)), set(passes))
    except SyntaxError as error:
        raise ReleaseError(f"{name}: without its solution regions the file is no Python: {error}") from None
    for line in sorted(needless, reverse=True):
        del stub[passes[line]]
    return "\n".join(stub) + "\n"


def _needless(tree: ast.Module, passes: set[int]) -> set[int]:
    """Those ``pass`` lines whose body has another statement, a docstring aside; all at module level."""
    needless = {s.lineno for s in tree.body if isinstance(s, ast.Pass)} & passes
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if not isinstance(body, list) or isinstance(node, ast.Module):
                continue
            ours = [s.lineno for s in body if isinstance(s, ast.Pass) and s.lineno in passes]
            others = [s for s in body if not (isinstance(s, ast.Pass) and s.lineno in passes) and not _is_doc(s)]
            needless |= set(ours if others else ours[1:])
    return needless


def _is_doc(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def telling_lines(text: str, name: str) -> tuple[tuple[int, str], ...]:
    """The solution's lines that give it away, with their numbers: those with enough tokens."""
    lines = (pair for region in regions(text, name) for pair in region.code_lines())
    return tuple((number, line.strip()) for number, line in lines if _tokens(line) >= TELLING_TOKENS)


def _tokens(line: str) -> int:
    count = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip() + "\n").readline):
            count += token.type not in _SKIPPED
    except (tokenize.TokenError, IndentationError):
        pass  # the line is part of a longer statement; what was read so far counts
    return count


def squeezed(text: str) -> str:
    """``text`` without any white space, to find a line however it is laid out."""
    return re.sub(r"\s+", "", text)
