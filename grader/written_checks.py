"""What the checks of a folder say of themselves: of which part they are, and which entry points they may race.

Trusted process; reads the text of test_*.py, runs none of it. In: a folder of checks, the names of its entry points.
Out: ``WrittenCheck`` by the name of its function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class WrittenCheck:
    """A check function: its part, "" where no decorator says one, and the entry points that its text names."""

    part: str
    named: frozenset[str]


@dataclass(frozen=True)
class WrittenChecks:
    """The checks of a folder by function, and all its ``entries``."""

    functions: dict[str, WrittenCheck]
    entries: frozenset[str]

    def of_part(self, part: str) -> frozenset[str]:
        """The check functions of a part."""
        return frozenset(name for name, check in self.functions.items() if check.part == part)

    def entries_of(self, check: str) -> frozenset[str]:
        """The entry points that a check (``test_speed[saxpy]``) can call; all where its text does not tell.

        Of several that the function names, those that are a parameter of this check.
        """
        function, _, parameters = check.partition("[")
        written = self.functions.get(function)
        named = written.named if written is not None else frozenset()
        chosen = named & set(parameters.removesuffix("]").split("-"))
        return chosen or named or self.entries


def read_checks(folder: Path, entries: Iterable[str]) -> WrittenChecks:
    """The checks in the test_*.py of ``folder``. Raises OSError, UnicodeDecodeError, SyntaxError."""
    known = frozenset(entries)
    functions = {
        node.name: WrittenCheck(_part(node), known & _texts(node))
        for path in sorted(folder.glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }
    return WrittenChecks(functions, known)


def _part(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("mark.part") and decorator.args:
            match decorator.args[0]:
                case ast.Constant(value=str(part)):
                    return part
    return ""


def _texts(function: ast.FunctionDef) -> set[str]:
    return {node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
