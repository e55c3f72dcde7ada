"""What lint says of what it judged: verdicts in, rows of its table out. Pure, in the trusted process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.dry_run import DRY_RUN, OUTPUTS, RACES, SAMPLED, SMALLER
from grader.mutants import Mutant
from grader.records import CheckResult, State, Verdict
from grader.reports.text import one_line

# A submission that computes nothing may still race; these are the parts that it must not earn.
STUB = "stub"
REFERENCE, FAST = "reference", "fast reference"
# Where the result is the input in another order, host code can make it without a kernel.
COPIES = {"copied input": "given", "transposed input": "given.T", "reversed input": "given[::-1]"}
NOTHING = (STUB, "empty kernel", "copied constant", *COPIES)
EARNED_PARTS = ("correctness", "technique")
# Failures of code that does not run. A stub is to run and to leave the output as it was.
BROKEN = frozenset(("syntax-error", "import-error", "exception", "recursion", "exit", "crash", "kernel-rejected"))
MAX_REASON = 300


@dataclass(frozen=True)
class Row:
    """One thing that lint looked at. ``ok`` None: a known gap, said but not counted as a problem."""

    what: str
    ok: bool | None
    note: str


def _not_judged(verdict: Verdict) -> str:
    """Why a verdict has checks without an outcome, if it has."""
    if not verdict.checks:
        return one_line(verdict.summary, MAX_REASON)
    check = _stopped_at(verdict)
    return one_line(f"not judged: {check.name}: {check.reason}", MAX_REASON) if check is not None else ""


def _stopped_at(verdict: Verdict) -> CheckResult | None:
    """The first check that was not judged."""
    return next((check for check in verdict.checks if check.state is State.NOT_JUDGED), None)


def common_reasons(verdicts: Mapping[str, Verdict]) -> dict[str, list[str]]:
    """What kept the checks of several samples from being judged, with these samples: one mistake, to be told once."""
    stopped: dict[str, list[str]] = {}
    for sample, verdict in verdicts.items():
        check = _stopped_at(verdict)
        if check is not None:
            stopped.setdefault(check.reason, []).append(sample)
    return {reason: samples for reason, samples in stopped.items() if len(samples) > 1}


def common_rows(common: Mapping[str, list[str]], of: int) -> list[Row]:
    """A row for each of ``common_reasons``, of so many samples."""
    return [
        Row("not judged", False, one_line(f"{reason} (this stopped {len(samples)} of {of} samples)", MAX_REASON))
        for reason, samples in common.items()
    ]


def _failed(verdict: Verdict) -> dict[str, str]:
    """Check functions that failed, with the first failure's sentence."""
    failed: dict[str, str] = {}
    for check in verdict.checks:
        if check.passed is False:
            failed.setdefault(check.name.split("[")[0], check.failure.what if check.failure is not None else "")
    return failed


def reference_row(name: str, verdict: Verdict) -> Row:
    """It earns all that can be judged here."""
    problem = _not_judged(verdict)
    failed = [c for c in verdict.checks if c.passed is False or (c.passed and c.credit < 1)]
    if not problem and failed:
        why = failed[0].failure.what if failed[0].failure is not None else f"credit {failed[0].credit:g}"
        problem = one_line(f"{failed[0].name}: {why}", MAX_REASON)
    if problem:
        return Row(name, False, problem)
    passed = sum(1 for c in verdict.checks if c.passed)
    open_checks = len(verdict.checks) - passed
    gap = f", {open_checks} not measured" if open_checks else ""
    return Row(name, True, f"full marks: {passed} checks passed{gap}")


def nothing_row(sample: str, verdict: Verdict) -> Row:
    """It earns nothing, and a stub runs."""
    problem = _not_judged(verdict)
    passed = [c.name for c in verdict.checks if c.passed and c.part in EARNED_PARTS]
    if problem or passed:
        told = f"expected no point, but passed: {', '.join(passed[:3])}"
        if sample in COPIES:
            told += "; require stores_of_out, at least one for each of its elements: a host copy stores nothing"
        return Row(sample, False, problem or told)
    broken = [c.failure.what for c in verdict.checks if c.failure is not None and c.failure.kind in BROKEN]
    if sample == STUB and broken:
        return Row(
            sample, False, one_line(f"expected a stub that runs and writes nothing, found: {broken[0]}", MAX_REASON)
        )
    what = next(iter(_failed(verdict).values()), "")
    return Row(sample, True, one_line(f"no point: {what}", MAX_REASON))


def mutant_row(mutant: Mutant, verdict: Verdict) -> Row:
    """It fails where it says, and nowhere else."""
    problem = _not_judged(verdict)
    if problem:
        return Row(mutant.name, False, problem)
    failed = _failed(verdict)
    if mutant.needs and not failed:
        return Row(mutant.name, None, f"not yet caught: needs {mutant.needs}")
    if set(failed) == mutant.caught_by:
        if mutant.needs:
            return Row(mutant.name, False, "now caught: remove Needs from its docstring")
        return Row(mutant.name, True, f"caught by {', '.join(sorted(failed))}")
    missing, extra = sorted(mutant.caught_by - set(failed)), sorted(set(failed) - mutant.caught_by)
    notes = [f"not caught by {', '.join(missing)}"] if missing else []
    notes += [f"also fails {check} ({failed[check]})" for check in extra]
    return Row(mutant.name, False, one_line("; ".join(notes), MAX_REASON))


def dry_run_rows(name: str, verdict: Verdict, told: Iterable[str]) -> list[Row]:
    """What a dry run says of each check that races, in one row for those of which it says the same.

    Nothing of a reason that is ``told`` elsewhere.
    """
    if not verdict.checks:
        return [Row(name, False, one_line(verdict.summary, MAX_REASON))]
    raced = [check for check in verdict.checks if RACES in check.measured or check.part == "speed"]
    found: dict[tuple[bool | None, str], list[str]] = {}
    for check in raced:
        if check.state is not State.NOT_JUDGED or check.reason not in told:
            found.setdefault(_dry_run_of(check), []).append(check.name)
    return [Row(name, ok, one_line(f"{', '.join(names)}: {note}", MAX_REASON)) for (ok, note), names in found.items()]


def _dry_run_of(check: CheckResult) -> tuple[bool | None, str]:
    """``ok`` and note: what would keep a check from passing on a GPU, whatever its time, or may be amiss."""
    if check.state is State.NOT_MEASURED:
        return None, check.reason  # some blocks leave it in doubt, or cannot be simulated without a GPU's memory
    if not check.passed:
        return False, check.reason if check.failure is None else check.failure.what
    warnings = [finding.what for finding in check.findings if finding.kind == DRY_RUN]
    if warnings or RACES not in check.measured:
        return None, "; ".join(warnings) or "races nothing"
    if OUTPUTS not in check.measured:
        return True, "what it asks for besides holds"
    outputs, sampled, smaller = (check.measured[figure] for figure in (OUTPUTS, SAMPLED, SMALLER))
    looked = f"{sampled:,.0f} of {outputs:,.0f} outputs" if sampled < outputs else "all outputs"
    sizes = {0: "no smaller sizes", 1: "1 smaller size"}.get(int(smaller), f"{smaller:.0f} smaller sizes")
    return True, f"looks at {looked} of each run; {sizes}"
