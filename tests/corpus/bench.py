"""Reads the corpus: right kernels, and below a line of theirs what makes it wrong and what has to be found then.

A file of the corpus is a Python module of kernels and of functions ``run_…``, which launch them. What stands between
one ``run_…`` and the next, and the next itself, is a *case*. ``run_…`` takes a ``Bench``, launches kernels with it, and
returns pairs of arrays: found, expected.

A comment right below a line names a *twin*, the same text with that line replaced::

    cuda.syncthreads()
    # wrong: pass -> race on s at: total += s[tx, ty]

After the arrow come the kind of the error (or warning) that must be found, the array, and a piece of the line where
(left out: the replaced line itself; ``one | other``: either, where Pythons differ). Several twins may follow a line. A
comment ``# warns: kind kind`` lists the kinds of the warnings that a right kernel gives; advice is free.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from grader.gpu_models import T4
from grader.kernels_text import KernelsText
from grader.records import Finding, Severity
from grader.simulator.configuration import Configuration
from grader.simulator.launch import SimulatedLaunch, Simulator, deadline_in
from grader.simulator.memory import ArrayRef, GlobalSpace

FOLDER = Path(__file__).parent
NOT_CASES = {"bench", "conftest", "__init__"}
PATIENCE = 60.0  # CPU seconds for the launches of a case
_TWIN = re.compile(r"^\s*# wrong: (?P<code>.+?) -> (?P<kind>[\w-]+)(?: on (?P<array>\w+))?(?: at: (?P<at>.+))?$")
_WARNS = re.compile(r"^\s*# warns: (?P<kinds>.+)$")


@dataclass(frozen=True)
class Twin:
    """A case's module with one line replaced, and the error it must give."""

    text: str
    line: int  # the replaced one
    kind: str
    array: str  # "": any
    found_at: frozenset[int]  # one of these lines


@dataclass(frozen=True)
class Case:
    """Right kernels, the function that launches them, and their wrong twins."""

    path: Path
    name: str
    text: str
    warnings: frozenset[str]
    twins: tuple[Twin, ...]

    def __str__(self) -> str:
        return f"{self.path.stem}.{self.name}"


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of one file, in its order. Raises ValueError for a twin that cannot be understood."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    start = 0
    for node in ast.parse(text).body:
        if not (isinstance(node, ast.FunctionDef) and node.name.startswith("run_")):
            continue
        stop = node.end_lineno or node.lineno
        warnings: set[str] = set()
        twins = []
        for number in range(start, stop):
            if found := _WARNS.match(lines[number]):
                warnings |= set(found["kinds"].split())
            if lines[number].lstrip().startswith("# wrong:"):
                twins.append(_read_twin(path, lines, number, (start, stop)))
        yield Case(path, node.name.removeprefix("run_"), text, frozenset(warnings), tuple(twins))
        start = stop


def _read_twin(path: Path, lines: list[str], number: int, section: tuple[int, int]) -> Twin:
    found = _TWIN.match(lines[number])
    if not found:
        raise ValueError(f"{path.name}:{number + 1}: not understood: {lines[number].strip()}")
    target = number - 1
    while lines[target].lstrip().startswith("# wrong:"):
        target -= 1
    right = lines[target]
    indent = right[: len(right) - len(right.lstrip())]
    changed = [*lines]
    changed[target] = indent + found["code"]
    here = [target]
    if found["at"]:
        code = [n for n in range(*section) if not changed[n].lstrip().startswith("#")]
        here = [n for n in code if any(piece in changed[n] for piece in found["at"].split(" | "))]
        if not here:
            raise ValueError(f"{path.name}:{number + 1}: no line has {found['at']!r}")
    where = frozenset(n + 1 for n in here)
    return Twin("\n".join(changed), target + 1, found["kind"], found["array"] or "", where)


class Bench:
    """One process's GPU, so to say: ``launch`` kernels on NumPy arrays, which are changed in place."""

    def __init__(self, text: str, filename: str, cpu_seconds: float) -> None:
        self.rng = np.random.default_rng(7)
        self.findings: list[Finding] = []
        self.launches: list[SimulatedLaunch] = []
        self._memory = GlobalSpace(0)
        self._simulator = Simulator(T4, KernelsText(text.encode(), filename), self._memory, deadline_in(cpu_seconds))
        self._arrays: dict[int, tuple[Any, int, bool]] = {}  # by id: the array, where it is, whether it is the device's

    def device_array(self, shape: int | tuple[int, ...], dtype: Any) -> Any:
        """An array without contents, as ``cuda.device_array`` makes it."""
        array = np.zeros(shape, dtype)
        address = self._memory.allocate(array.nbytes, garbage=True)
        self._arrays[id(array)] = (array, address, True)
        return array

    def launch(self, kernel: Callable[..., Any], grid: Any, block: Any, *arguments: Any, shared: int = 0) -> None:
        """``kernel[grid, block, 0, shared](*arguments)``."""
        given = [self._given(*pair) for pair in zip(kernel.__code__.co_varnames, arguments, strict=False)]
        result = self._simulator.launch(kernel, Configuration(_triple(grid), _triple(block), shared), given)
        self.findings += result.findings
        self.launches.append(result)
        for argument, reference in zip(arguments, given, strict=True):
            if isinstance(reference, ArrayRef):
                flat = self._memory.bytes[reference.address : reference.address + argument.nbytes]
                argument[...] = flat.view(argument.dtype).reshape(argument.shape)

    def _given(self, name: str, argument: Any) -> Any:
        if not isinstance(argument, np.ndarray):
            return argument
        if id(argument) not in self._arrays:
            self._arrays[id(argument)] = (argument, self._memory.allocate(argument.nbytes), False)
        _, address, is_device = self._arrays[id(argument)]
        if not is_device:
            flat = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
            self._memory.bytes[address : address + argument.nbytes] = flat
        return replace(
            ArrayRef.contiguous("global", name, argument.dtype, address, argument.shape),
            root=address,
        )

    def unwritten(self) -> int:
        """How many bytes of arrays without contents nobody has written."""
        flags = self._memory.unwritten(1).reshape(-1)
        device = [(array.nbytes, address) for array, address, is_device in self._arrays.values() if is_device]
        return sum(int(flags[address : address + nbytes].sum()) for nbytes, address in device)

    def errors(self) -> list[Finding]:
        """The findings that would cost points."""
        return [finding for finding in self.findings if finding.severity is Severity.ERROR]

    def warnings(self) -> set[str]:
        """The kinds of warnings."""
        return {finding.kind for finding in self.findings if finding.severity is Severity.WARNING}


def _triple(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    sizes = (size,) if isinstance(size, int) else size
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def carry_out(case: Case, text: str, cpu_seconds: float) -> tuple[Bench, list[tuple[Any, Any]]]:
    """Run a case, or a twin's ``text``: the bench afterwards, and pairs of what was found and what is expected."""
    filename = str(case.path)
    scope: dict[str, Any] = {"__name__": case.path.stem}
    exec(compile(text, filename, "exec"), scope)
    bench = Bench(text, filename, cpu_seconds)
    return bench, list(scope[f"run_{case.name}"](bench))
