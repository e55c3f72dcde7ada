"""What calls came to, kept while one lint lasts: most mutants differ from the reference in one entry point only.

Trusted process. In: calls that a check makes of a submission. Out: what they come to, judged or remembered.

An outcome is kept under the fingerprint of what these calls depend on, and all else that they are judged by. One that
the machine may have had a part in is not kept; neither is a fault. Lines that findings quote may be those of another
submission. This is for lint, which judges an author's own solutions; students are judged by ``judge.Candidate``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.fingerprint import fingerprint
from grader.judge import Candidate, CheckFailed, NotMeasured, SizedCall
from grader.records import Failure, Finding, KernelPrints
from grader.technique import Run

# Ends of a process that another moment may spare it. And what runs out of time must take its time, which adds up.
UNSURE = frozenset(("time-out", "stalled", "memory", "crash"))
# Of these a text says all; of an array, say, it does not.
_PLAIN = (bool, int, float, str)

_Calls = Sequence[tuple[str, Mapping[str, Any]]]  # entry points with sizes


@dataclass(frozen=True)
class Told:
    """All that judging some calls came to: what was raised, if anything, and else a simulated call's counters."""

    failure: Failure | None
    not_measured: NotMeasured | None
    run: Run | None
    findings: tuple[Finding, ...]
    printed: tuple[str, ...]
    kernels_printed: KernelPrints


@dataclass
class KnownOutcomes:
    """Those of one lint, in one of its workers."""

    _told: dict[Hashable, Told] = field(default_factory=dict)
    _fingerprints: dict[tuple[bytes, tuple[str, ...]], str | None] = field(default_factory=dict)

    def once(self, source: bytes, calls: _Calls, by: Hashable, judge: Callable[[], Told]) -> Told:
        """What ``judge`` says of ``calls``, or said of them for code that does the same.

        ``by``: what else it depends on. What ``judge`` raises is not kept.
        """
        mark = self._fingerprint(source, tuple(sorted({entry for entry, _ in calls})))
        if mark is None or not all(isinstance(size, _PLAIN) for _, sizes in calls for size in sizes.values()):
            return judge()
        key = mark, repr([(entry, dict(sizes)) for entry, sizes in calls]), by
        if key in self._told:
            return self._told[key]
        told = judge()
        if told.failure is None or told.failure.kind not in UNSURE:
            self._told[key] = told
        return told

    def _fingerprint(self, source: bytes, entries: tuple[str, ...]) -> str | None:
        code = source, entries
        if code not in self._fingerprints:
            self._fingerprints[code] = fingerprint(source, entries)
        return self._fingerprints[code]


@dataclass(eq=False, repr=False)
class KnowingCandidate(Candidate):
    """A Candidate that is spared calls of which the outcome is known, and says of them what was said before."""

    _known: KnownOutcomes

    def check(self, entry: str | None = None, **sizes: Any) -> None:
        """See ``Candidate.check``."""
        self._once("check", [(self._problem(entry), sizes)], lambda judged: judged.check(entry, **sizes))

    def check_each(self, *calls: Mapping[str, Any]) -> None:
        """See ``Candidate.check_each``."""
        self._once("check", self._sized_calls(calls), lambda judged: judged.check_each(*calls))

    def simulate(self, entry: str | None = None, *, blocks: int | None = None, **sizes: Any) -> Run:
        """See ``Candidate.simulate``; a sample of blocks is always its own."""
        if blocks is not None:
            return super().simulate(entry, blocks=blocks, **sizes)
        run = self._once("simulate", [(self._problem(entry), sizes)], lambda judged: judged.simulate(entry, **sizes))
        assert run is not None
        return run

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        """See ``Candidate.race``; times are everybody's own."""
        if self._settings.device != "simulated" and not self._children.has_no_gpu():
            return super().race(entry, **sizes)

        def recorded(judged: Candidate) -> None:
            judged.race(entry, **sizes)

        self._once("race", [(self._problem(entry), sizes)], recorded)
        raise AssertionError("a race without a GPU ends with an exception")

    def _once(self, what: str, calls: Sequence[SizedCall], judge: Callable[[Candidate], Run | None]) -> Run | None:
        """What ``judge`` returns or raises of a Candidate like this one, by which ``calls`` are judged."""
        alike = Candidate(self._submission, self._problems, self._children, self._settings)
        if isinstance(self._submission, Failure):
            return judge(alike)
        settings = self._settings
        by = what, self._device(), settings.limits, settings.seed, settings.gpu
        named = [(problem.entry, sizes) for problem, sizes in calls]
        told = self._known.once(self._submission.source, named, by, lambda: _told(alike, judge))
        self.findings += told.findings
        self.printed += told.printed
        self.kernels_printed = told.kernels_printed
        if told.failure is not None:
            raise CheckFailed(told.failure)
        if told.not_measured is not None:
            raise told.not_measured.with_traceback(None)
        return told.run


def _told(candidate: Candidate, judge: Callable[[Candidate], Run | None]) -> Told:
    """What a Candidate says of calls. Raises what is no outcome: faults, and mistakes of an author."""
    failure, not_measured, run = None, None, None
    try:
        run = judge(candidate)
    except CheckFailed as failed:
        failure = failed.failure
    except NotMeasured as why:
        not_measured = why
    said = tuple(candidate.findings), tuple(candidate.printed), candidate.kernels_printed
    return Told(failure, not_measured, run, *said)
