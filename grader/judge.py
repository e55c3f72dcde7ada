"""The order of the stages, which nothing else knows: submission → plan → outcome → failure or none. Trusted process.

Comes in: a submission, the assignment's problems, two warm children, settings. Goes out: nothing where a check
is passed, CheckFailed with the student's mistake, NotMeasured, or an errors.Fault of ours.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.children import Children
from grader.correctness import judge_outcome, told_once
from grader.device_memory import too_much_memory
from grader.device_names import DeviceName
from grader.errors import AuthoringError
from grader.judge_settings import Settings
from grader.judged_race import AsksTooMuch, RacedCall, TooSlow, judge_race
from grader.plan import LaunchPlan
from grader.problem import Inputs, Problem, by_author
from grader.problem_calls import expected_of, smaller_of
from grader.race_rounds import Contestant
from grader.raced_technique import sample_call
from grader.racing import TooLittleMemory
from grader.records import Failure, Finding, KernelPrints, Outcome
from grader.sandbox.record import Call, record
from grader.sandbox.run import run
from grader.sanitizing import SeenCall
from grader.submission import Submission
from grader.technique import CheckFailed, NoGpu, NotMeasured, Run, run_of
from grader.unwritten import fills_for

__all__ = ["RACES_LATER", "Candidate", "CheckFailed", "NoGpu", "NotMeasured", "Settings"]

NO_GPU = "no GPU"
RACES_LATER = "races are run when nothing else is: this one has not been"


@dataclass(frozen=True)
class _Judged:
    """One call that came out right: what ``simulate`` makes counters of."""

    text: str
    inputs: Inputs
    plan: LaunchPlan
    outcome: Outcome


SizedCall = tuple[Problem, Mapping[str, Any]]  # a problem's entry point, with sizes
_Recorded = tuple[Problem, str, Inputs, LaunchPlan]  # a call, its text, and what came of recording it


@dataclass(eq=False, repr=False)  # pytest shows what a check's names hold: the seed is not to be among it
class Candidate:
    """The code under judgement, as one check sees it: the ``submission`` fixture."""

    _submission: Submission | Failure
    _problems: Mapping[str, Problem]
    _children: Children
    _settings: Settings
    findings: list[Finding] = field(init=False, default_factory=list)
    measured: dict[str, float] = field(init=False, default_factory=dict)
    printed: list[str] = field(init=False, default_factory=list)  # once per process that executed kernels.py
    kernels_printed: KernelPrints = field(init=False, default_factory=KernelPrints)  # in the last call that was judged
    _raced: dict[str, LaunchPlan] = field(init=False, default_factory=dict)  # by the text of a call

    def check(self, entry: str | None = None, **sizes: Any) -> None:
        """The entry point's result is right for inputs of these sizes, on the session's device.

        ``entry`` may be left out where the assignment has one problem. Raises CheckFailed, errors.Fault.
        """
        self._judge([(self._problem(entry), sizes)], self._device())

    def check_each(self, *calls: Mapping[str, Any]) -> None:
        """Several calls of entry points in one process, each right: nothing may be kept from one to the next.

        A call is a mapping of sizes, with the key ``entry`` where the assignment has several problems.
        """
        self._judge(self._sized_calls(calls), self._device())

    def simulate(self, entry: str | None = None, *, blocks: int | None = None, **sizes: Any) -> Run:
        """Counters of a call on the simulated device. Raises CheckFailed unless its result is right.

        With ``blocks``, at most so many of each launch run, at random places, and stand for all: for sizes that are
        raced, and too large to simulate. What comes out of such a call is not looked at, and its counters are
        estimates (see SampledRun). Raises NotMeasured where the call cannot be simulated that way.
        """
        if blocks is not None:
            return self._simulate_sample(self._problem(entry), sizes, blocks)
        (judged,) = self._judge([(self._problem(entry), sizes)], "simulated")
        return run_of(judged.text, judged.inputs, judged.plan, judged.outcome)

    def _simulate_sample(self, problem: Problem, sizes: Mapping[str, Any], blocks: int) -> Run:
        """See ``simulate``."""
        ((_, text, inputs, plan),) = self._record([(problem, sizes)])
        assert isinstance(self._submission, Submission)
        raced = self._raced.get(text)
        return sample_call(
            self._children.runner,
            self._submission.source,
            plan if raced is None else raced,  # host code may be of another mind each time
            inputs,
            text,
            blocks,
            self._settings.gpu,
            self._settings.limits,
            self._rng(text + " blocks"),
            None if raced is None else self._children.gpu(),
        )

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        """The call is faster than course.yml asks for, in right results of runs that are timed on the GPU.

        Returns the sizes that were raced: smaller ones where the GPU has too little memory. Raises CheckFailed where
        not even its launches can be recorded, with or without a GPU, where a result is wrong, or where it is too slow;
        NoGpu; NotMeasured where no fair time can be taken; errors.Fault.
        """
        problem = self._problem(entry)
        asked: dict[str, Any] | None = sizes
        reason = ""
        while asked is not None:
            ((_, text, shapes, plan),) = self._record([(problem, asked)], [self._raced_shapes(problem, asked)])
            gpu = None if self._settings.device == "simulated" else self._children.gpu()
            if gpu is None:
                raise NoGpu(NO_GPU)
            if self._settings.races_later:
                raise NotMeasured(RACES_LATER)
            assert isinstance(self._submission, Submission)
            call = RacedCall(problem, asked, text, shapes, Contestant("submission", self._submission.source, plan))
            try:
                self.measured |= judge_race(call, self._settings.race, self._children, self._rng, gpu)
            except TooLittleMemory as why:
                asked, reason = smaller_of(problem, asked), str(why)
            except (TooSlow, AsksTooMuch) as ended:
                self.measured |= ended.measured
                raise
            else:
                self._raced[text] = plan
                return asked
        raise NotMeasured(reason)

    # ------------------------------------------------------------------ stages

    def _device(self) -> DeviceName:
        """Where results are judged: on a GPU only if it was asked for.

        A GPU is kinder than the simulator: a race or a missing barrier may well come out right there. So the same file
        is judged alike on machines with and without one, a student's and the one that grades.
        """
        return "cuda" if self._settings.device == "cuda" else "simulated"

    def _problem(self, entry: str | None) -> Problem:
        if entry is None and len(self._problems) == 1:
            return next(iter(self._problems.values()))
        if entry is None or entry not in self._problems:
            raise AuthoringError(f"a check asks for {entry!r}; problem.py has {', '.join(self._problems)}")
        return self._problems[entry]

    def _sized_calls(self, calls: Iterable[Mapping[str, Any]]) -> list[SizedCall]:
        """The calls of ``check_each``."""
        return [
            (self._problem(call.get("entry")), {name: size for name, size in call.items() if name != "entry"})
            for call in calls
        ]

    def _judge(self, calls: Sequence[SizedCall], device: DeviceName) -> list[_Judged]:
        made = self._record(calls)
        if self._settings.seen is not None and isinstance(self._submission, Submission):
            for _, text, inputs, plan in made:
                fill = fills_for(inputs, self._rng(text + " fills"))[0]
                self._settings.seen(SeenCall(text, self._submission.source, plan, inputs, fill))
        return [self._judge_one(*recorded, device) for recorded in made]

    def _raced_shapes(self, problem: Problem, sizes: Mapping[str, Any]) -> Inputs:
        """Inputs of a raced call without their values; none where there is no code that could be given them."""
        if isinstance(self._submission, Failure):
            return {}
        text = _text(problem, sizes)
        return self._children.raced_shapes.of(problem, text, lambda: problem.make_inputs(self._rng(text), **sizes))

    def _record(self, calls: Sequence[SizedCall], inputs: Sequence[Inputs] = ()) -> list[_Recorded]:
        """Inputs (unless given) and plans of calls, made in one process that runs kernels.py. Raises CheckFailed."""
        if isinstance(self._submission, Failure):
            raise CheckFailed(self._submission)
        texts = [_text(problem, sizes) for problem, sizes in calls]
        made = list(inputs) or [
            by_author(functools.partial(problem.make_inputs, self._rng(text), **sizes))
            for (problem, sizes), text in zip(calls, texts, strict=True)
        ]
        plans = record(
            self._children.recorder,
            self._submission.source,
            [Call(problem.entry, inputs) for (problem, _), inputs in zip(calls, made, strict=True)],
            self._settings.gpu,
            self._settings.limits,
            self.printed.append,
            self._settings.imports,
        )
        if isinstance(plans, Failure):
            raise CheckFailed(plans)
        for plan, text in zip(plans, texts, strict=True):
            too_much = too_much_memory(plan, self._settings.limits.memory_bytes, text)
            if too_much is not None:
                raise CheckFailed(too_much)
        return [
            (problem, text, inputs, plan)
            for (problem, _), text, inputs, plan in zip(calls, texts, made, plans, strict=True)
        ]

    def _judge_one(self, problem: Problem, text: str, inputs: Inputs, plan: LaunchPlan, device: DeviceName) -> _Judged:
        assert isinstance(self._submission, Submission)
        fills = fills_for(inputs, self._rng(text + " fills"))
        outcomes = run(
            self._children.runner,
            self._submission.source,
            plan,
            inputs,
            fills,
            self._settings.gpu,
            device,
            self._settings.limits,
        )
        self.kernels_printed = outcomes[0].printed
        self.findings.extend(told_once(outcomes[0].findings))
        expected = expected_of(problem, inputs)
        failure = by_author(lambda: judge_outcome(problem, inputs, expected, plan, outcomes, fills, text))
        if failure is not None:
            raise CheckFailed(failure)
        return _Judged(text, inputs, plan, outcomes[0])

    def _rng(self, text: str) -> np.random.Generator:
        """Random numbers for one call: the same for the same seed and call, whatever ran before."""
        return np.random.default_rng([self._settings.seed, zlib.crc32(text.encode())])


def _text(problem: Problem, sizes: Mapping[str, Any]) -> str:
    """A call as a student reads it."""
    return f"{problem.entry}({', '.join(f'{name}={size}' for name, size in sizes.items())})"
