"""What is told of launches that a GPU refuses, and of those that did not come to an end. Runs in anybody's own process.

In: a launch's record so far, and why it ended. Out: the record with what is told of it, where there is something to
mend as a finding with its line and what to try.
"""

from __future__ import annotations

from dataclasses import replace

from grader.records import Finding, Severity
from grader.simulator.configuration import LaunchRefused
from grader.simulator.frames import MAX_DEPTH
from grader.simulator.stops import DepthLimit, Interrupted, StepLimit
from grader.traces import LaunchTrace


def refused(trace: LaunchTrace, error: LaunchRefused) -> LaunchTrace:
    """A launch that a GPU refuses."""
    what = f"{str(error)[:1].upper()}{str(error)[1:]}."
    finding = Finding("launch-refused", Severity.ERROR, trace.place, what, error.advice)
    return replace(trace, problem="A GPU refuses this launch.", findings=(finding,))


def unfinished(trace: LaunchTrace, error: StepLimit, seconds: float) -> LaunchTrace:
    """A launch that used up its ``seconds`` of CPU time, or the calls that may be inside each other."""
    if isinstance(error, DepthLimit):
        kind, severity = "recursion", Severity.ERROR
        problem = f"{trace.kernel} calls a function that calls itself without end."
        what = f"There are more than {MAX_DEPTH:,} calls inside each other here; a GPU's stack is 1 KiB."
        advice = "Check the condition that ends the recursion, or write a loop."
    else:
        # A right kernel may take longer, too: which it is cannot be decided.
        kind, severity = "time-limit", Severity.WARNING
        problem = f"{trace.kernel} did not end within {seconds:g} s of CPU time."
        what = f"Thread {error.thread} was still in here when the time was up."
        advice = (
            "Does the loop's condition become false for this thread, whatever the data? If it does, the launch is "
            "large: try fewer elements, or a higher --limit (launch_seconds of install)."
        )
    finding = Finding(kind, severity, error.place, what, advice, threads=error.threads)
    return replace(trace, problem=problem, findings=(*error.findings, finding))


def interrupted(trace: LaunchTrace, error: KeyboardInterrupt) -> LaunchTrace:
    """A launch that somebody has stopped, and what had been found by then."""
    if not isinstance(error, Interrupted):
        return replace(trace, problem=f"{trace.kernel} was interrupted.")
    place = error.place
    where = f"{place.short_file}:{place.line}" + (f":\n  {place.text}" if place.text else "")
    problem = f"{trace.kernel} was interrupted. Thread {error.thread} was at {where}"
    return replace(trace, problem=problem, findings=error.findings)
