"""What a script's launches showed, for a terminal. Pure; trusted process.

In: groups of equal launches, a GPU model, a width. Out: lines with their style, errors first. ``ROWS`` names the
counters in the field's words; a counter that is not in it is in the JSON only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from grader.gpu_models import SECTOR_BYTES, GpuModel, occupancy
from grader.records import Finding, Severity
from grader.reports.line_costs import line_costs
from grader.reports.text import finding_lines, one_line, wrapped
from grader.traces import FunctionText, LaunchGroup, LaunchTrace

Line = tuple[str, str]  # text, style
STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
LABEL = 24
INDENT = "  "
# Kinds of launches on a page; those with errors are told in any case.
MAX_GROUPS = 30

Part = tuple[str, str, str]  # a counter, the words for one and for many of it


def _accesses(kind: str, cost: Part) -> tuple[Part, ...]:
    """Elements, requests and what these cost, of a kind of access such as "global_load"."""
    return (f"{kind}s", "element", "elements"), (f"{kind}_requests", "request", "requests"), cost


def _sectors(kind: str) -> tuple[Part, ...]:
    return _accesses(kind, (f"{kind}_sectors", "sector of 32 bytes", "sectors of 32 bytes"))


def _banks(kind: str) -> tuple[Part, ...]:
    return _accesses(kind, (f"{kind}_bank_conflicts", "bank conflict", "bank conflicts"))


def _atomics(space: str) -> tuple[Part, ...]:
    return (f"{space}_atomics", "operation", "operations"), (f"{space}_atomic_requests", "request", "requests")


# What is counted, in the order in which it is told. The first counter decides whether there is anything to tell.
ROWS: tuple[tuple[str, tuple[Part, ...]], ...] = (
    ("global memory read", _sectors("global_load")),
    ("global memory written", _sectors("global_store")),
    ("global atomics", _atomics("global")),
    ("shared memory read", _banks("shared_load")),
    ("shared memory written", _banks("shared_store")),
    ("shared atomics", _atomics("shared")),
    (
        "local memory",
        (("local_loads", "element read", "elements read"), ("local_stores", "element written", "elements written")),
    ),
    ("local memory", (("local_bytes", "byte per thread", "bytes per thread"),)),
    ("constant memory read", (("const_loads", "element", "elements"),)),
    ("barriers", (("barriers", "time that a thread passed one", "times that a thread passed one"),)),
    ("branches", (("branches", "by warps", "by warps"), ("divergent_branches", "divergent", "divergent"))),
    ("float16 operations", (("flops_float16", "", ""),)),
    ("float32 operations", (("flops_float32", "", ""),)),
    ("float64 operations", (("flops_float64", "", ""),)),
)


def simulation_page(
    groups: Sequence[LaunchGroup], script: str, gpu: GpuModel, width: int = 80, texts: Sequence[FunctionText] = ()
) -> list[Line]:
    """A page for a learner: a summary, then each launch with what was wrong, what to try, and what it cost.

    Then each kernel whose text is among ``texts``, with what its lines cost.
    """
    page: list[Line] = [(text, "bold") for text in wrapped(summary(groups, script, gpu), width, "", "")]
    alike = _alike(groups)
    shown = [each for number, each in enumerate(alike) if number < MAX_GROUPS or has_errors([each[0]])]
    seen: set[Any] = set()
    for group, differ in shown:
        page += [("", ""), *_launch(group, gpu, width, seen, differ=differ)]
    if len(shown) < len(alike):
        page += [("", ""), (f"and {len(alike) - len(shown)} more kinds of launches; --json has them all", "")]
    listings = line_costs(groups, texts, width)
    return [*page, ("", ""), *listings] if listings else page


def _alike(groups: Sequence[LaunchGroup]) -> list[tuple[LaunchGroup, bool]]:
    """Groups that differ in what was counted and how often, but not in what is said about them, as one.

    With each, whether something was counted differently.
    """
    together: dict[Any, tuple[LaunchGroup, bool]] = {}
    for group in groups:
        launch = group.launch
        findings = frozenset((finding.kind, finding.place, finding.array) for finding in launch.findings)
        key = (launch.kernel, launch.place, launch.grid, launch.block, launch.problem, findings)
        known, differ = together.get(key, (LaunchGroup(launch, 0), False))
        differ = differ or known.launch.counters != launch.counters
        together[key] = LaunchGroup(known.launch, known.times + group.times), differ
    return list(together.values())


def summary(groups: Sequence[LaunchGroup], script: str, gpu: GpuModel) -> str:
    """One sentence: how many launches, how many findings of each kind."""
    launched = [group for group in groups if _is_launch(group.launch)]
    launches = sum(group.times for group in launched)
    kernels = len({(group.launch.kernel) for group in launched})
    if not groups:
        return f"{one_line(script)} on a simulated {gpu.name}: no kernel was launched."
    findings = [finding for group in groups for finding in group.launch.findings]
    told = [
        _count(sum(finding.severity is severity for finding in findings), word, plural)
        for severity, word, plural in (
            (Severity.ERROR, "error", "errors"),
            (Severity.WARNING, "warning", "warnings"),
            (Severity.ADVICE, "piece of advice", "pieces of advice"),
        )
        if any(finding.severity is severity for finding in findings)
    ]
    failed = sum(group.times for group in launched if group.launch.problem)
    if failed:
        told.insert(0, f"{failed} did not end well" if failed < launches else "none ended well")
    what = f"{_count(launches, 'launch', 'launches')} of {_count(kernels, 'kernel', 'kernels')}"
    if not launches:
        what = "no kernel was launched"
    return f"{one_line(script)} on a simulated {gpu.name}: {what}; {', '.join(told) or 'nothing to remark'}."


def _launch(group: LaunchGroup, gpu: GpuModel, width: int, seen: set[Any], *, differ: bool) -> Iterator[Line]:
    """``seen`` says what has been told; ``differ``, that ``group`` stands for launches with other counts, too."""
    launch = group.launch
    times = "" if group.times == 1 else f", {group.times:,} times"
    title = f"{launch.kernel}: {_where(launch)}" if launch.kernel else _at(launch)
    yield from ((text, "bold") for text in wrapped(f"{title}{times}", width, "", INDENT))
    if launch.place.text:
        yield from _indented(launch.place.text, width, 4)
    if _is_launch(launch):
        yield from _indented(_geometry(launch), width, 2)
    if launch.problem:
        yield "", ""
        yield from ((text, "red") for text in wrapped(launch.problem, width, INDENT, INDENT))
    order = list(Severity)
    for finding in sorted(launch.findings, key=lambda each: order.index(each.severity)):
        first, *rest = finding_lines(finding, width - len(INDENT))
        told = finding.severity, finding.kind, finding.place, finding.array, finding.advice
        yield "", ""
        if told in seen:
            yield from (
                (text, STYLES[finding.severity]) for text in wrapped(_again(finding), width, INDENT, INDENT * 2)
            )
            continue
        seen.add(told)
        yield INDENT + first, STYLES[finding.severity]
        yield from ((f"{INDENT}{text}", "") for text in rest)
    if launch.counters:
        yield "", ""
        if differ:
            yield from _indented(
                "Counted in the first of these launches; others differ, and --json has each.", width, 2
            )
        yield from _counters(launch, gpu, width)


def _again(finding: Finding) -> str:
    """A finding of which the same line of another launch has told already."""
    of, place = (f" of {finding.array}" if finding.array else ""), finding.place
    return f"{finding.severity.value}: as above, {finding.kind}{of} at {place.short_file}:{place.line}{finding.times}"


def _is_launch(launch: LaunchTrace) -> bool:
    """And not a kernel that was to be compiled for a later one."""
    return any((*launch.grid, *launch.block))


def _where(launch: LaunchTrace) -> str:
    what = "launched" if _is_launch(launch) else "compiled"
    return f"{what} at {_at(launch)}" if launch.place.line else what


def _at(launch: LaunchTrace) -> str:
    return f"{launch.place.short_file}:{launch.place.line}"


def _geometry(launch: LaunchTrace) -> str:
    blocks, threads = _volume(launch.grid), _volume(launch.block)
    shared = launch.counters.get("shared_bytes", launch.dynamic_shared_bytes)
    memory = f", {shared:,} bytes of shared memory each" if shared else ""
    return (
        f"{_count(blocks, 'block', 'blocks')}{_shape(launch.grid)} of {_count(threads, 'thread', 'threads')}"
        f"{_shape(launch.block)}{memory}"
    )


def _counters(launch: LaunchTrace, gpu: GpuModel, width: int) -> Iterator[Line]:
    """What was counted, and what follows from it."""
    counted = launch.counters
    for label, parts in ROWS:
        if counted.get(parts[0][0]):
            told = ", ".join(_count(counted[name], one, more).rstrip() for name, one, more in parts if name in counted)
            yield from _row(label, told, width)
    flops = sum(count for name, count in counted.items() if name.startswith("flops_"))
    moved = sum(counted.get(f"global_{kind}_sectors", 0) for kind in ("load", "store")) * SECTOR_BYTES
    if flops and moved:
        yield from _row("arithmetic intensity", f"{flops / moved:.2g} operations per byte moved", width)
    steps = counted.get("warp_steps", 0)
    if steps:
        lanes = counted.get("thread_steps", 0) / steps
        yield from _row("active lanes", f"{lanes:.3g} of {gpu.warp_size} in a warp, on average", width)
    full = occupancy(gpu, _volume(launch.block), counted.get("shared_bytes", 0))
    yield from _row("occupancy", f"at most {full:.0%} by threads and shared memory", width)


def _row(label: str, text: str, width: int) -> Iterator[Line]:
    first = f"{INDENT}{label:<{LABEL}}"
    yield from ((line, "") for line in wrapped(text, width, first, " " * len(first)))


def _indented(text: str, width: int, by: int) -> Iterator[Line]:
    yield from ((line, "") for line in wrapped(text, width, " " * by, " " * by))


def _volume(sizes: Iterable[int]) -> int:
    x, y, z = sizes
    return x * y * z


def _shape(sizes: tuple[int, int, int]) -> str:
    """`` (16 × 8)`` for more than one dimension."""
    used = max((axis for axis in range(3) if sizes[axis] > 1), default=0)
    return f" ({' × '.join(map(str, sizes[: used + 1]))})" if used else ""


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


def has_errors(groups: Sequence[LaunchGroup]) -> bool:
    """Whether any launch showed an error or did not end."""
    return any(
        group.launch.problem or any(finding.severity is Severity.ERROR for finding in group.launch.findings)
        for group in groups
    )
