"""Which modules kernels.py may import, and which it does, by its text alone. Used in the recorder.

In: a syntax tree, the names of modules. Out: the first import that an assignment does not allow. Nothing is run, and
nothing is proved: whoever hides an import is stopped by the sandbox, not here. It spares an honest student the search
for why a library, a file or a process is of no use in a kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

# What kernels are written with; ``grader`` has load4 and store4.
FOR_KERNELS = ("numba", "numpy", "math", "grader")
# Of the standard library: what describes, counts and combines, and what the tests in a file's own main part want.
HARMLESS = (
    *("__future__", "abc", "argparse", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum"),
    *("fractions", "functools", "itertools", "logging", "numbers", "operator", "os", "random", "statistics", "string"),
    *("sys", "time", "timeit", "types", "typing", "typing_extensions", "unittest", "warnings"),
)
_OF_OTHERS = ("__name__ == '__main__'", "'__main__' == __name__", "TYPE_CHECKING", "typing.TYPE_CHECKING")


def not_allowed(tree: ast.Module, added: Sequence[str]) -> tuple[str, int] | None:
    """The first module that is imported and not allowed, and its line; None where there is none.

    ``added``: what the assignment allows besides, by the module's first name. A part that runs only where the file is
    the program, or never (``if TYPE_CHECKING``), may import anything.
    """
    allowed = {*FOR_KERNELS, *HARMLESS, *added}
    found = [(name, line) for name, line in _imported(tree.body) if name.partition(".")[0] not in allowed]
    return min(found, key=lambda each: each[1], default=None)


def _imported(body: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and node.module:
                yield node.module, node.lineno
        elif isinstance(node, ast.If) and _is_of_others(node.test):
            pending += node.orelse
        else:
            pending += ast.iter_child_nodes(node)


def _is_of_others(test: ast.expr) -> bool:
    """Whether a condition holds only where kernels.py is the program, or for type checkers."""
    return ast.unparse(test) in _OF_OTHERS
