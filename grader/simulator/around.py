"""The function around a line that Numba rejects, for ``advice``. Runs in the runner, or in anybody's own process.

In: the text of a file, a line. Out: names, parameters, the expressions on the line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.kernels_text import KernelsText
from grader.records import Place


class Around:
    """The function that a line is in, as far as the rules ask: what a name was made of, what the line names."""

    def __init__(self, text: KernelsText, line: int) -> None:
        self.line = line
        self.file = Place(line, file=text.filename).short_file
        self._tree = text.tree()
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.FunctionDef) and _first_line(node) <= line <= (node.end_lineno or node.lineno)
        ]
        self.function = max(around, key=lambda node: node.lineno) if around else None
        self._function: ast.AST = self.function or ast.Module([], [])
        self._assigned = {
            target.id: node.value
            for node in ast.walk(self._function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def names(self) -> Iterator[str]:
        """The names that the file gives to anything."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.FunctionDef):
                yield node.name
            elif isinstance(node, ast.alias):
                yield node.asname or node.name

    def parameters(self) -> list[str]:
        """The names of the function's parameters."""
        return [each.arg for each in self.function.args.args] if self.function else []

    def is_global(self, name: str) -> bool:
        """Whether the file gives the name a value outside of functions."""
        return any(
            isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
            for statement in self._tree.body
            if not isinstance(statement, ast.FunctionDef | ast.ClassDef)
            for node in ast.walk(statement)
        )

    def on_line(self) -> Iterator[ast.expr]:
        """The expressions on the line, and for each name on it also what the function made it of."""
        for node in ast.walk(self._function):
            if isinstance(node, ast.expr) and node.lineno <= self.line <= (node.end_lineno or node.lineno):
                yield node
                if isinstance(node, ast.Name) and node.id in self._assigned:
                    yield self._assigned[node.id]

    def shape(self) -> str:
        """The ``….shape`` that the line uses whole, as written, or ""."""
        indexed = {id(n.value) for n in ast.walk(self._function) if isinstance(n, ast.Subscript)}
        for node in self.on_line():
            if isinstance(node, ast.Attribute) and node.attr == "shape" and id(node) not in indexed:
                return ast.unparse(node)
        return ""

    def grid(self) -> tuple[str, int]:
        """``cuda.grid(n)`` or ``cuda.gridsize(n)`` on the line, that of the most dimensions, as (function, n).

        ("", 0) if there is none.
        """
        found = [("", 0)]
        for node in self.on_line():
            if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Constant):
                name, count = ast.unparse(node.func), node.args[0].value
                if name.rpartition(".")[2] in ("grid", "gridsize") and isinstance(count, int):
                    found.append((name, count))
        return max(found, key=lambda each: each[1])


def _first_line(function: ast.FunctionDef) -> int:
    """Of a function with its decorators, where Numba says that it begins."""
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])
