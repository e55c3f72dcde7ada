"""What memory accesses cost: requests, sectors, bank conflicts, crowded atomics. Runs in the runner.

In: accesses, as ``access`` makes them. Out: counters of a launch, in all, by line, by buffer, by thread. A request is
one access instruction of one warp; ``access_costs`` says what one costs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place
from grader.simulator.access_costs import bank_conflicts_of, distinct, elements_in, parts_of, phase_of, sectors_of
from grader.simulator.lane_values import is_wide
from grader.simulator.memory import ArrayRef
from grader.simulator.spots import Bill, Located, Spot

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
# How many addresses of atomic operations are kept, at least, before equal ones are put together.
MAX_HITS = 1 << 20


@dataclass(frozen=True)
class _Pattern:
    """Addresses relative to the first lane's, and what they cost: loops repeat a pattern, moved by a constant."""

    lanes: npt.NDArray[np.intp] | None
    relative: npt.NDArray[np.int64]
    cost: int

    def fits(self, lanes: npt.NDArray[np.intp] | None, relative: npt.NDArray[np.int64]) -> bool:
        """Whether the same lanes touch the same places."""
        if self.relative.size != relative.size:
            return False
        same_lanes = self.lanes is lanes or (
            self.lanes is not None and lanes is not None and bool(np.array_equal(self.lanes, lanes))
        )
        return same_lanes and bool(np.array_equal(self.relative, relative))


class Traffic:
    """The memory accesses of one launch, summed over its threads: in all, by line, by buffer, by thread."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.counters: Counter[str] = Counter()
        self.lines: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        # The array that a place accessed first.
        self.arrays: dict[Place, ArrayRef] = {}
        # Element accesses of global memory by kind and by the buffer's root.
        self.accesses: Counter[tuple[str, int]] = Counter()
        # Accesses of global and of shared memory by each thread of the wave.
        self.work: dict[str, npt.NDArray[np.int32]] = {}
        self._patterns: dict[tuple[Any, ...], _Pattern] = {}
        # By space and unit: addresses of atomic operations, and how many went to each.
        self._hits: dict[tuple[str, int], list[Hits]] = {}

    def begin_wave(self) -> None:
        """New blocks run: lanes have other numbers, shared memory is new."""
        self._patterns.clear()
        self._settle("shared")
        self.work = {space: np.zeros(self._machine.wave.launched, np.int32) for space in ("global", "shared")}

    def end_wave(self) -> None:
        """All its blocks have ended, or hang."""
        self._machine.forget_spots()
        work = self.work["global"]
        self.counters["working_threads"] += int(np.count_nonzero(work))
        per_block = work.reshape(-1, self._machine.wave.threads_per_block)
        self.counters["working_blocks"] += int(np.count_nonzero(per_block.any(axis=1)))
        for name, space in (("busiest_thread", "global"), ("busiest_thread_shared", "shared")):
            self.counters[name] = max(self.counters[name], int(self.work[space].max()))

    def note(self, kind: str, array: ArrayRef, there: Located, inside: Any, place: Place) -> None:
        """The active lanes access what is there, all of them or those that ``inside`` picks (a bool per lane, or
        positions). ``kind`` is "load", "store" or "atomic".
        """
        elements, unit = there.elements, there.unit
        machine, space = self._machine, array.space
        line = self.lines[place]
        spot = there.spot if kind == "load" or (kind == "store" and space == "local") else None
        phase = phase_of(array.space, (spot.first + there.shift) * unit) if spot is not None else 0
        before = Counter(line) if spot is not None and phase not in spot.bills else None
        if inside is not None:
            elements = np.broadcast_to(elements, machine.active)[inside]
            if not elements.size:
                return
        lanes, each = machine.active if inside is None else elements.size, elements_in(array.dtype, array.unit)
        accesses = lanes * each
        if not line:
            self.arrays[place] = array
        self._add(line, f"{space}_{kind}s", accesses)
        if space == "global":
            self.accesses[f"{kind}s", array.root] += accesses
        if space not in self.work:
            if spot is not None and before is not None:
                spot.bills[phase] = Bill(array, ((f"{space}_{kind}s", accesses),), line, accesses, None)
            return
        threads, work = machine.active_threads(), self.work[space]
        work[threads if inside is None else np.arange(work.size)[threads][inside]] += each
        requests = machine.active_warps() if inside is None else distinct(machine.per_lane("warp")[inside])
        parts = parts_of(array.dtype)
        self._add(line, f"{space}_{kind}_requests", requests * len(parts))
        if space == "global":
            self._add(line, f"global_{kind}_bytes", lanes * array.dtype.itemsize)
        for offset, itemsize in parts:
            if is_wide(elements) and there.spot is not None and len(parts) == 1:
                cost = self._cost_of_spot(kind, array, there, place)
            elif is_wide(elements):
                cost = self._cost(kind, array, elements * unit + offset, itemsize, inside, place)
            else:
                cost = requests if space == "global" else 0
            self._add(line, f"global_{kind}_sectors" if space == "global" else f"shared_{kind}_bank_conflicts", cost)
        if kind == "atomic":
            self._note_hits(array, elements, unit)
        if before is not None and spot is not None and len(parts) == 1:
            counts = tuple((name, line[name] - before[name]) for name in line if line[name] != before[name])
            spot.bills[phase] = Bill(array, counts, line, accesses, machine.active_threads())

    def bill(self, array: ArrayRef, spot: Spot, shift: int) -> Bill | None:
        """What a read by all lanes costs that is one before, moved; None if none before cost the same."""
        return spot.bills.get(phase_of(array.space, (spot.first + shift) * spot.unit))

    def settle(self, spots: Iterable[Spot]) -> None:
        """Add up the turns of repeated reads, before they are forgotten."""
        for spot in spots:
            for bill in spot.bills.values():
                if not bill.turns:
                    continue
                for name, count in bill.counts:
                    self._add(bill.line, name, count * bill.turns)
                if bill.array.space == "global":
                    self.accesses["loads", bill.array.root] += bill.accesses * bill.turns
                if bill.array.space in self.work:
                    each = elements_in(bill.array.dtype, bill.array.unit)
                    self.work[bill.array.space][bill.threads] += bill.turns * each
                bill.turns = 0

    def count(self, place: Place, name: str, number: int) -> None:
        """Add to a counter of the launch and of a line."""
        self._add(self.lines[place], name, number)

    def _add(self, line: Counter[str], name: str, count: int) -> None:
        self.counters[name] += count
        line[name] += count

    # ------------------------------------------------------------------ sectors and banks

    def _cost_of_spot(self, kind: str, array: ArrayRef, there: Located, place: Place) -> int:
        """The same, for an access that is the one before, moved."""
        assert there.spot is not None
        first = int(there.elements[0]) * there.unit
        phase = phase_of(array.space, first)
        if phase not in there.spot.costs:
            at = there.elements * there.unit
            there.spot.costs[phase] = self._cost(kind, array, at, array.dtype.itemsize, None, place)
        return there.spot.costs[phase]

    def _cost(self, kind: str, array: ArrayRef, first: Any, itemsize: int, inside: Any, place: Place) -> int:
        """Sectors of global memory, or bank conflicts of shared memory. ``first``: where each element begins."""
        of_global = array.space == "global"
        phase = phase_of(array.space, first[0])
        relative = first - first[0]
        # One place may read arrays of several spaces, and fields of several sizes.
        key = place, kind, array.space, array.root, itemsize, phase
        recent = array.space, itemsize, phase
        lanes = self._machine.lanes
        if inside is None:
            # Mostly it is what this place did before, or what the access before this one did: a[i] + b[i].
            for known in (self._patterns.get(key), self._patterns.get(recent)):
                if known is not None and known.fits(lanes, relative):
                    self._patterns[key] = known
                    return known.cost
        warps = self._machine.per_lane("warp")
        warps = warps if inside is None else warps[inside]
        if of_global:
            cost = sectors_of(first, itemsize, warps)
        else:
            lane = self._machine.per_lane("lane")
            cost = bank_conflicts_of(first, itemsize, warps, lane if inside is None else lane[inside])
        if inside is None:
            self._patterns[key] = self._patterns[recent] = _Pattern(lanes, relative, cost)
        return cost

    def lanes_left(self) -> None:
        """The lanes that are left go by new numbers."""
        self._patterns.clear()

    # ------------------------------------------------------------------ atomics

    def _note_hits(self, array: ArrayRef, elements: Any, unit: int) -> None:
        """Count the atomic operations on each address."""
        hits = self._hits.setdefault((array.space, unit), [])
        if is_wide(elements):
            hits.append(np.unique(elements, return_counts=True))
        else:
            hits.append((np.asarray([elements]), np.asarray([self._machine.active])))
        # Put together what is equal when there is twice as much as after the last time: each address is moved seldom.
        if sum(addresses.size for addresses, _ in hits) > max(MAX_HITS, 2 * hits[0][0].size):
            hits[:] = [_merged(hits)]

    def _settle(self, space: str) -> None:
        """Keep the most crowded address of a space, and forget the others."""
        for key in [key for key in self._hits if key[0] == space]:
            _, counts = _merged(self._hits.pop(key))
            name = f"{space}_atomics_on_one_address"
            self.counters[name] = max(self.counters[name], int(counts.max()))

    def finish(self) -> None:
        """The launch is over."""
        self._settle("shared")
        self._settle("global")


def _merged(hits: list[Hits]) -> Hits:
    """Each address once, with the sum of its counts."""
    addresses = np.concatenate([each for each, _ in hits])
    counts = np.concatenate([count for _, count in hits])
    different, where = np.unique(addresses, return_inverse=True)
    return different, np.bincount(where, counts).astype(np.int64)
