"""From the counters of a launch to advice on speed, each with its line and its numbers. Runs in the runner.

In: ``Facts`` of a launch. Out: findings.

Advice costs no points. Each rule asks for enough work that its numbers mean something: the small sizes with which a
kernel's edges are checked leave any GPU idle. The thresholds are our choice and are stated beside each rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from grader.gpu_models import SECTOR_BYTES, WARP_SIZE, GpuModel, occupancy
from grader.records import Place, Severity
from grader.simulator.access_advice import beside_each_other, costliest, other_banks
from grader.simulator.execution import Spread
from grader.simulator.findings import Findings
from grader.simulator.memory import ArrayRef

# Fewer requests than this on a line are not worth a word.
MIN_REQUESTS = 64
# A request of fewer sectors is cheap, whatever it wants of them.
MIN_SECTORS = 8
# A launch of fewer steps of warps is over before its divergence matters: a guard at the edge of a small array.
MIN_WARP_STEPS = 1 << 16
# Lanes that part from their warps, in every block alike, are told of if they lie in this many times the warps that they
# would fill, if they are so many in each (not the first one alone, which writes what its warp has found), and if the
# steps that packing them would save are this share of all.
MIN_SPREAD = 2.5
MIN_LANES_OF_A_WARP = 2
MIN_SPREAD_STEPS = 0.05
# And about launches of fewer threads there is nothing to say.
MIN_THREADS = 4096
# So many blocks, each of less than a warp, look like threads of a block that stand in the place of blocks.
SWAPPED_BLOCKS = range(64, 1025)
# A grid is said to leave a GPU idle if there is this much work for each multiprocessor: accesses of global memory.
WORK_PER_MULTIPROCESSOR = 4096
Lines = Mapping[Place, Mapping[str, int]]


@dataclass(frozen=True)
class Facts:
    """What the rules look at: one launch. ``float_widths`` are those of its arrays, in bits."""

    gpu: GpuModel
    place: Place  # of the launch
    blocks: int
    threads: int  # per block
    counters: Mapping[str, int]
    lines: Lines
    spots: Lines  # the same by expression, where a line has several
    arrays: Mapping[Place, ArrayRef]  # by expression
    float_widths: frozenset[int]
    float64_lines: AbstractSet[Place]
    promotions: Mapping[Place, str]
    spreads: Mapping[Place, Spread]  # by line of a branch


def advise(facts: Facts, findings: Findings) -> None:
    """Add the advice that all rules have on a launch."""
    for rule in RULES:
        rule(facts, findings)


def _strided(facts: Facts, findings: Findings) -> None:
    """Requests that move at least twice the sectors that their bytes would fill."""
    for place, line in facts.lines.items():
        verbs, moved, needed = [], 0.0, 0.0
        for kind, verb in (("load", "read"), ("store", "write")):
            requests, sectors = line.get(f"global_{kind}_requests", 0), line.get(f"global_{kind}_sectors", 0)
            if requests < MIN_REQUESTS:
                continue
            fewest = max(line[f"global_{kind}_bytes"] / requests / SECTOR_BYTES, 1)
            # Narrow elements, and rows of half a warp, touch a few sectors more than their bytes would fill.
            if sectors / requests >= max(2 * fewest, MIN_SECTORS):
                verbs.append(verb)
                if sectors / requests / fewest > moved / max(needed, 1):
                    moved, needed = sectors / requests, fewest
        if verbs:
            spot = costliest(facts.spots, place, "global", "sectors")
            what = f"{verbs[0]} here moves" if len(verbs) == 1 else "read and its write here move"
            findings.add(
                "strided-access",
                Severity.ADVICE,
                spot,
                f"A warp's {what} {moved:.3g} sectors of 32 bytes, where {needed:.3g} would hold what is wanted.",
                beside_each_other(facts.arrays.get(spot)),
            )


def _bank_conflicts(facts: Facts, findings: Findings) -> None:
    """Accesses of shared memory that take twice the turns, or more."""
    for place, line in facts.lines.items():
        for kind, verb in (("load", "read"), ("store", "write"), ("atomic", "atomic operation")):
            requests, conflicts = line.get(f"shared_{kind}_requests", 0), line.get(f"shared_{kind}_bank_conflicts", 0)
            if requests >= MIN_REQUESTS and conflicts >= requests:
                spot = costliest(facts.spots, place, "shared", "bank_conflicts")
                findings.add(
                    "bank-conflicts",
                    Severity.ADVICE,
                    spot,
                    f"A warp's {verb} of shared memory takes {1 + conflicts / requests:.3g} turns here instead of one: "
                    f"{conflicts:,} bank conflicts in {requests:,} requests.",
                    other_banks(facts.arrays.get(spot), kind),
                )


def _divergence(facts: Facts, findings: Findings) -> None:
    """Warps that run with under three quarters of their lanes, on average: the branch that parts most of them."""
    counters = facts.counters
    filled = counters.get("thread_steps", 0) / max(counters.get("warp_steps", 0), 1)
    few = facts.threads < WARP_SIZE or counters.get("warp_steps", 0) < MIN_WARP_STEPS
    if few or filled >= 0.75 * WARP_SIZE:
        return
    place = max(facts.lines, key=lambda p: facts.lines[p].get("divergent_branches", 0), default=None)
    if place is None:
        return
    divergent, branches = facts.lines[place].get("divergent_branches", 0), facts.lines[place].get("branches", 0)
    if divergent >= MIN_REQUESTS and divergent >= branches / 4:
        _told_to_part(facts, findings, place, f"the kernel runs with {filled:.3g} of 32 lanes on average")


def _spread(facts: Facts, findings: Findings) -> None:
    """Branches at which warps part again and again, as often in each block, though whole warps could go either way."""
    steps = facts.counters.get("warp_steps", 0)
    told = {finding.place.whole_line for finding in findings.all() if finding.kind == "divergence"}
    if facts.threads <= WARP_SIZE or steps < MIN_WARP_STEPS:
        return
    warps = facts.blocks * -(-facts.threads // WARP_SIZE)
    for place, spread in facts.spreads.items():
        line = facts.lines[place]
        parted = line.get("divergent_branches", 0)
        if place in told or parted < line.get("branches", 0) / 4 or parted < 2 * warps:
            continue
        if spread.warps < MIN_SPREAD * spread.needed or spread.lanes < MIN_LANES_OF_A_WARP * spread.warps:
            continue
        if spread.steps >= MIN_SPREAD_STEPS * steps:
            lanes = f"{spread.lanes / spread.warps:.2g} lanes of a warp go one way, on average"
            _told_to_part(
                facts,
                findings,
                place,
                f"{lanes}; packed, they would fill {spread.needed / spread.warps:.0%} of the warps that they keep busy",
            )


def _told_to_part(facts: Facts, findings: Findings, place: Place, more: str) -> None:
    line = facts.lines[place]
    findings.add(
        "divergence",
        Severity.ADVICE,
        place,
        f"Threads of one warp part here, in {line.get('divergent_branches', 0):,} of {line.get('branches', 0):,} "
        f"branches; {more}.",
        "Lanes that part run one after the other. Let whole warps go the same way, as in "
        "`if thread < count` instead of `if thread % step == 0`.",
    )


def _float64(facts: Facts, findings: Findings) -> None:
    """float64 arithmetic in a kernel whose arrays are float32 or narrower."""
    if not facts.float_widths or max(facts.float_widths) > 32:
        return
    for place, line in facts.lines.items():
        count = line.get("flops_float64", 0)
        if not count or place not in facts.float64_lines:
            continue
        cause = facts.promotions.get(place, "")
        findings.add(
            "float64-arithmetic",
            Severity.ADVICE,
            place,
            f"This line computes in float64, {count:,} operation{'s' * (count != 1)}, though the arrays are float32"
            + (f": {cause}." if cause else "."),
            "Write np.float32(…) around constants, start values, arguments and whole numbers: a GPU has far fewer "
            "units for float64, often one for 32 of float32.",
            count=1,
        )


def _idle(facts: Facts, findings: Findings) -> None:
    """A grid with fewer blocks than multiprocessors, though there is work for all."""
    gpu, counters = facts.gpu, facts.counters
    work = sum(counters.get(f"global_{kind}", 0) for kind in ("loads", "stores", "atomics"))
    if facts.blocks >= gpu.multiprocessors or work < gpu.multiprocessors * WORK_PER_MULTIPROCESSOR:
        return
    if any(finding.severity is Severity.ERROR or finding.kind == "same-value-writes" for finding in findings.all()):
        return  # threads that do one another's work: more of them would only do it again
    findings.add(
        "idle-gpu",
        Severity.ADVICE,
        facts.place,
        f"A grid of {facts.blocks} block{'s' * (facts.blocks != 1)} keeps at most {facts.blocks} of the "
        f"{gpu.multiprocessors} multiprocessors of a {gpu.name} busy.",
        "Launch more blocks, each with less to do.",
    )


def _few_warps(facts: Facts, findings: Findings) -> None:
    """Blocks of which so few fit a multiprocessor that half of its places for warps stay empty."""
    gpu, shared = facts.gpu, facts.counters.get("shared_bytes", 0)
    filled = occupancy(gpu, facts.threads, shared)
    if facts.blocks < gpu.multiprocessors or filled >= 0.5:
        return
    cause = f"{shared:,} bytes of shared memory" if occupancy(gpu, facts.threads, 0) > filled else "so few threads"
    findings.add(
        "low-occupancy",
        Severity.ADVICE,
        facts.place,
        f"Blocks of {facts.threads} threads with {cause} each fill {filled:.0%} of the warps of a {gpu.name}.",
        "Other warps hide the time that memory takes: use blocks of 128 to 256 threads, or smaller tiles.",
    )


def _part_of_a_warp(facts: Facts, findings: Findings) -> None:
    """Blocks whose last warp is not full, and is an eighth of the block or more."""
    idle = -facts.threads % WARP_SIZE
    if facts.threads < WARP_SIZE and facts.blocks in SWAPPED_BLOCKS and facts.blocks % WARP_SIZE == 0:
        findings.add(
            "partial-warps",
            Severity.ADVICE,
            facts.place,
            f"{facts.blocks} blocks of {facts.threads} threads: each fills {facts.threads} of the 32 lanes of a warp.",
            "Are the two swapped? A launch is kernel[blocks, threads_per_block](...), with 32 threads or a multiple.",
        )
    elif idle and idle >= (facts.threads + idle) / 8 and facts.blocks * facts.threads >= MIN_THREADS:
        findings.add(
            "partial-warps",
            Severity.ADVICE,
            facts.place,
            f"Blocks of {facts.threads} threads leave {idle} of {facts.threads + idle} lanes idle: warps have 32.",
            "Make the number of threads per block a multiple of 32.",
        )


def _crowded_atomics(facts: Facts, findings: Findings) -> None:
    """Most threads of a large launch change one address."""
    most = facts.counters.get("global_atomics_on_one_address", 0)
    total = facts.blocks * facts.threads
    if total < MIN_THREADS or most < total / 2:
        return
    place = max(facts.lines, key=lambda p: facts.lines[p].get("global_atomics", 0))
    findings.add(
        "crowded-atomics",
        Severity.ADVICE,
        place,
        f"{most:,} atomic operations change one address of global memory, one after another.",
        "Combine the values of a block first, in shared memory or with shuffles, then use one atomic per block.",
    )


RULES: Sequence[Callable[[Facts, Findings], None]] = (
    _strided,
    _bank_conflicts,
    _divergence,
    _spread,
    _float64,
    _idle,
    _few_warps,
    _part_of_a_warp,
    _crowded_atomics,
)
