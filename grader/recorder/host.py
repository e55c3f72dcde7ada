"""The host side of the stand-in for numba.cuda: streams, events, device, context. Runs in the recorder.

In: calls of host code. Out: objects that stand for what they make, and operations of the plan.

Streams are numbers in the plan; events become synchronisations, which keeps at least the order that was
asked for. There is no clock here: what would tell time is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from grader import plan_limits

if TYPE_CHECKING:
    from grader.recorder.context import Context


class Stream:
    """A stream, by its number in the plan; 0 is the default stream."""

    def __init__(self, context: Context, number: int) -> None:
        self._context = context
        self.number = number

    def synchronize(self) -> None:
        """Wait for this stream."""
        self._context.synchronize(self.number)

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Wait for this stream at the end of a ``with`` block."""
        yield self
        self.synchronize()

    def add_callback(self, *_: Any, **__: Any) -> None:
        """Refused: host code that runs when the device gets there."""
        self._context.unsupported("Stream.add_callback", "Call the function after stream.synchronize().")

    async_done = add_callback

    def __bool__(self) -> bool:
        return self.number != 0

    def __int__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"<stream {self.number}>" if self.number else "<default stream>"


class Event:
    """An event; remembers in which stream it was recorded."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stream: int | None = None

    def record(self, stream: Any = 0) -> None:
        """Note the place in a stream."""
        self._stream = self._context.stream_number(stream)

    def query(self) -> bool:
        """Whether the event has happened; in a recording, everything has."""
        return True

    def synchronize(self) -> None:
        """Wait until the event has happened."""
        if self._stream is not None:
            self._context.synchronize(self._stream)

    def wait(self, stream: Any = 0) -> None:
        """Let a stream wait for the event."""
        self.synchronize()

    def elapsed_time(self, *_: Any) -> float:
        """Refused: a clock."""
        self._context.unsupported("Event.elapsed_time", "The grader times kernels itself; remove this.")


class Device:
    """The GPU that a plan is made for."""

    id = 0

    def __init__(self, context: Context) -> None:
        self._context = context
        self.name = context.gpu.name
        self.compute_capability = context.gpu.compute_capability
        self._attributes = context.gpu.attributes()
        for name, value in self._attributes.items():
            setattr(self, name, value)

    def get_primary_context(self) -> DeviceContext:
        """The device's context."""
        return DeviceContext(self._context)

    def reset(self) -> None:
        """Nothing to reset."""

    def __getattr__(self, name: str) -> Any:
        if name.isupper():
            self._context.unsupported(f"the device attribute {name}", f"Known are {', '.join(self._attributes)}.")
        raise AttributeError(name)

    def __repr__(self) -> str:
        return f"<CUDA device 0 {self.name!r}>"


class DeviceContext:
    """The CUDA context of the device."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.device = Device(context)

    def synchronize(self) -> None:
        """Wait for all streams."""
        self._context.synchronize(None)

    def get_memory_info(self) -> tuple[int, int]:
        """Free and total bytes; nothing else uses the device."""
        return self._context.gpu.memory_bytes, self._context.gpu.memory_bytes

    def create_stream(self) -> Stream:
        """A new stream."""
        return self._context.new_stream()

    def get_default_stream(self) -> Stream:
        """The default stream."""
        return Stream(self._context, 0)

    def create_event(self, timing: bool = True) -> Event:
        """A new event."""
        return Event(self._context)

    def push(self) -> None:
        """Nothing to switch: there is one device."""

    pop = reset = push

    def __enter__(self) -> DeviceContext:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class DeviceList:
    """``cuda.gpus``: the one device."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.lst = [Device(context)]

    @property
    def current(self) -> Device:
        """The device."""
        return self.lst[0]

    def __getitem__(self, number: int) -> DeviceContext:
        self.lst[number]
        return DeviceContext(self._context)

    def __len__(self) -> int:
        return len(self.lst)

    def __iter__(self) -> Iterator[DeviceContext]:
        return iter([DeviceContext(self._context)])

    def __repr__(self) -> str:
        return f"<{', '.join(map(repr, self.lst))}>"


MAX_STREAMS = plan_limits.MAX_STREAMS
