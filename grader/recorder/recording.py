"""What one call of an entry point asked for, as it is written down. Runs in the recorder.

Comes in: device arrays and launches, one after the other. Goes out: a ``LaunchPlan``.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from grader.plan import LaunchPlan, Operation
from grader.plan_dtypes import plan_dtype
from grader.plan_functions import Function
from grader.plan_limits import MAX_BUFFER_BYTES, MAX_BUFFERS, MAX_OPERATIONS, MAX_UPLOAD_BYTES
from grader.plan_memory import Buffer, View
from grader.recorder.geometry import Geometry
from grader.recorder.mistakes import Mistakes


@dataclass(eq=False)
class Memory:
    """A stretch of device memory, by identity. ``data`` is what ``cuda.to_device`` put there.

    ``call`` is the number of the call that made it, 0 for memory made while kernels.py was imported.
    """

    name: str
    origin: Literal["argument", "scratch"]
    nbytes: int
    call: int
    line: int = 0
    data: bytes | None = None


@dataclass
class Recording:
    """The operations of one call so far. ``call`` counts calls from 1; 0 is the import of kernels.py."""

    mistakes: Mistakes
    call: int
    entry: str = ""
    buffers: list[Memory] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    function_index: dict[int, int] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    uploaded: int = 0
    _names: set[str] = field(default_factory=set)
    _buffer_index: dict[Memory, int] = field(default_factory=dict)

    def following(self, call: int, entry: str) -> Recording:
        """A recording of a call, which starts with what this one (of the import) has written down."""
        return Recording(
            self.mistakes,
            call,
            entry,
            list(self.buffers),
            list(self.functions),
            dict(self.function_index),
            list(self.operations),
            self.uploaded,
            set(self._names),
            dict(self._buffer_index),
        )

    @property
    def launches(self) -> int:
        """How many kernels were launched."""
        return sum(1 for operation in self.operations if operation.op == "launch")

    def add(self, operation: Operation) -> None:
        """Write down one operation."""
        if len(self.operations) >= MAX_OPERATIONS:
            self.mistakes.refuse(
                "too-many-operations",
                f"The host function asks the device for more than {MAX_OPERATIONS} operations.",
                expected=f"at most {MAX_OPERATIONS} launches, fills, copies and synchronisations in one call",
                advice="Let one launch do the work of many: more threads, or a loop inside of the kernel.",
            )
        self.operations.append(operation)

    def view(self, memory: Memory, geometry: Geometry, dtype: np.dtype[np.generic]) -> View:
        """A device array as the plan names it. Takes memory of an earlier call in, with unspecified
        contents.
        """
        return View(
            buffer=self.index_of(memory),
            dtype=plan_dtype(dtype),
            shape=geometry.shape,
            strides=geometry.strides,
            offset=geometry.offset,
        )

    def index_of(self, memory: Memory) -> int:
        """The buffer's number in this plan."""
        known = self._buffer_index.get(memory)
        if known is not None:
            return known
        if memory.origin == "argument" and memory.call != self.call:
            self.mistakes.refuse(
                "stale-array",
                f"The array {memory.name!r} is an argument of an earlier call.",
                expected="only arrays of this call, or scratch arrays that kernels.py made itself",
                advice="Don't keep a call's arguments in a global variable.",
            )
        if len(self.buffers) >= MAX_BUFFERS:
            self.mistakes.refuse(
                "too-many-arrays",
                f"The host function allocates more than {MAX_BUFFERS} device arrays.",
                advice="Allocate scratch arrays once, outside of the loop.",
            )
        if memory.nbytes > MAX_BUFFER_BYTES:
            self.mistakes.refuse(
                "array-too-large",
                f"A device array of {memory.nbytes:,} bytes is larger than any GPU here can hold.",
                expected=f"at most {MAX_BUFFER_BYTES:,} bytes",
            )
        self.uploaded += len(memory.data or b"")
        if self.uploaded > MAX_UPLOAD_BYTES:
            self.mistakes.refuse(
                "upload-too-large",
                f"kernels.py copies more than {MAX_UPLOAD_BYTES:,} bytes from the host to the device.",
                advice="Compute large tables on the device, in a kernel; cuda.device_array needs no upload.",
            )
        memory.name = self._free_name(memory.name)
        self._buffer_index[memory] = len(self.buffers)
        self.buffers.append(memory)
        return len(self.buffers) - 1

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name

    def plan(self, returned_value: bool) -> LaunchPlan:
        """The launch plan. Raises pydantic.ValidationError where the plan breaks its own rules."""
        return LaunchPlan(
            entry=self.entry,
            buffers=tuple(_buffer(memory) for memory in self.buffers),
            functions=tuple(self.functions),
            operations=tuple(self.operations),
            returned_value=returned_value,
        )


def _buffer(memory: Memory) -> Buffer:
    data = None if memory.data is None else base64.b64encode(memory.data).decode("ascii")
    return Buffer(name=memory.name, origin=memory.origin, nbytes=memory.nbytes, data=data, line=memory.line)
