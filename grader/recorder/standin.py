"""The stand-in for ``numba.cuda``: same names, but launches nothing and writes everything down. Runs in the recorder.

``Context`` is what all of its pieces share: the text of kernels.py, the GPU model, the current recording.
``install`` puts the module in the place of the real one.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from grader import plan
from grader.gpu_models import GpuModel
from grader.recorder import geometry as geo
from grader.recorder import names
from grader.recorder.arrays import Contentless, DataScalar, DeviceArray
from grader.recorder.capture import Capture, numeric, scalar_constant
from grader.recorder.host import DeviceContext, DeviceList, Event, Stream
from grader.recorder.jit import jit
from grader.recorder.mistakes import KernelsText, Mistakes
from grader.recorder.recording import Memory, Recording

_ASSIGNED = re.compile(r"\s*([^\W\d]\w*)\s*(?::[^=]+)?=")
# Host functions of numba.cuda that a submission cannot use, and what to do instead.
_UNSUPPORTED = {
    "reduce": "Write the reduction as a kernel of its own.",
    "Reduce": "Write the reduction as a kernel of its own.",
    "declare_device": "Write the function in Python, with @cuda.jit(device=True).",
    "mapped_array": "Use cuda.device_array.",
    "mapped_array_like": "Use cuda.device_array_like.",
    "mapped": "Use cuda.device_array.",
    "managed_array": "Use cuda.device_array.",
    "external_stream": "Use cuda.stream().",
    "open_ipc_array": "Use cuda.device_array.",
    "as_cuda_array": "Use the arrays that the function is given.",
    "from_cuda_array_interface": "Use the arrays that the function is given.",
    "event_elapsed_time": "The grader times kernels itself; remove this.",
    "compile": "Launch the kernel; the grader compiles it.",
    "compile_all": "Launch the kernel; the grader compiles it.",
    "compile_ptx": "Launch the kernel; the grader compiles it.",
    "compile_for_current_device": "Launch the kernel; the grader compiles it.",
    "compile_ptx_for_current_device": "Launch the kernel; the grader compiles it.",
    "vectorize": "Write a kernel with @cuda.jit.",
    "guvectorize": "Write a kernel with @cuda.jit.",
    "set_memory_manager": "Remove this.",
    "In": "Pass device arrays; cuda.to_device copies from the host.",
    "Out": "Pass device arrays; cuda.device_array makes one.",
    "InOut": "Pass device arrays; cuda.to_device copies from the host.",
}


class Context:
    """What the pieces of the stand-in share. ``recording`` is replaced for each call."""

    def __init__(self, text: KernelsText, mistakes: Mistakes, gpu: GpuModel) -> None:
        self.text = text
        self.mistakes = mistakes
        self.gpu = gpu
        self.recording = Recording(mistakes, call=0)
        self.capture = Capture(self)
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
            advice = (
                "Divide with // instead of /: (n + threads - 1) // threads."
                if isinstance(value, float)
                else ""
            )
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
        try:
            found = np.dtype(dtype)
        except TypeError:
            found = np.dtype(getattr(dtype, "name", dtype))  # a Numba type
        if not numeric(found):
            self.mistakes.refuse(
                "wrong-dtype",
                f"A device array cannot have the dtype {found}.",
                expected="a NumPy dtype of numbers or bools",
            )
        return found

    # ---------------------------------------------------------------- memory

    def allocate(
        self, shape: Any, dtype: Any, order: str = "C", data: bytes | None = None, stream: Any = 0
    ) -> DeviceArray:
        """A new scratch array with unspecified contents, or with ``data``."""
        checked = self.checked_dtype(dtype)
        geometry = geo.contiguous(geo.normal_shape(shape), checked.itemsize, order)
        if len(geometry.shape) > plan.MAX_DIMENSIONS:
            raise ValueError(f"at most {plan.MAX_DIMENSIONS} dimensions: {geometry.shape}")
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
        first = array.reshape(-1, order="A")[:1]
        if copy and array.nbytes > plan.MAX_CONSTANT_BYTES and bool((array == first).all()):
            result = self.allocate(
                array.shape, array.dtype, order, None, stream
            )  # say, zeros: no need to travel
            self.assign(result, first[0], stream)
            return result
        data = array.tobytes(order="A") if copy and array.nbytes <= plan.MAX_UPLOAD_BYTES else None
        if copy and data is None:
            self.mistakes.refuse(
                "upload-too-large",
                f"kernels.py copies an array of {array.nbytes:,} bytes from the host to the device.",
                expected=f"at most {plan.MAX_UPLOAD_BYTES:,} bytes in all",
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
        view = self.recording.view(target._memory, target._geometry, target.dtype)
        number, line = self.stream_number(stream), self.mistakes.line()
        fill = (
            plan.DataArgument(name=value.name)
            if isinstance(value, DataScalar)
            else self.scalar_constant(value)
        )
        if fill is not None and not isinstance(fill, plan.NoneConstant):
            self.recording.add(plan.Fill(target=view, value=fill, stream=number, line=line))
            return
        if not isinstance(value, DeviceArray):
            array = self._host_array(value)
            if array.ndim == 0:
                self.assign(target, array[()], stream)
                return
            value = self.to_device(np.ascontiguousarray(array.astype(target.dtype)), stream)
        if value.dtype != target.dtype:
            self.mistakes.refuse(
                "wrong-dtype",
                f"An array of {value.dtype} is assigned to one of {target.dtype}.",
                expected=str(target.dtype),
                found=str(value.dtype),
                advice="Convert the numbers in a kernel.",
            )
        source = geo.broadcast(value._geometry, target.shape)
        seen = self.recording.view(value._memory, source, value.dtype)
        self.recording.add(plan.Copy(source=seen, target=view, stream=number, line=line))

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
        if self._streams > plan.MAX_STREAMS:
            self.mistakes.refuse(
                "too-many-streams",
                f"kernels.py makes more than {plan.MAX_STREAMS} streams.",
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


class StandIn(ModuleType):
    """The module ``numba.cuda`` as student code sees it."""

    def __init__(self, context: Context, real: ModuleType) -> None:
        super().__init__(names.ROOT)
        self.__path__: list[str] = []
        self.__dict__.update(_host_names(context))
        self._real = names.Provided(names.ROOT, real, context.mistakes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {names.ROOT!r} has no attribute {name!r}")
        return getattr(self._real, name)


def install(context: Context) -> None:
    """Put the stand-in in the place of ``numba.cuda``, which has to be imported already."""
    real = names.load_real()
    names.replace(real, StandIn(context, real[names.ROOT]), context.mistakes)


def _host_names(context: Context) -> dict[str, Any]:
    """All names of numba.cuda that host code may use, or is told not to."""

    def device_array(
        shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
    ) -> DeviceArray:
        if strides is not None:
            context.unsupported(
                "strides= of cuda.device_array", "Allocate a contiguous array and take a view of it."
            )
        return context.allocate(shape, dtype, order, None, stream)

    def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
        fortran = ary.flags["F_CONTIGUOUS"] and not ary.flags["C_CONTIGUOUS"]
        return context.allocate(ary.shape, ary.dtype, "F" if fortran else "C", None, stream)

    def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C") -> Any:
        return np.empty(geo.normal_shape(shape), dtype, order)

    def pinned_array_like(ary: Any) -> Any:
        return np.empty(ary.shape, ary.dtype)

    @contextlib.contextmanager
    def nothing(*_: Any, **__: Any) -> Iterator[None]:
        yield

    def select_device(device_id: int = 0) -> Any:
        if device_id != 0:
            context.unsupported(f"device {device_id}", "There is one device, number 0.")
        return DeviceContext(context).device

    def refused(name: str, advice: str) -> Any:
        def refuse(*_: Any, **__: Any) -> NoReturn:
            context.unsupported(f"cuda.{name}", advice)

        refuse.__name__ = name
        return refuse

    gpus = DeviceList(context)
    return {name: refused(name, advice) for name, advice in _UNSUPPORTED.items()} | {
        "jit": functools.partial(jit, context),
        "device_array": device_array,
        "device_array_like": device_array_like,
        "to_device": context.to_device,
        "pinned_array": pinned_array,
        "pinned_array_like": pinned_array_like,
        "pinned": nothing,
        "defer_cleanup": nothing,
        "profiling": nothing,
        "profile_start": lambda: None,
        "profile_stop": lambda: None,
        "stream": context.new_stream,
        "default_stream": lambda: Stream(context, 0),
        "legacy_default_stream": lambda: Stream(context, 0),
        "per_thread_default_stream": lambda: Stream(context, 0),
        "event": lambda timing=True: Event(context),
        "synchronize": lambda: context.synchronize(None),
        "current_context": lambda devnum=None: DeviceContext(context),
        "get_current_device": lambda: DeviceContext(context).device,
        "list_devices": lambda: gpus,
        "gpus": gpus,
        "select_device": select_device,
        "close": lambda: None,
        "is_available": lambda: True,
        "detect": lambda: True,
        "is_supported_version": lambda: True,
        "is_cuda_array": lambda obj: isinstance(obj, DeviceArray),
        "is_float16_supported": lambda: True,
        "is_bfloat16_supported": lambda: context.gpu.compute_capability >= (8, 0),
        "cuda_error": lambda: None,
    }
