"""What can be said of a line of a kernel in a column: its head, its cells, when it is there. Pure; trusted process.

In: the counters of one line and of all lines. Out: a short text for a cell, and how much a line has of the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from grader.gpu_models import SECTOR_BYTES, WARP_SIZE

Counts = Mapping[str, int]
LETTERS: Final = {"load": "r", "store": "w", "atomic": "a"}
KINDS: Final = tuple(LETTERS)
# Above so many lanes of a warp, on average, nothing is said of them.
MANY_LANES = 0.95 * WARP_SIZE
# Nor of branches, where threads part at fewer than this share of those of a line.
FEW_PARTED = 0.1
# Operations per byte moved at which GPUs of today begin to wait for arithmetic rather than for memory.
BALANCE = 16


@dataclass(frozen=True)
class Column:
    """``cell`` is what it says of a line, "" for nothing, from the line's counters and those of all lines.

    ``cost`` of the same makes a line the costliest; a column without it marks none. ``shown`` is asked of the counters
    of all lines, and of each. A line of which only a column with ``aside`` has something to say costs nothing; where
    all that a column with ``share`` counts is of one line, 100 % says so.
    """

    head: str
    meaning: str
    cell: Callable[[Counts, Counts], str]
    shown: Callable[[Counts, Iterable[Counts]], bool]
    cost: Callable[[Counts, Counts], int] = lambda line, total: 0
    aside: bool = False
    share: bool = False


def sectors(line: Counts) -> int:
    """Those of global memory that move, in both directions."""
    return sum(line.get(f"global_{kind}_sectors", 0) for kind in KINDS)


def _conflicts(line: Counts) -> int:
    return sum(line.get(f"shared_{kind}_bank_conflicts", 0) for kind in KINDS)


def _flops(line: Counts) -> int:
    return sum(number for name, number in line.items() if name.startswith("flops_"))


def _lanes(line: Counts) -> float:
    return line.get("thread_steps", 0) / max(line.get("warp_steps", 0), 1)


def _parted(line: Counts) -> float:
    return line.get("divergent_branches", 0) / max(line.get("branches", 0), 1)


def _computes(total: Counts) -> bool:
    """Whether a GPU would wait for arithmetic rather than for memory."""
    return _flops(total) > BALANCE * SECTOR_BYTES * sectors(total)


def amount(nbytes: int) -> str:
    """``1.68 MB``."""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes} bytes"


def _share(part: int, whole: int) -> str:
    if not part:
        return ""
    return f"{part / whole:.0%}" if part >= whole / 200 else "<1%"


def _per_request(line: Counts, space: str, counter: str, least: int) -> str:
    """``4``, or ``4r+32w``: what a request takes on average, for each kind of access that there is."""
    requests = {kind: number for kind in KINDS if (number := line.get(f"{space}_{kind}_requests", 0))}
    told = (
        f"{least + line.get(f'{space}_{kind}_{counter}', 0) / number:.3g}{LETTERS[kind] if len(requests) > 1 else ''}"
        for kind, number in requests.items()
    )
    return "+".join(told)


def _bank_cost(line: Counts, total: Counts) -> int:
    """Bank conflicts, where they double what the line takes."""
    conflicts = _conflicts(line)
    return conflicts if conflicts >= sum(line.get(f"shared_{kind}_requests", 0) for kind in KINDS) else 0


def _parting_cost(line: Counts, total: Counts) -> int:
    """Divergent branches, where they are not the odd one at an edge."""
    return line.get("divergent_branches", 0) if _parted(line) >= 1 / 4 else 0


# In the order in which they stand; where there is no room for all, the last ones are left out.
COLUMNS: Final = (
    Column(
        "bytes",
        "share of all that moves to and from global memory",
        lambda line, total: _share(sectors(line), sectors(total)),
        lambda total, lines: sectors(total) > 0,
        lambda line, total: 0 if _computes(total) else sectors(line),
        share=True,
    ),
    Column(
        "sectors",
        "of 32 bytes per request of a warp (r reads, w writes, a atomics); 32 float32 fill 4, 32 float64 fill 8",
        lambda line, total: _per_request(line, "global", "sectors", 0),
        lambda total, lines: sectors(total) > 0,
    ),
    Column(
        "banks",
        "turns per request to shared memory (r reads, w writes, a atomics); 1 means no bank conflicts",
        lambda line, total: _per_request(line, "shared", "bank_conflicts", 1),
        lambda total, lines: _conflicts(total) > 0,
        _bank_cost,
    ),
    Column(
        "parted",
        "share of a line's branches at which threads of one warp go different ways",
        lambda line, total: _share(line.get("divergent_branches", 0), line.get("branches", 0)),
        lambda total, lines: any(_parted(line) >= FEW_PARTED for line in lines),
        _parting_cost,
    ),
    Column(
        "lanes",
        f"of a warp's {WARP_SIZE} that take part, on average, where some do not",
        lambda line, total: f"{_lanes(line):.3g}" if 0 < _lanes(line) < MANY_LANES else "",
        lambda total, lines: any(0 < _lanes(line) < MANY_LANES for line in lines),
        aside=True,
    ),
    Column(
        "flops",
        "share of the floating-point operations",
        lambda line, total: _share(_flops(line), _flops(total)),
        lambda total, lines: _computes(total) or sum(_flops(line) > 0 for line in lines) > 1,
        lambda line, total: _flops(line) if _computes(total) else 0,
        share=True,
    ),
)
