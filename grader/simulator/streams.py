"""What orders the launches and copies of several streams. Runs in the runner, or in anybody's own process.

In: launches, copies, waits, in the order in which a host function asks for them. Out: pairs that touch the same memory,
of which one changes it, and that a GPU may do in any order. Each stream has a vector clock, as Lamport's "happened
before" asks for (L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; C. Fidge,
"Timestamps in Message-Passing Systems That Preserve the Partial Ordering", 1988): how many operations of each other
stream are over before its next one begins.

What orders, after NVIDIA's CUDA Driver API ("Stream synchronization behavior", "API synchronization behavior"): a
stream its own operations; an event that one stream records and another waits for; the legacy default stream, which
waits for all others and they for it; the host, once it has waited for a stream, an event or the device. All threads of
the host are taken for one: what orders them is not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grader.records import Place
from grader.simulator.memory import ArrayRef
from grader.simulator.touched import Touched
from grader.traces import LaunchTrace

# The handles of the legacy default stream.
_DEFAULT_STREAMS = (0, 1)
# What is kept of operations that nothing orders, in bytes; then the oldest are forgotten.
_MOST_KEPT = 256 << 20
# By stream, how many of its operations are over.
Clock = dict[int, int]


@dataclass(eq=False)
class Operation:
    """A launch or a copy on a stream. ``what``: "the launch of scale", "the copy to the host"."""

    what: str
    place: Place
    stream: int
    touched: tuple[Touched, ...]
    arrays: tuple[ArrayRef, ...] = ()
    number: int = 0  # which of its stream's, from 1 on
    trace: LaunchTrace | None = None  # of a launch, once it has been told

    @property
    def kept_bytes(self) -> int:
        """How much memory it takes to remember."""
        return sum(each.codes.nbytes for each in self.touched)


@dataclass(frozen=True)
class Clash:
    """Nothing orders an operation and an ``earlier`` one, and the order matters at ``address``."""

    earlier: Operation
    address: int
    did: int  # what the earlier one did there (``touched``)
    does: int


def is_default(stream: int) -> bool:
    """Whether a handle is that of the legacy default stream."""
    return stream in _DEFAULT_STREAMS


def _join(clock: Clock, other: Clock) -> None:
    for stream, number in other.items():
        if number > clock.get(stream, 0):
            clock[stream] = number


class StreamOrder:
    """All streams of a process. Streams and events are their handles."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._asked: Clock = {}  # how many operations there were
        self._over: Clock = {}  # those that are over before whatever comes now
        self._clocks: dict[int, Clock] = {}
        self._events: dict[int, Clock] = {}
        self._open: list[Operation] = []  # those that may not be over

    def _clock(self, stream: int) -> Clock:
        clock = self._clocks.setdefault(stream, {})
        _join(clock, self._over)
        return clock

    def add(self, operation: Operation) -> list[Clash]:
        """The next operation of a stream; what it clashes with, at most one for each stretch that it touches."""
        with self._lock:
            stream = operation.stream
            if is_default(stream):
                self.finish_all()
                return []
            clock = self._clock(stream)
            clashes = list(self._clashes(operation, clock))
            operation.number = self._asked[stream] = self._asked.get(stream, 0) + 1
            clock[stream] = operation.number
            for clash in clashes:  # said once: what follows is taken to be ordered behind it
                _join(clock, {clash.earlier.stream: clash.earlier.number})
            self._open = [each for each in self._open if each.stream != stream or not _covers(operation, each)]
            self._open.append(operation)
            while len(self._open) > 1 and sum(each.kept_bytes for each in self._open) > _MOST_KEPT:
                self._open.pop(0)
            return clashes

    def _clashes(self, operation: Operation, clock: Clock) -> Iterator[Clash]:
        unordered = [each for each in reversed(self._open) if each.number > clock.get(each.stream, 0)]
        for touched in operation.touched:
            found = (
                Clash(earlier, address, theirs.code_at(address), touched.code_at(address))
                for earlier in unordered
                for theirs in earlier.touched
                if (address := touched.clash_with(theirs)) is not None
            )
            yield from (clash for clash, _ in zip(found, range(1), strict=False))

    # ------------------------------------------------------------------ waits

    def finish_all(self) -> None:
        """The host waits for the device, or the default stream does something: all before comes before all after."""
        with self._lock:
            self._over = dict(self._asked)
            self._open.clear()

    def finish(self, stream: int) -> None:
        """The host waits for a stream."""
        with self._lock:
            if is_default(stream):
                self.finish_all()
            else:
                self._is_over(self._clock(stream))

    def record(self, event: int, stream: int) -> None:
        """An event stands for what was asked of a stream before."""
        with self._lock:
            self._events[event] = dict(self._asked if is_default(stream) else self._clock(stream))

    def wait(self, stream: int, event: int) -> None:
        """A stream waits for an event; for one that was never recorded, for nothing."""
        with self._lock:
            if is_default(stream):
                self.finish_all()
            else:
                _join(self._clock(stream), self._events.get(event, {}))

    def finish_event(self, event: int) -> None:
        """The host waits for an event, or sees that it has come."""
        with self._lock:
            self._is_over(self._events.get(event, {}))

    def _is_over(self, clock: Clock) -> None:
        _join(self._over, clock)
        self._open = [each for each in self._open if each.number > self._over.get(each.stream, 0)]

    def forget_event(self, event: int) -> None:
        """There is no such event any more."""
        with self._lock:
            self._events.pop(event, None)

    def forget_memory(self, start: int, nbytes: int) -> None:
        """Memory is given back: whoever gets it has nothing to do with what was there."""
        stop = start + nbytes
        with self._lock:
            for each in self._open:
                if _overlaps(each.touched, start, stop):
                    each.touched = tuple(t for t in each.touched if t.stop <= start or t.start >= stop)


def _overlaps(touched: Iterable[Touched], start: int, stop: int) -> bool:
    return any(each.start < stop and start < each.stop for each in touched)


def _covers(later: Operation, earlier: Operation) -> bool:
    """Whether whoever clashes with ``earlier``, of the same stream, clashes with ``later``, too."""
    return all(any(mine.covers(theirs) for mine in later.touched) for theirs in earlier.touched)
