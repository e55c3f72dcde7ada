"""What NVIDIA's compute-sanitizer writes, as findings of ours. Pure; trusted process.

In: the text of one log of memcheck or racecheck, and the text of kernels.py. Out: a ``SanitizerLog``. The log is
untrusted: its length is bounded, what is not understood is kept as a sentence of printable ASCII, nothing raises.

A log is made of records: a line of ``=========`` and a head, then lines with details, then an empty one. Read here
are heads of memcheck ("Invalid __global__ write of size 4 bytes") and of racecheck's analysis ("Error: Race reported
between Write access at …"), in the wording of 2021 ("at 0x90 in kernels.py:4:name(…)") and of 2022 and later
("at name(…)+0x90 in kernels.py:4"). Source: NVIDIA's Compute Sanitizer User Manual, sections "Memcheck Tool" and
"Racecheck Tool", and logs of 2025.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from grader.kernels_text import KernelsText
from grader.records import KERNELS_FILE, Finding, Place, Severity

# A log is read so far; one record of memcheck is some 700 bytes, and so many are asked for (MAX_RECORDS).
MAX_LOG = 8 << 20  # characters
# After so many records the tool is told to write no more. They are of few kinds: one for each thread, usually.
MAX_RECORDS = 2000
MAX_FINDINGS = 50
MAX_SAID = 200  # characters of a line that is not understood
MAX_LINE = 4000  # Numba's names of kernels have some hundred characters
Triple = tuple[int, int, int]

_PREFIX = re.compile(r"={9} ?")
_INVALID = re.compile(r"Invalid (?:__(\w{1,20})__ )?(\w{1,20}) of size (\d{1,9}) bytes?")
_RACE = re.compile(r"(Error|Warning|Info): Race reported between (\w{1,20}) access at (.*)")
_AND = re.compile(r"and (\w{1,20}) access at (.*?)(?: \[([\d,]{1,20}) hazards?\])?$")
_THREAD = re.compile(r"by thread \((\d{1,9}),(\d{1,9}),(\d{1,9})\) in block \((\d{1,9}),(\d{1,9}),(\d{1,9})\)")
_BAD = re.compile(r"(?:Access to|Address) 0x([0-9a-f]{1,16}) is (out of bounds|misaligned)")
_NEAREST = re.compile(r"nearest allocation at 0x([0-9a-f]{1,16}) of size ([\d,]{1,20}) bytes?")
_API_ERROR = re.compile(r"Program hit (\w{1,80}) ")
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: ([\d,]{1,20}) (?:error|hazard)s?(.*)")
_FILE_AND_LINE = re.compile(rf"(?:^|[\s/]){re.escape(KERNELS_FILE)}:(\d{{1,6}})\b")
_NUMBA_NAME = re.compile(r"(?:^|::|\s|:)([A-Za-z_]\w{0,200})\[abi:")
_PLAIN_NAME = re.compile(r"(?:^|::|\s|:)([A-Za-z_]\w{0,200})\(")
# Heads that say nothing of the kernels.
_IDLE = ("COMPUTE-SANITIZER", "LEAK SUMMARY", "This tool is deprecated")
# What the driver answers after a kernel has done what it must not. Anything else that it refuses is no kernel's doing.
_OF_KERNELS = ("LAUNCH_FAILED", "ILLEGAL_ADDRESS", "MISALIGNED_ADDRESS", "ILLEGAL_INSTRUCTION", "INVALID_PC", "ASSERT")
_SEVERITIES = {"Error": Severity.ERROR, "Warning": Severity.WARNING, "Info": Severity.ADVICE}
_SPACES = {"shared": "the block's shared memory", "local": "the thread's local memory"}


@dataclass(frozen=True)
class SanitizerLog:
    """``complete``: the log has its end, so that "nothing" means that nothing was found.

    ``left_out`` is how many records the tool did not write, or we did not read; ``said`` has lines in which the tool
    speaks of itself, or that are not understood.
    """

    findings: tuple[Finding, ...] = ()
    complete: bool = False
    left_out: int = 0
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Site:
    """Where in kernels.py: line 0 where the tool does not say, or in a function that is not the student's."""

    line: int
    function: str


def read_log(text: str, kernels: KernelsText) -> SanitizerLog:
    """The findings of one log, records of the same place as one finding. Errors come first."""
    found: dict[object, Finding] = {}
    said: list[str] = []
    driver: list[Finding] = []
    left_out, complete = 0, False
    for head, details in _records(text[:MAX_LOG]):
        if summary := _SUMMARY.match(head):
            if "not printed" in summary[2]:
                left_out += _number(summary[1])
            complete = True
        elif invalid := _INVALID.match(head):
            _add(found, *_access(invalid[1] or "", invalid[2], _number(invalid[3]), details, kernels))
        elif race := _RACE.match(head):
            for key, finding in _races(_SEVERITIES[race[1]], race[2], race[3], details, kernels):
                _add(found, key, finding)
        elif (refused := _API_ERROR.match(head)) and refused[1].endswith(_OF_KERNELS):
            driver.append(_stopped(refused[1]))
        elif not head.startswith(_IDLE):
            said.append(_printable(head))
    if not any(finding.severity is Severity.ERROR for finding in found.values()):
        for finding in driver[:1]:  # else it is what came of an error that is known better
            _add(found, "driver", finding)
    order = list(Severity)
    findings = sorted(found.values(), key=lambda finding: order.index(finding.severity))
    return SanitizerLog(
        tuple(findings[:MAX_FINDINGS]),
        complete and len(text) <= MAX_LOG,
        left_out + sum(finding.count for finding in findings[MAX_FINDINGS:]),
        tuple(dict.fromkeys(said))[:MAX_FINDINGS],
    )


def _records(text: str) -> Iterator[tuple[str, list[str]]]:
    """Heads with their details."""
    head, details = "", list[str]()
    for line in text.split("\n"):
        prefix = _PREFIX.match(line)
        body = line[prefix.end() : MAX_LINE].rstrip() if prefix else ""
        if body.startswith(" ") and head:
            details.append(body.strip())
        elif head and _AND.match(body):
            details.append(body)  # not every version indents it
        else:
            if head:
                yield head, details
            head, details = body.strip(), []
    if head:
        yield head, details


def _add(found: dict[object, Finding], key: object, finding: Finding) -> None:
    known = found.get(key)
    found[key] = finding if known is None else replace(known, count=known.count + finding.count)


def _access(space: str, verb: str, size: int, details: list[str], kernels: KernelsText) -> tuple[object, Finding]:
    """A record of memcheck, and what makes it the same as another."""
    bad = next(filter(None, map(_BAD.search, details)), None)
    thread = next(filter(None, map(_THREAD.search, details)), None)
    threads: tuple[tuple[Triple, Triple], ...] = ()
    who = ""
    if thread:
        x, y, z, bx, by, bz = map(int, thread.groups())
        threads = (((bx, by, bz), (x, y, z)),)
        who = f", by thread {_index((x, y, z))} of block {_index((bx, by, bz))}"
    site = _site((d for d in details if d.startswith(("at ", "Device Frame:"))), kernels)
    misaligned = bad is not None and bad[2] == "misaligned"
    does = {"read": "Read", "write": "Write", "atomic": "Atomic operation"}.get(verb.lower(), "Access")
    if misaligned:
        what = (
            f"{does} of {_bytes(size)} of {space or 'global'} memory at an address that is no multiple of {size}{who}."
        )
        advice = "A GPU stops there. Make the dtype with align=True, or view bytes at aligned offsets only."
    else:
        what = f"{does} of {_bytes(size)} outside of {_SPACES.get(space, 'every array')}{_distance(bad, details)}{who}."
        advice = "Let only threads whose index is inside the array get here: guard the access with an if."
    kind = "misaligned-access" if misaligned else "out-of-bounds"
    finding = Finding(kind, Severity.ERROR, _place(site, kernels), what, advice, threads=threads)
    return (kind, space, verb, size, site), finding


def _distance(bad: re.Match[str] | None, details: list[str]) -> str:
    """How far from the nearest array an access is, if that is near enough to be a hint which one is meant."""
    nearest = next(filter(None, map(_NEAREST.search, details)), None)
    if bad is None or nearest is None:
        return ""
    address, start, size = int(bad[1], 16), int(nearest[1], 16), _number(nearest[2])
    if not start - size <= address < start + 2 * size:
        return ""
    where = f"{_bytes(start - address)} before" if address < start else f"{_bytes(address - start)} behind"
    return f": {where} the start of one of {_bytes(size)}"


def _races(
    severity: Severity, verb: str, where: str, details: list[str], kernels: KernelsText
) -> Iterator[tuple[object, Finding]]:
    """A record of racecheck's analysis: one access, and those that race with it; a finding for each pair of lines."""
    first = _site([where], kernels)
    for pair in filter(None, map(_AND.match, details)):
        other = _site([pair[2]], kernels)
        # In the order of the lines: which of the two the tool names first depends on what it saw first.
        (one, does), (two, did) = sorted(
            ((first, verb.lower()), (other, pair[1].lower())), key=lambda each: (each[0].line, each[1] != "write")
        )
        if one == two and does == did:
            what = (
                f"Race on shared memory: several threads {does} one place at this line, and no barrier is in between."
            )
            advice = "Give each thread a place of its own, or use cuda.atomic."
        else:
            there = "at the same line" if one.line == two.line else f"at line {two.line or '?'}"
            what = f"Race on shared memory: a {does} here and a {did} {there}, and no barrier is in between."
            advice = "Put cuda.syncthreads() between the two accesses, where every thread of the block passes it."
        finding = Finding("race", severity, _place(one, kernels), what, advice, count=max(_number(pair[3] or "1"), 1))
        yield ("race", severity, one, two, does, did), finding


def _stopped(error: str) -> Finding:
    what = f"The GPU stopped a kernel ({error}), and the tool does not say where."
    return Finding("gpu-error", Severity.ERROR, Place(0), what)


def _site(frames: Iterable[str], kernels: KernelsText) -> _Site:
    """The innermost frame that is in kernels.py; the innermost of all without its line if none is."""
    outer: _Site | None = None
    for frame in frames:
        line = _FILE_AND_LINE.search(frame)
        name = _NUMBA_NAME.search(frame) or _PLAIN_NAME.search(frame)
        site = _Site(int(line[1]) if line else 0, name[1] if name else "")
        if site.line:
            return site
        outer = outer or site
    return outer or _Site(0, "")


def _place(site: _Site, kernels: KernelsText) -> Place:
    return kernels.place(site.line, site.function)


def _index(index: Triple) -> str:
    """An index with as many dimensions as it shows."""
    return str(index[0]) if index[1:] == (0, 0) else f"({', '.join(map(str, index[: 3 if index[2] else 2]))})"


def _bytes(number: int) -> str:
    return f"{number:,} {'byte' if number == 1 else 'bytes'}"


def _number(digits: str) -> int:
    return int(digits.replace(",", "") or "0")


def _printable(text: str) -> str:
    kept = "".join(character for character in text if " " <= character <= "~")
    return kept if len(kept) <= MAX_SAID else f"{kept[:MAX_SAID]}…"
