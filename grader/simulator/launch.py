"""One simulated launch: check it as a GPU would, run its waves, hand back findings and counters. Runs in the runner.

In: a kernel or its program, a configuration, arguments. Out: arrays changed in place, a ``SimulatedLaunch``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel
from grader.records import Finding, Place
from grader.simulator.arguments import arrays_among, copy_back, held, in_constant_memory, reached
from grader.simulator.block_sample import BlockSample, all_stretches, scaled, waves_of
from grader.simulator.configuration import Configuration, check_geometry, check_resident, check_size
from grader.simulator.findings import Findings
from grader.simulator.frontend import Frontend, TypedFunction
from grader.simulator.memory import ArrayRef, GlobalSpace, Space, round_up
from grader.simulator.numba_types import caster
from grader.simulator.performance_advice import Facts, advise
from grader.simulator.program import Program
from grader.simulator.raising import Raised
from grader.simulator.scheduler import Scheduler
from grader.simulator.shadow import BYTES_PER_GRANULE
from grader.simulator.signatures import choose_signature, type_of
from grader.simulator.sources import Sources
from grader.simulator.stops import StepLimit
from grader.simulator.touched import Touched
from grader.simulator.translate import translate
from grader.simulator.unit import PLAIN, Options
from grader.simulator.watch import Watch
from grader.simulator.wave import Wave

# Lanes that run at the same time. Fewer cost overhead per lane, more fall out of the processor's caches.
WAVE_LANES = 1 << 16
# Shared and local memory that a wave may take, in bytes.
WAVE_BYTES = 256 << 20
# The same for a grid whose blocks wait for each other: it is one wave.
COOPERATIVE_BYTES = 1 << 30


@dataclass(frozen=True)
class SimulatedLaunch:
    """What a launch showed: findings, and counters summed over all threads."""

    findings: tuple[Finding, ...]
    counters: dict[str, int] = field(default_factory=dict)
    # Element accesses of global memory, by kind ("loads", "stores", "atomics") and where the buffer starts.
    accesses: dict[tuple[str, int], int] = field(default_factory=dict)
    # The counters that belong to a line of the source, by line.
    lines: dict[Place, dict[str, int]] = field(default_factory=dict)
    # What threads printed, by thread, and how many lines more than are kept.
    printed: tuple[str, ...] = ()
    lines_left_out: int = 0
    # What the first thread raised, if the kernel has debug=True.
    raised: Raised | None = None
    # What it did to global memory, where that was asked for.
    touched: tuple[Touched, ...] = ()
    # False where threads would have waited for ever: a finding says which, and the launch was given up.
    finished: bool = True


@dataclass(frozen=True)
class _Sizes:
    """Bytes of a launch: shared memory of a block as asked for, segments of a block and of a lane, all of a block."""

    shared: int
    shared_segment: int
    local_segment: int
    per_block: int


class Simulator:
    """Programs and memory of one process. ``sources`` is where kernels come from, for places.

    A launch that is not done at ``deadline`` (CPU seconds of ``time.process_time``) ends with StepLimit. With a
    ``sample`` only some blocks of each launch run, and counters are those of all, about.
    """

    def __init__(
        self,
        gpu: GpuModel,
        sources: Sources,
        memory: GlobalSpace,
        deadline: float,
        sample: BlockSample | None = None,
    ) -> None:
        self.gpu = gpu
        self.memory = memory
        self.deadline = deadline
        self.sample = sample
        self.frontend = Frontend(gpu)
        self._sources = sources
        self._programs: dict[tuple[Any, tuple[Any, ...], Options], Program] = {}

    def launch(
        self,
        kernel: Callable[..., Any],
        configuration: Configuration,
        arguments: Sequence[Any],
        *,
        signatures: Sequence[tuple[Any, ...]] = (),
        options: Options = PLAIN,
        note_touched: bool = False,
    ) -> SimulatedLaunch:
        """Run ``kernel``, typed for the first of ``signatures`` that fits, or for the arguments where it has none.

        ``arguments`` are ArrayRefs, NumPy or Python scalars, or tuples of those. ``note_touched`` asks for
        ``SimulatedLaunch.touched``. Raises LaunchRefused, frontend.KernelError (Numba rejects it), NotSimulated,
        StepLimit, scheduler.Interrupted.
        """
        check_geometry(self.gpu, configuration.grid, configuration.block)
        given = tuple(type_of(argument) for argument in arguments)
        wanted = choose_signature(given, signatures)
        program = self._program(kernel, wanted, options)
        names = kernel.__code__.co_varnames
        return self.launch_program(program, configuration, arguments, given, wanted, names, note_touched=note_touched)

    def launch_program(
        self,
        program: Program,
        configuration: Configuration,
        arguments: Sequence[Any],
        given: tuple[Any, ...],
        wanted: tuple[Any, ...],
        names: Sequence[str],
        *,
        note_touched: bool = False,
    ) -> SimulatedLaunch:
        """As ``launch``, for a program of ``compile``.

        ``wanted`` are its Numba types, ``given`` those of the arguments, ``names`` the names of its parameters;
        ``note_touched`` asks for ``SimulatedLaunch.touched``.
        """
        check_geometry(self.gpu, configuration.grid, configuration.block)
        sizes = _sizes(program, configuration)
        check_size(self.gpu, configuration, sizes.shared, program.local_bytes)
        if program.cooperative:
            check_resident(self.gpu, configuration, sizes.shared)
        values = []
        for number, (argument, source, target) in enumerate(zip(arguments, given, wanted, strict=True)):
            value = held(argument, source, names[min(number, len(names) - 1)], self.memory)
            cast = None if isinstance(argument, ArrayRef) else caster(source, target)
            values.append(cast(value) if cast else value)
        try:
            result = self._run(program, configuration, sizes, values, note_touched=note_touched)
        except MemoryError as error:
            raise NotSimulated(f"this machine has too little memory to simulate the launch: {error}") from None
        for argument, value in zip(arguments, values, strict=True):
            copy_back(argument, value, self.memory)
        return result

    def _program(self, kernel: Callable[..., Any], wanted: tuple[Any, ...], options: Options) -> Program:
        key = (kernel, wanted, options)
        if key not in self._programs:
            self._programs[key] = self.compile(self.frontend.type(kernel, wanted), options)
        return self._programs[key]

    def compile(self, typed: TypedFunction, options: Options) -> Program:
        """The program of a typed kernel. Raises KernelError, NotSimulated."""
        return translate(self.frontend, typed, self._sources, options)

    def _run(
        self, program: Program, configuration: Configuration, sizes: _Sizes, values: list[Any], *, note_touched: bool
    ) -> SimulatedLaunch:
        findings = Findings()
        blocks, threads = configuration.blocks, configuration.block_threads
        wave_blocks = _blocks_of_a_wave(program, configuration, sizes)
        sample = None if program.cooperative else self.sample
        stretches = all_stretches(blocks, wave_blocks) if sample is None else sample.stretches(blocks, wave_blocks)
        spaces: dict[str, Space] = {"global": self.memory}
        spaces["const"] = constant_memory = GlobalSpace(0)
        constants = [
            self.memory.on_device(array)
            if hasattr(array, "__cuda_array_interface__")
            else in_constant_memory(constant_memory, array)
            for array in program.constants
        ]
        waves = waves_of(stretches, wave_blocks)
        most = max(sum(count for _, count in wave) for wave in waves)
        spaces["shared"] = Space("shared", most * sizes.shared_segment, sizes.shared_segment)
        spaces["local"] = Space("local", most * threads * sizes.local_segment, sizes.local_segment)
        dynamic = configuration.dynamic_shared_bytes
        machine = Scheduler(
            program,
            spaces,
            constants,
            findings,
            self.deadline,
            dynamic,
            self.memory,
            self._sources,
        )
        # Of a sample, races are not looked for: most of those who race are not in it.
        watched = reached([*values, *constants]) if sample is None else {}
        machine.watch = Watch(machine, threads, blocks, watched)
        with np.errstate(all="ignore"):
            for number, blocks_of_wave in enumerate(waves):
                if number:
                    spaces["shared"].scrub()
                    spaces["local"].scrub()
                wave = Wave(configuration.grid, configuration.block, blocks_of_wave)
                try:
                    machine.run(wave, list(values))
                except StepLimit as error:
                    error.findings, error.printed = findings.all(), machine.printed
                    raise
                except KeyboardInterrupt:
                    raise machine.interrupted() from None
                machine.traffic.end_wave()
                if machine.hung:
                    break
        traffic = machine.traffic
        traffic.finish()
        machine.execution.finish(traffic.counters, traffic.lines)
        share = blocks / sum(count for _, count in stretches)
        counters = scaled(traffic.counters, share)
        counters["threads"] = blocks * threads
        counters["blocks"] = blocks
        counters["shared_bytes"] = sizes.shared
        counters["local_bytes"] = program.local_bytes
        lines = {place: scaled(of_line, share) for place, of_line in _by_line(traffic.lines).items()}
        bits = frozenset(_bits_of_a_float(array) for array in arrays_among(values) if array.dtype.kind in "fc")
        facts = Facts(
            self.gpu,
            configuration.place,
            blocks,
            threads,
            counters,
            lines,
            traffic.lines,
            traffic.arrays,
            bits,
            program.float64_lines,
            program.promotions,
            machine.execution.spreads(),
        )
        advise(facts, findings)
        return SimulatedLaunch(
            findings.all(),
            counters,
            {key: round(number * share) for key, number in traffic.accesses.items()},
            lines,
            machine.printed.lines(),
            machine.printed.left_out,
            machine.raised,
            machine.watch.touched() if note_touched else (),
            not machine.hung,
        )


def _sizes(program: Program, configuration: Configuration) -> _Sizes:
    shared = program.shared_bytes + configuration.dynamic_shared_bytes
    shared_segment = round_up(program.shared_layout + configuration.dynamic_shared_bytes)
    local_segment = program.local_layout
    # Each byte has a flag for its first write, each granule of shared memory its marks.
    watched = shared_segment * BYTES_PER_GRANULE // program.shared_granule
    per_block = 2 * (shared_segment + configuration.block_threads * local_segment) + watched
    return _Sizes(shared, shared_segment, local_segment, per_block)


def _blocks_of_a_wave(program: Program, configuration: Configuration, sizes: _Sizes) -> int:
    """How many blocks run at the same time. Raises NotSimulated where blocks that must do so are too large."""
    blocks = configuration.blocks
    if not program.cooperative:
        by_lanes = WAVE_LANES // configuration.block_threads
        return max(1, min(blocks, by_lanes, WAVE_BYTES // max(sizes.per_block, 1)))
    if blocks * sizes.per_block > COOPERATIVE_BYTES:
        raise NotSimulated(
            f"the grid's {blocks} blocks must run together, and their shared and local memory takes more than"
            f" the simulator's {COOPERATIVE_BYTES >> 20} MiB"
        )
    return blocks


def _by_line(counted: Mapping[Place, Mapping[str, int]]) -> dict[Place, dict[str, int]]:
    """Counters of expressions, summed over the line that each is in."""
    lines: dict[Place, dict[str, int]] = {}
    for spot, counters in counted.items():
        line = lines.setdefault(spot.whole_line, {})
        for name, number in counters.items():
            line[name] = line.get(name, 0) + number
    return lines


def _bits_of_a_float(array: ArrayRef) -> int:
    """Bits of a floating-point number of an array; a complex one is two."""
    return array.dtype.itemsize * (8 if array.dtype.kind == "f" else 4)


def deadline_in(cpu_seconds: float) -> float:
    """The deadline that many seconds of CPU time from now, for ``Simulator``."""
    return time.process_time() + cpu_seconds
