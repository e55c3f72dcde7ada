"""One simulated launch: check it as a GPU would, run its waves, hand back findings and counters. Runs in the runner."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel
from grader.records import Finding, Place
from grader.simulator.findings import Findings
from grader.simulator.frontend import Frontend, TypedFunction, types
from grader.simulator.machine import Machine, StepLimit
from grader.simulator.memory import ArrayRef, GlobalSpace, Space, round_up
from grader.simulator.numba_types import (
    caster,
    convert,
    dtype_of,
    is_scalar,
    numba_array,
    numba_scalar,
    plain,
)
from grader.simulator.performance_advice import Facts, advise
from grader.simulator.printing import Raised
from grader.simulator.program import Program
from grader.simulator.shadow import BYTES_PER_GRANULE
from grader.simulator.sources import Sources
from grader.simulator.translate import translate
from grader.simulator.watch import Watch
from grader.simulator.wave import Wave

Triple = tuple[int, int, int]
NOWHERE = Place(0)
# Lanes that run at the same time. Fewer cost overhead per lane, more fall out of the processor's caches.
WAVE_LANES = 1 << 16
# Shared and local memory that a wave may take, in bytes.
WAVE_BYTES = 256 << 20
# The same for a grid whose blocks wait for each other: it is one wave.
COOPERATIVE_BYTES = 1 << 30


class LaunchRefused(Exception):
    """A launch that a GPU would refuse. ``str()`` says why in one sentence; ``advice`` what to try."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


@dataclass(frozen=True)
class SimulatedLaunch:
    """What a launch showed: findings, and counters summed over all threads."""

    findings: tuple[Finding, ...]
    counters: dict[str, int] = field(default_factory=dict)
    # Element accesses of global memory, by kind ("loads", "stores", "atomics") and where the buffer starts.
    accesses: dict[tuple[str, int], int] = field(default_factory=dict)
    # The counters that belong to a line of the source, by line.
    lines: dict[Place, dict[str, int]] = field(default_factory=dict)
    # What threads printed, by thread.
    printed: tuple[str, ...] = ()
    # What the first thread raised, if the kernel has debug=True.
    raised: Raised | None = None
    # False where threads would have waited for ever: a finding says which, and the launch was given up.
    finished: bool = True


class Simulator:
    """Programs and memory of one process. ``sources`` is where kernels come from, for places."""

    def __init__(self, gpu: GpuModel, sources: Sources, memory: GlobalSpace, deadline: float) -> None:
        self.gpu = gpu
        self.memory = memory
        self.deadline = deadline
        self.frontend = Frontend(gpu)
        self._sources = sources
        self._programs: dict[tuple[Any, tuple[Any, ...]], Program] = {}

    def launch(
        self,
        kernel: Callable[..., Any],
        grid: Triple,
        block: Triple,
        arguments: Sequence[Any],
        *,
        dynamic_shared_bytes: int = 0,
        signatures: Sequence[tuple[Any, ...]] = (),
        place: Place = NOWHERE,
        debug: bool = False,
    ) -> SimulatedLaunch:
        """Run ``kernel`` over ``grid`` and ``block``. ``place`` is the launch's, for advice on its geometry.

        ``arguments`` are ArrayRefs, NumPy or Python scalars, or tuples of those. Raises LaunchRefused,
        frontend.KernelError (Numba rejects it), NotSimulated, StepLimit.
        """
        check_geometry(self.gpu, grid, block)
        given = tuple(type_of(argument) for argument in arguments)
        wanted = choose_signature(given, signatures)
        program = self._program(kernel, wanted)
        names = kernel.__code__.co_varnames
        return self.launch_program(
            program,
            grid,
            block,
            arguments,
            given,
            wanted,
            names,
            dynamic_shared_bytes=dynamic_shared_bytes,
            place=place,
            debug=debug,
        )

    def launch_program(
        self,
        program: Program,
        grid: Triple,
        block: Triple,
        arguments: Sequence[Any],
        given: tuple[Any, ...],
        wanted: tuple[Any, ...],
        names: Sequence[str],
        *,
        dynamic_shared_bytes: int = 0,
        place: Place = NOWHERE,
        debug: bool = False,
    ) -> SimulatedLaunch:
        """As ``launch``, for a program of ``compile``.

        ``wanted`` are its Numba types, ``given`` those of the arguments, ``names`` the names of its parameters.
        """
        check_geometry(self.gpu, grid, block)
        static = round_up(program.shared_bytes) if program.shared_bytes else 0
        if static + dynamic_shared_bytes > self.gpu.max_shared_bytes_per_block:
            raise LaunchRefused(
                f"a block asks for {static + dynamic_shared_bytes} bytes of shared memory; "
                f"{self.gpu.name} gives at most {self.gpu.max_shared_bytes_per_block}",
                "Use smaller tiles or a smaller dtype.",
            )
        if program.cooperative:
            check_resident(self.gpu, grid, block, static + dynamic_shared_bytes)
        values = []
        for number, (argument, source, target) in enumerate(zip(arguments, given, wanted, strict=True)):
            value = self._value(argument, source, names[min(number, len(names) - 1)])
            cast = None if isinstance(argument, ArrayRef) else caster(source, target)
            values.append(cast(value) if cast else value)
        result = self._run(program, grid, block, values, static, dynamic_shared_bytes, place, debug)
        for argument, value in zip(arguments, values, strict=True):
            self._copy_back(argument, value)
        return result

    def _value(self, argument: Any, numba_type: Any, name: str) -> Any:
        """An argument as the machine holds it. Records go to global memory, where all threads share them."""
        if isinstance(argument, ArrayRef):
            return argument
        if isinstance(argument, tuple):
            return tuple(self._value(item, plain(t), name) for item, t in zip(argument, numba_type, strict=True))
        if isinstance(argument, np.void):
            address = self.memory.allocate(argument.nbytes)
            self.memory.bytes[address : address + argument.nbytes] = np.frombuffer(argument.tobytes(), np.uint8)
            return ArrayRef("global", name, dtype_of(numba_type), address, (), (), address)
        if isinstance(argument, enum.Enum):
            argument = argument.value
        return None if argument is None else convert(argument, dtype_of(numba_type))

    def _copy_back(self, argument: Any, value: Any) -> None:
        """What a kernel wrote into a record argument, as Numba copies it back after the launch."""
        if isinstance(argument, tuple):
            for item, part in zip(argument, value, strict=True):
                self._copy_back(item, part)
        elif isinstance(argument, np.void) and argument.flags.writeable:
            contents = self.memory.bytes[value.address : value.address + argument.nbytes]
            changed = contents.copy().view(argument.dtype)[0]
            for name in argument.dtype.names or ():
                argument[name] = changed[name]

    def _program(self, kernel: Callable[..., Any], wanted: tuple[Any, ...]) -> Program:
        key = (kernel, wanted)
        if key not in self._programs:
            self._programs[key] = self.compile(self.frontend.type(kernel, wanted))
        return self._programs[key]

    def compile(self, typed: TypedFunction) -> Program:
        """The program of a typed kernel. Raises KernelError, NotSimulated."""
        return translate(self.frontend, typed, self._sources)

    def _run(
        self,
        program: Program,
        grid: Triple,
        block: Triple,
        values: list[Any],
        static: int,
        dynamic: int,
        place: Place,
        debug: bool,
    ) -> SimulatedLaunch:
        findings = Findings()
        threads = block[0] * block[1] * block[2]
        blocks = grid[0] * grid[1] * grid[2]
        shared_segment = round_up(static + dynamic)
        local_segment = round_up(program.local_bytes) if program.local_bytes else 0
        # Each byte has a flag for its first write, each granule of shared memory its marks.
        watched = shared_segment * BYTES_PER_GRANULE // program.shared_granule
        per_block = 2 * (shared_segment + threads * local_segment) + watched
        wave_blocks = max(1, min(blocks, WAVE_LANES // threads, WAVE_BYTES // max(per_block, 1)))
        if program.cooperative:
            if blocks * per_block > COOPERATIVE_BYTES:
                raise NotSimulated(
                    f"the grid's {blocks} blocks must run together, and their shared and local memory takes more than"
                    f" the simulator's {COOPERATIVE_BYTES >> 20} MiB"
                )
            wave_blocks = blocks
        spaces: dict[str, Space] = {"global": self.memory}
        spaces["const"] = constant_memory = GlobalSpace(0)
        constants = [
            self.memory.on_device(array)
            if hasattr(array, "__cuda_array_interface__")
            else _constant(constant_memory, array)
            for array in program.constants
        ]
        spaces["shared"] = Space("shared", wave_blocks * shared_segment, shared_segment)
        spaces["local"] = Space("local", wave_blocks * threads * local_segment, local_segment)
        machine = Machine(program, spaces, constants, findings, self.deadline, dynamic, self.memory, blocks * threads)
        machine.debug = debug
        machine.watch = Watch(machine, threads, blocks, _watched([*values, *constants]))
        with np.errstate(all="ignore"):
            for first in range(0, blocks, wave_blocks):
                if first:
                    spaces["shared"].scrub()
                    spaces["local"].scrub()
                machine.run(Wave(grid, block, first, min(wave_blocks, blocks - first)), list(values))
                if machine.hung:
                    break
        traffic = machine.traffic
        traffic.finish()
        machine.execution.finish(traffic.counters, traffic.lines)
        counters = dict(traffic.counters)
        counters["threads"] = blocks * threads
        counters["blocks"] = blocks
        counters["shared_bytes"] = static + dynamic
        counters["local_bytes"] = program.local_bytes
        lines: dict[Place, dict[str, int]] = {}
        for spot, counted in traffic.lines.items():
            line = lines.setdefault(spot.whole_line, {})
            for name, number in counted.items():
                line[name] = line.get(name, 0) + number
        floats = {a.dtype.itemsize * 8 for a in _arrays(values) if a.dtype.kind == "f"}
        wide = {a.dtype.itemsize * 4 for a in _arrays(values) if a.dtype.kind == "c"}
        facts = Facts(self.gpu, place, blocks, threads, counters, lines, frozenset(floats | wide), program.promotions)
        advise(facts, findings)
        return SimulatedLaunch(
            findings.all(),
            counters,
            dict(traffic.accesses),
            lines,
            machine.printed.lines(),
            machine.raised,
            not machine.hung,
        )


def _arrays(values: Sequence[Any]) -> Iterator[ArrayRef]:
    """The arrays among a launch's arguments, those in tuples too."""
    for value in values:
        if isinstance(value, ArrayRef):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


def _constant(memory: GlobalSpace, array: Any) -> ArrayRef:
    """A captured array in constant memory, where Numba puts it."""
    address = memory.allocate(array.nbytes)
    memory.bytes[address : address + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return ArrayRef.contiguous("const", "a captured array", array.dtype, address, array.shape)


def _watched(values: list[Any]) -> dict[int, tuple[int, int]]:
    """Where each buffer starts that an argument is a view of, and how many bytes of it the arguments reach."""
    reach: dict[int, int] = {}
    for value in _arrays(values):
        if value.root >= 0 and 0 not in value.shape:
            last = sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s > 0)
            end = value.address + last + value.dtype.itemsize
            reach[value.root] = max(reach.get(value.root, 0), end - value.root)
    return {root: (root, nbytes) for root, nbytes in reach.items()}


def type_of(argument: Any) -> Any:
    """The Numba type of a launch argument, as Numba's own launch sees it."""
    if isinstance(argument, ArrayRef):
        return numba_array(argument.dtype, argument.shape, argument.strides)
    if isinstance(argument, tuple):
        named = type(argument) if hasattr(argument, "_fields") else None
        return types.BaseTuple.from_types([type_of(item) for item in argument], named)
    if isinstance(argument, enum.Enum):
        return _type_of_member(argument)
    if isinstance(argument, np.void) and argument.dtype.names is None:
        raise LaunchRefused("a kernel cannot take raw bytes as argument")
    if isinstance(argument, np.generic):
        return numba_scalar(argument.dtype)
    if isinstance(argument, bool):
        return types.boolean
    if isinstance(argument, int):
        return types.int64 if -(2**63) <= argument < 2**63 else types.uint64
    if isinstance(argument, float):
        return types.float64
    if isinstance(argument, complex):
        return types.complex128
    if argument is None:
        return types.none
    raise LaunchRefused(f"a kernel cannot take a {type(argument).__name__} as argument")


def _type_of_member(member: enum.Enum) -> Any:
    """The Numba type of a member of an enum whose values are of one type."""
    values = {type_of(other.value) for other in type(member)}
    if len(values) != 1:
        raise LaunchRefused(f"a kernel cannot take {member}: the values of its enum are of several types")
    kind = types.IntEnumClass if isinstance(member, enum.IntEnum) else types.EnumClass
    return kind(type(member), values.pop()).member_type


def choose_signature(given: tuple[Any, ...], signatures: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The types to compile for: ``given``, or the first declared signature that accepts them."""
    if not signatures:
        return given
    if given in [tuple(signature) for signature in signatures]:
        return given
    for signature in sorted(signatures, key=lambda declared: _loss(declared, given)):
        if len(signature) == len(given) and all(_accepts(s, g) for s, g in zip(signature, given, strict=True)):
            return tuple(signature)
    declared = "; ".join("(" + ", ".join(map(str, s)) + ")" for s in signatures)
    found = ", ".join(map(str, given))
    raise LaunchRefused(
        f"no declared signature of the kernel fits: declared {declared}, called with ({found})",
        "Leave the signature out and let Numba infer the types.",
    )


def _loss(declared: Sequence[Any], given: Sequence[Any]) -> int:
    """How many numbers would be cut: Numba prefers a conversion that keeps the value."""
    pairs = [(d, g) for d, g in zip(declared, given, strict=False) if is_scalar(d) and is_scalar(g)]
    return sum(not np.can_cast(dtype_of(g), dtype_of(d)) for d, g in pairs)


def _accepts(declared: Any, given: Any) -> bool:
    if isinstance(declared, types.Array):
        return (
            isinstance(given, types.Array)
            and declared.dtype == given.dtype
            and declared.ndim == given.ndim
            and declared.layout in ("A", given.layout)
        )
    return is_scalar(declared) and is_scalar(given)


def check_geometry(gpu: GpuModel, grid: Triple, block: Triple) -> None:
    """Raise LaunchRefused where a GPU of this model would refuse grid or block."""
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1:
        which, value = ("grid", grid) if min(grid) < 1 else ("block", block)
        raise LaunchRefused(
            f"a {which} of {value} is empty: every dimension must be at least 1",
            "Round the number of blocks up: (n + threads - 1) // threads.",
        )
    fewer = "Use fewer threads per block and more blocks."
    if grid[0] * grid[1] * grid[2] <= gpu.max_threads_per_block:
        fewer += " Or are block and grid swapped? A launch is kernel[blocks, threads_per_block](...)."
    if threads > gpu.max_threads_per_block:
        raise LaunchRefused(
            f"a block of {block} has {threads} threads; {gpu.name} allows at most {gpu.max_threads_per_block}", fewer
        )
    if any(b > limit for b, limit in zip(block, gpu.max_block, strict=True)):
        raise LaunchRefused(f"a block of {block} is too large; {gpu.name} allows at most {gpu.max_block}", fewer)
    if any(g > limit for g, limit in zip(grid, gpu.max_grid, strict=True)):
        raise LaunchRefused(
            f"a grid of {grid} is too large; {gpu.name} allows at most {gpu.max_grid}",
            "Put the longest dimension first.",
        )


def check_resident(gpu: GpuModel, grid: Triple, block: Triple, shared_bytes: int) -> None:
    """Raise LaunchRefused where a GPU cannot hold all blocks at once, as a grid that waits for all of it needs.

    CUDA C++ Programming Guide, "Grid Synchronization": at most the blocks that are resident together, which threads,
    shared memory and the number of blocks of a multiprocessor limit. Registers limit it, too; they are not known here.
    """
    threads, blocks = block[0] * block[1] * block[2], grid[0] * grid[1] * grid[2]
    in_warps = -(-threads // gpu.warp_size) * gpu.warp_size
    by_threads = min(gpu.max_threads_per_multiprocessor // in_warps, gpu.max_blocks_per_multiprocessor)
    by_shared = gpu.shared_bytes_per_multiprocessor // shared_bytes if shared_bytes else by_threads
    resident = min(by_threads, by_shared) * gpu.multiprocessors
    if blocks > resident:
        raise LaunchRefused(
            f"a kernel that waits for its grid needs all {blocks} blocks at once; {gpu.name} holds {resident}: "
            f"{min(by_threads, by_shared)} per multiprocessor (by threads {by_threads}, by shared memory {by_shared})"
            f" on {gpu.multiprocessors} multiprocessors",
            "Launch fewer blocks and let each thread work through a loop with stride cuda.gridsize(1).",
        )


def deadline_in(cpu_seconds: float) -> float:
    """The deadline that many seconds of CPU time from now, for ``Simulator``."""
    return time.process_time() + cpu_seconds


__all__ = [
    "LaunchRefused",
    "SimulatedLaunch",
    "Simulator",
    "StepLimit",
    "check_geometry",
    "deadline_in",
]
