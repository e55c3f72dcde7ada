"""What the pieces of the stand-in for ``numba.cuda`` share, and what they all do to memory and streams.

Runs in the recorder. Comes in: allocations, fills, copies, streams that student code asks for. Goes out: buffers
and operations in the current recording.
"""

from __future__ import annotations

import operator
import re
from typing import Any, NoReturn

import numpy as np

from grader import plan, plan_limits, plan_memory, plan_values
from grader.gpu_models import GpuModel
from grader.kernels_text import KernelsText
from grader.plan_dtypes import plan_dtype
from grader.recorder import geometry as geo
from grader.recorder.arrays import DeviceArray
from grader.recorder.capture import Capture
from grader.recorder.constants import scalar_constant
from grader.recorder.contentless import Contentless, DataScalar
from grader.recorder.host import Stream
from grader.recorder.host_values import as_records, dtype_of, repeats
from grader.recorder.mistakes import Mistakes
from grader.recorder.recording import Memory, Recording

_ASSIGNED = re.compile(r"\s*([^\W\d]\w*)\s*(?::[^=]+)?=")


class Context:
    """What the pieces of the stand-in share. ``recording`` is replaced for each call."""

    def __init__(self, text: KernelsText, mistakes: Mistakes, gpu: GpuModel) -> None:
        self.text = text
        self.mistakes = mistakes
        self.gpu = gpu
        self.recording = Recording(mistakes, call=0)
        self.capture = Capture(self)
        self.launches_at_import = 0
        self._streams = 0

    # ---------------------------------------------------------------- small services

    scalar_constant = staticmethod(scalar_constant)

    def unsupported(self, what: str, advice: str) -> NoReturn:
        """Refuse a part of numba.cuda that submissions cannot use."""
        self.mistakes.refuse("unsupported", f"{what} is not available to submissions.", advice=advice)

    def short(self, value: Any) -> str:
        """A repr for a message, cut; reprs of student classes may fail."""
        try:
            return repr(value)[:120]
        except Exception:
            return f"a {type(value).__name__}"

    def integer(self, value: Any, what: str) -> int:
        """An int, or the failure that ``what`` is none."""
        if isinstance(value, Contentless) or not hasattr(value, "__index__"):
            advice = "Divide with // instead of /: (n + threads - 1) // threads." if isinstance(value, float) else ""
            if isinstance(value, DataScalar):
                advice = f"{value.name} is data; sizes come from .shape."
            self.mistakes.refuse(
                "launch-configuration",
                f"{what[0].upper()}{what[1:]} is no integer.",
                expected="an int",
                found=f"{self.short(value)}, a {type(value).__name__}",
                advice=advice,
            )
        return operator.index(value)

    def checked_dtype(self, dtype: Any) -> np.dtype[Any]:
        """A dtype that kernels can work on: numbers and bools of the machine's byte order."""
        found = dtype_of(dtype)
        try:
            plan_dtype(found)
        except ValueError as error:
            self.mistakes.refuse(
                "wrong-dtype",
                f"A device array cannot have the dtype {str(found)[:200]}.",
                expected="a NumPy dtype of numbers or bools, or of records of those",
                found=str(error),
            )
        return found

    # ---------------------------------------------------------------- memory

    def allocate(
        self, shape: Any, dtype: Any, order: str = "C", data: bytes | None = None, stream: Any = 0
    ) -> DeviceArray:
        """A new scratch array with unspecified contents, or with ``data``."""
        checked = self.checked_dtype(dtype)
        geometry = geo.contiguous(geo.normal_shape(shape), checked.itemsize, order)
        if len(geometry.shape) > plan_limits.MAX_DIMENSIONS:
            raise ValueError(f"at most {plan_limits.MAX_DIMENSIONS} dimensions: {geometry.shape}")
        line = self.mistakes.line()
        named = _ASSIGNED.match(self.text.place(line).text)
        memory = Memory(
            (named.group(1) if named else "scratch")[:100],
            "scratch",
            geometry.size * checked.itemsize,
            self.recording.call,
            line,
            data,
        )
        self.recording.index_of(memory)
        return DeviceArray(self, memory, geometry, checked, stream)

    def to_device(self, obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceArray:
        """A host array's copy on the device; the array travels in the plan."""
        if to is not None:
            if copy:
                self.copy_whole(to, obj, stream)
            return to  # type: ignore[no-any-return]
        if isinstance(obj, DeviceArray):
            return obj
        array = self._host_array(obj)
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        if not array.flags.forc:
            raise ValueError(
                "Array contains non-contiguous buffer and cannot be transferred as a single memory region."
            )
        if copy and array.nbytes > plan_limits.MAX_CONSTANT_BYTES and repeats(array):
            first = array.reshape(-1, order="A")[0]
            result = self.allocate(array.shape, array.dtype, order, None, stream)  # say, zeros: no need to travel
            self.assign(result, first, stream)
            return result
        data = array.tobytes(order="A") if copy and array.nbytes <= plan_limits.MAX_UPLOAD_BYTES else None
        if copy and data is None:
            self.mistakes.refuse(
                "upload-too-large",
                f"kernels.py copies an array of {array.nbytes:,} bytes from the host to the device.",
                expected=f"at most {plan_limits.MAX_UPLOAD_BYTES:,} bytes in all",
                advice="Compute large tables on the device, in a kernel; cuda.device_array needs no upload.",
            )
        return self.allocate(array.shape, array.dtype, order, data, stream)

    def _host_array(self, obj: Any) -> np.ndarray[Any, Any]:
        if isinstance(obj, Contentless):
            obj._refuse_reading("a copy of it")
        array = np.asarray(obj)
        self.checked_dtype(array.dtype)
        return array

    def assign(self, target: DeviceArray, value: Any, stream: Any = 0) -> None:
        """``target[...] = value``."""
        if target.dtype.names is not None and not isinstance(value, Contentless):
            value = as_records(value, target.dtype)
        elif isinstance(value, DataScalar) and value.dtype.names is not None and value.dtype != target.dtype:
            self._refuse_other_dtype(value.dtype, target.dtype)
        view = self.recording.view(target._memory, target._geometry, target.dtype)
        number, line = self.stream_number(stream), self.mistakes.line()
        fill = (
            plan_memory.DataArgument(name=value.name) if isinstance(value, DataScalar) else self.scalar_constant(value)
        )
        if fill is not None and not isinstance(fill, plan_values.NoneConstant):
            self.recording.add(plan.Fill(target=view, value=fill, stream=number, line=line))
            return
        if not isinstance(value, DeviceArray):
            array = self._host_array(value)
            if array.ndim == 0:
                self.assign(target, array[()], stream)
                return
            value = self.to_device(np.ascontiguousarray(array.astype(target.dtype)), stream)
        if value.dtype != target.dtype:
            self._refuse_other_dtype(value.dtype, target.dtype)
        source = geo.broadcast(value._geometry, target.shape)
        seen = self.recording.view(value._memory, source, value.dtype)
        self.recording.add(plan.Copy(source=seen, target=view, stream=number, line=line))

    def _refuse_other_dtype(self, found: np.dtype[Any], wanted: np.dtype[Any]) -> NoReturn:
        self.mistakes.refuse(
            "wrong-dtype",
            f"An array of {found} is assigned to one of {wanted}.",
            expected=str(wanted),
            found=str(found),
            advice="Convert the numbers in a kernel.",
        )

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """``target[...] = source`` for arrays of one shape and dtype."""
        self.assign(target, source)

    def copy_whole(self, target: DeviceArray, source: Any, stream: Any = 0) -> None:
        """``target.copy_to_device(source)``: as ``assign``, but shapes and dtypes must agree."""
        if not isinstance(source, DeviceArray):
            source = self._host_array(source)
        for kind, have, want in (
            ("wrong-dtype", source.dtype, target.dtype),
            ("wrong-shape", _squeezed(source.shape), _squeezed(target.shape)),
        ):
            if have != want and source.size:
                self.mistakes.refuse(
                    kind,
                    f"copy_to_device gets an array of another {kind.removeprefix('wrong-')}.",
                    expected=f"shape {target.shape}, {target.dtype}",
                    found=f"shape {source.shape}, {source.dtype}",
                )
        if source.size:
            self.assign(target, source.reshape(target.shape), stream)

    # ---------------------------------------------------------------- streams

    def new_stream(self) -> Stream:
        """A stream of its own number."""
        self._streams += 1
        if self._streams > plan_limits.MAX_STREAMS:
            self.mistakes.refuse(
                "too-many-streams",
                f"kernels.py makes more than {plan_limits.MAX_STREAMS} streams.",
                advice="Make streams once and use them again.",
            )
        return Stream(self, self._streams)

    def stream_number(self, stream: Any) -> int:
        """The number of what was given as a stream (0 and None mean the default stream)."""
        if isinstance(stream, Stream):
            return stream.number
        if stream is None or (isinstance(stream, int) and stream == 0):
            return 0
        self.mistakes.refuse(
            "launch-configuration",
            "Something that is no stream is used as one.",
            expected="cuda.stream(), or 0 for the default stream",
            found=self.short(stream),
            advice="The order in the brackets is [blocks, threads, stream, shared_bytes].",
        )

    def synchronize(self, stream: int | None) -> None:
        """Wait for one stream (its number), or for all."""
        self.recording.add(plan.Synchronize(stream=stream, line=self.mistakes.line()))


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
