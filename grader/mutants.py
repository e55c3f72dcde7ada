"""Wrong submissions that lint judges: an author's mutants, and those that every assignment must refuse.

Trusted process; reads text, runs none of it. In: files of solutions/NN/wrong and the reference's text. Out:
what each mutant's docstring promises, and the text of submissions that compute nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import AuthoringError

OUTPUT_PREFIX = "out"


@dataclass(frozen=True)
class Mutant:
    """A wrong solution: the check functions that must fail, and what a device must be able to see for it."""

    path: Path
    caught_by: frozenset[str]
    needs: str = ""

    @property
    def name(self) -> str:
        """The mistake, which is the file's name."""
        return self.path.stem


def read_mutant(path: Path) -> Mutant:
    """A mutant with the promise of its docstring. Raises AuthoringError with file and reason."""
    try:
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise AuthoringError(f"{path}: expected a Python file with a docstring, found: {error}") from None
    caught = re.search(r"^Caught by:\s*(.+?)\s*(?=^Needs:|\Z)", doc, re.MULTILINE | re.DOTALL)
    names = frozenset(re.findall(r"\w+", caught[1])) if caught else frozenset()
    if not names:
        raise AuthoringError(f"{path}: expected a line 'Caught by: test_…' at the docstring's end, found none")
    needs = re.search(r"^Needs:\s*(\S.*?)\s*$", doc, re.MULTILINE)
    return Mutant(path, names, needs[1] if needs else "")


def check_functions(folder: Path) -> tuple[str, ...]:
    """Names of all check functions in a folder. Raises AuthoringError if two files share one."""
    seen: dict[str, Path] = {}
    for path in sorted(folder.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                if node.name in seen:
                    raise AuthoringError(f"{path}:{node.lineno}: {node.name} is in {seen[node.name].name}, too")
                seen[node.name] = path
    return tuple(seen)


_NOTHING = "from numba import cuda\n\n\n@cuda.jit\ndef nothing(out):\n    pass\n"
_COPY = """\
def copy(inputs, out):
    for given in inputs:
        try:
            taken = {form}
            out[...] = taken
        except (AttributeError, IndexError, NotImplementedError, TypeError, ValueError):
            continue  # a number, or an array of another shape
        return
"""


def parameters(kernels: Path, entries: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Per entry point its parameters in the reference. Raises AuthoringError if one is missing."""
    functions = {
        node.name: tuple(argument.arg for argument in node.args.args)
        for node in ast.parse(kernels.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    for entry in entries:
        if not any(name.startswith(OUTPUT_PREFIX) for name in functions.get(entry, ())):
            raise AuthoringError(
                f"{kernels}: expected a function {entry} with a parameter that begins with {OUTPUT_PREFIX!r}"
            )
    return {entry: functions[entry] for entry in entries}


def empty_kernel(entries: Mapping[str, tuple[str, ...]]) -> str:
    """A submission whose entry points launch a kernel that does nothing."""
    functions = [
        f"def {entry}({', '.join(names)}):\n    nothing[1, 32]({_outputs(names)[0]})\n"
        for entry, names in entries.items()
    ]
    return "\n\n".join([_NOTHING, *functions])


def copied_input(entries: Mapping[str, tuple[str, ...]], form: str) -> str:
    """A submission whose entry points copy an input into each output, and launch a kernel that does nothing.

    ``form`` is how the input is taken: an expression of ``given``, of which each array that has the output's shape is
    tried in turn.
    """
    functions = []
    for entry, names in entries.items():
        outputs = _outputs(names)
        inputs = "".join(f"{name}, " for name in names if name not in outputs)
        copies = "".join(f"    copy(({inputs}), {out})\n" for out in outputs)
        functions.append(f"def {entry}({', '.join(names)}):\n{copies}    nothing[1, 32]({outputs[0]})\n")
    return "\n\n".join([_NOTHING, _COPY.format(form=form), *functions])


def copied_constant(entries: Mapping[str, tuple[str, ...]]) -> str:
    """A submission whose entry points copy ones into the output and launch no kernel."""
    functions = []
    for entry, names in entries.items():
        copies = [f"    {o}.copy_to_device(np.ones({o}.shape, {o}.dtype))\n" for o in _outputs(names)]
        functions.append(f"def {entry}({', '.join(names)}):\n{''.join(copies)}")
    return "\n\n".join(["import numpy as np\n", *functions])


def _outputs(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(OUTPUT_PREFIX)]
