"""The module that student code gets as ``numba.cuda``: the same names, but it launches nothing. Runs in the recorder.

In: what student code asks of ``numba.cuda``. Out: operations of the plan, or a failure.

Host functions are written down or refused with a sentence; names for kernels are inert (``names``).
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn

import numba
import numba.core.extending
import numba.extending
import numpy as np

from grader.recorder import geometry as geo
from grader.recorder import names
from grader.recorder.arrays import DeviceArray
from grader.recorder.context import Context
from grader.recorder.host import DeviceContext, DeviceList, Event, Stream
from grader.recorder.jit import jit

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
    _refuse_extensions(context)


def _refuse_extensions(context: Context) -> None:
    """Refuse what teaches Numba new functions or types, where kernels.py itself asks for it.

    The runner never executes kernels.py, so it could not know them; Numba's own modules keep the originals.
    """
    for name in ("overload", "overload_method", "overload_attribute", "intrinsic"):
        original = getattr(numba.extending, name)
        for module in (numba.extending, numba.core.extending):
            setattr(module, name, _unless_from_student(context, name, original))


def _unless_from_student(context: Context, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def guarded(*arguments: Any, **named: Any) -> Any:
        if context.text.index_of(sys._getframe(1).f_code) is not None:
            context.unsupported(f"numba.extending.{name}", "Write a device function: @cuda.jit(device=True).")
        return original(*arguments, **named)

    return guarded


def _host_names(context: Context) -> dict[str, Any]:
    """All names of numba.cuda that host code may use, or is told not to."""

    def device_array(
        shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
    ) -> DeviceArray:
        if strides is not None:
            context.unsupported("strides= of cuda.device_array", "Allocate a contiguous array and take a view of it.")
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
