"""Says which unordered accesses are races, and tells of them. Runs in the runner.

In: marks of earlier accesses, and a new one. Out: findings.

``Watch`` asks, with the marks of earlier accesses and a new one. Of what is found, three kinds do no harm, or may be
meant: a write to global memory of the value that is there already, threads that write equal values, and a plain read
of what others change atomically. They are warnings. But a plain read that follows the atomics in the program, as of
a histogram in shared memory that is not complete, is a race: nobody has any use for a value that is still counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.fences import Fences
from grader.simulator.marks import ATOMIC, NOBODY, SILENT, Mark, Numbering, Touch
from grader.simulator.memory import ArrayRef
from grader.simulator.shadow import Shadow
from grader.simulator.warp_order import WarpOrder

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

Bools = npt.NDArray[np.bool_]
# Asked for only where it decides: per access, whether it writes what is there already.
Same = Callable[[], Bools]


@dataclass(frozen=True)
class Site:
    """Where in the program an access is: its place, and the number of its basic block."""

    place: Place
    block: int


class Races:
    """The verdicts of one launch. ``verbs`` in the methods: what I do, what the other did."""

    def __init__(self, machine: Machine, number: Numbering, fences: Fences) -> None:
        self._machine = machine
        self._number = number
        self._fences = fences
        self.parts: WarpOrder | None = None  # of the wave that runs, once parts of a warp have met
        # Sites by their number, in the order in which they first ran; numbers by the identity of the step's place.
        self._sites: list[Site] = []
        self._numbers: dict[int, int] = {}

    def site(self, place: Place) -> int:
        """The number of the site whose step has this very place."""
        number = self._numbers.get(id(place))
        if number is None:
            number = self._numbers[id(place)] = len(self._sites)
            self._sites.append(Site(place, self._machine.running))
        return number

    # ------------------------------------------------------------------ verdicts

    def check(
        self, marks: Mark, touch: Touch, array: ArrayRef, verbs: tuple[str, str], same: Same | None = None
    ) -> None:
        """Report accesses of ``touch`` that race with the marked ones. ``same``: they write what is there already."""
        other = marks.thread[touch.granules]
        suspects = np.flatnonzero((other != NOBODY) & (other != touch.threads))
        if not suspects.size:
            return
        granules, other, mine = touch.granules[suspects], other[suspects], touch.threads[suspects]
        same_block = self._number.block_of_mark(other) == self._number.block(mine)
        race = ~same_block | (marks.epoch[granules] == _of(touch.epoch, suspects))
        if not race.any():
            return
        race &= ~self._fences.order(other, mine, marks.time[granules])
        same_warp = self._number.warp_of_mark(other) == self._number.warp(mine)
        race &= ~(same_warp & (marks.warp_epoch[granules] != _of(touch.warp_epoch, suspects)))
        if self.parts is not None:
            race &= ~(same_warp & self.parts.order(other, mine, marks.time[granules]))
        kind = marks.kind[granules]
        i_am_atomic = verbs[0] == "changes"
        if i_am_atomic:
            race &= kind != ATOMIC
        if not race.any():
            return
        mixed = kind == ATOMIC if verbs[0] == "reads" else np.full(race.shape, i_am_atomic and verbs[1] == "read")
        for site in np.unique(marks.place[granules[race & mixed]]).tolist():
            read, change = (site, touch.place) if i_am_atomic else (touch.place, site)
            if self._is_read_too_early(array, read, change):
                mixed &= marks.place[granules] != site
        silent = kind == SILENT if verbs[0] == "reads" else same()[suspects] if same is not None else False
        harmless = mixed | silent
        worst = race & ~harmless if (race & ~harmless).any() else race
        first = int(np.flatnonzero(worst)[0])
        found = "race" if not harmless[first] else "mixed-atomic" if mixed[first] else "same-value-writes"
        there, theirs = int(marks.place[granules[first]]), int(other[first])
        self._report(found, array, (touch.place, there), verbs, (int(mine[first]), theirs), int(worst.sum()))

    def check_crowd(self, shadow: Shadow, touch: Touch, array: ArrayRef, values: Any) -> None:
        """Several threads that write one place with one instruction. ``values``: what they write."""
        winner = shadow.writes.thread[touch.granules]
        losers = np.flatnonzero(winner != touch.threads)
        if not losers.size:
            return
        order = np.argsort(touch.granules, kind="stable")
        places, written = touch.granules[order], np.broadcast_to(values, order.shape)[order]
        agree = bool(((places[1:] != places[:-1]) | same_value(written[1:], written[:-1])).all())
        found, first = "same-value-writes" if agree else "race", int(losers[0])
        threads = int(touch.threads[first]), int(winner[first])
        one_place = bool((touch.granules == touch.granules[0]).all())
        one_of_many = one_place and any(bool(np.any(np.greater(length, 1))) for length in array.shape)
        sites = touch.place, touch.place
        self._report(found, array, sites, ("writes", "wrote"), threads, len(losers), one_of_many=one_of_many)

    def _is_read_too_early(self, array: ArrayRef, read: int, change: int) -> bool:
        """Whether a plain read in shared memory only ever comes after the atomics, with no barrier in between.

        The other way round it may be a glance whether an atomic is worth while, which may be out of date.
        """
        if array.space != "shared":
            return False
        at, of = self._sites[read].block, self._sites[change].block
        reaches = self._machine.program.reaches_without_barrier
        glance = reaches(at, of) or (at == of and read < change)
        return not glance and (reaches(of, at) or (at == of and change < read))

    # ------------------------------------------------------------------ words

    def _report(
        self,
        kind: str,
        array: ArrayRef,
        sites: tuple[int, int],
        verbs: tuple[str, str],
        threads: tuple[int, int],
        count: int,
        *,
        one_of_many: bool = False,
    ) -> None:
        """``sites`` and ``threads``: mine and the other's; the other thread may be a mark. ``one_of_many``: all threads
        are at the same one of an array's elements.
        """
        place, their_place = (self._sites[site].place for site in sites)
        mine, other = threads
        wave = self._machine.wave
        whom = f"thread {wave.name_of(*self._number.name(other))}" if other >= 0 else self._crowd(other)
        where = "at the same line" if their_place.line == place.line else f"at line {their_place.line}"
        in_block = bool(self._number.block(np.asarray(mine)) == self._number.block_of_mark(np.asarray(other)))
        missing = "barrier is in between." if in_block else "order is certain: they are of different blocks."
        me = wave.name_of(*self._number.name(mine))
        what = f"Race on {array.name}: thread {me} {verbs[0]} what {whom} {verbs[1]} {where}, and no {missing}"
        # One thread of each block, the same in all: as if there were one block.
        alike = not in_block and other >= 0 and self._number.name(mine)[1] == self._number.name(other)[1]
        question = " Is cuda.blockIdx left out of the index?" if alike and sites[0] == sites[1] else ""
        advice = f"Give each thread a place of its own, or use cuda.atomic.{question}"
        if not in_block and sites[0] != sites[1]:
            advice = (
                "No barrier orders blocks: give each thread a place of its own, use cuda.atomic for both, or do the "
                "first in a launch before this one."
            )
        if in_block and sites[0] != sites[1]:
            advice = "Put cuda.syncthreads() between the two accesses, where every thread of the block passes it."
            if array.space == "global" and math.prod(wave.grid) > 1:
                advice += (
                    " It orders one block's threads only: where blocks meet on the same elements, write into another "
                    "array, or use two launches."
                )
            for uncalled in self._machine.program.uncalled_barriers[:1]:
                advice = f"Line {uncalled.line} lacks its parentheses and does nothing: write cuda.syncthreads()."
        severity = Severity.ERROR if kind == "race" else Severity.WARNING
        if kind == "mixed-atomic":
            what = f"{array.name} is {verbs[0].replace('reads', 'read')} here while others change it atomically."
            advice = "Read it after a barrier, or atomically, if it must be the value of one moment."
        elif kind == "same-value-writes" and "rea" in verbs[0] + verbs[1]:
            what = (
                f"Thread {me} {verbs[0]} what {whom} {verbs[1]} {where}, and no {missing} "
                f"The value written to {array.name} was there already; with any other this would be a race."
            )
        elif kind == "same-value-writes":
            what = f"Several threads write the same value to one place of {array.name}."
            advice = f"Let one thread write it.{question}"
            if one_of_many:
                advice = (
                    "Let one thread write it, or each thread another element: is the index the thread's own, as "
                    "i = cuda.grid(1)?"
                )
        self._machine.findings.add(kind, severity, place, what, advice, array=array.name, count=count)

    def _crowd(self, mark: int) -> str:
        """The threads of a mark that is about several."""
        block = int(self._number.block_of_mark(np.asarray(mark)))
        if math.prod(self._machine.wave.grid) == 1:
            return "other threads"
        if block < 0:
            return "threads of several blocks"
        return f"other threads of {self._machine.wave.name_of(block, 0).partition(' of ')[2]}"


def _of(stamp: Any, lanes: npt.NDArray[np.intp]) -> Any:
    return stamp[lanes] if isinstance(stamp, np.ndarray) else stamp


def same_value(before: Any, after: Any) -> Bools:
    """Where a value is as before; NaN is NaN."""
    equal = np.asarray(before == after)
    if np.asarray(after).dtype.kind in "fc":
        nan = np.asarray(np.isnan(after))
        if nan.any():
            equal = equal | (nan & np.isnan(before))
    return equal
