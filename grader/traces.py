"""Records of what the launches of a script showed on the simulator; frozen. Any process may import them.

In and out: data alone. script → ``LaunchTrace`` per launch → ``LaunchGroup`` → page, beside the ``FunctionText``s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from grader.counters import Counted
from grader.records import Finding, Place, Severity

NOWHERE = Place(0, "", "", "")


@dataclass(frozen=True)
class LaunchTrace:
    """One launch of a script on the simulator: where it was asked for, its geometry, what was seen and counted.

    ``place`` is the line of the script that launches, ``defined`` that with which the kernel begins; ``problem`` says
    why the launch did not take place or did not end, else "". A kernel that Numba rejected where nothing was launched
    has a grid and a block of zeros; so has a line that launches nothing for another reason, and ``kernel`` is "" there.
    ``counters`` are sums over all threads, ``lines`` the same by line of the source.
    ``str()`` says what was found, in lines of 80 columns.
    """

    kernel: str
    place: Place
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared_bytes: int = 0
    findings: tuple[Finding, ...] = ()
    counters: Mapping[str, int] = field(default_factory=Counted)
    lines: Mapping[Place, Mapping[str, int]] = field(default_factory=dict)
    problem: str = ""
    defined: Place = NOWHERE

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that a GPU may get wrong."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    def __repr__(self) -> str:
        """Short: counters and lines are many numbers, and a notebook or pytest shows this."""
        what = [*filter(None, [self.problem]), *map(repr, self.findings)]
        where = f"{self.place.short_file}:{self.place.line}"
        return f"<{self.kernel}[{self.grid}, {self.block}] at {where}: {' '.join(what) or 'nothing to remark'}>"

    def __str__(self) -> str:
        where = f" at {self.place.short_file}:{self.place.line}" if self.place.line else ""
        told = [f"{self.kernel}{where}: a grid of {self.grid}, blocks of {self.block}"]
        if self.problem or not self.findings:
            told.append(self.problem or "nothing to remark")
        return "\n".join([*told, *map(str, self.findings)])


@dataclass(frozen=True)
class LaunchGroup:
    """Launches of a script that showed the same: the first of them, and how many there were."""

    launch: LaunchTrace
    times: int = 1


@dataclass(frozen=True)
class FunctionText:
    """The text of a function that launches ran, decorators included: from ``first_line`` (1-based) to ``last_line``.

    ``lines`` is empty where Python knows no text.
    """

    file: str
    first_line: int
    last_line: int
    lines: tuple[str, ...] = ()

    def __contains__(self, spot: tuple[str, int]) -> bool:
        """Whether a line of a file is among them."""
        file, line = spot
        return self.file == file and self.first_line <= line <= self.last_line
