"""What a kernel is called with, as the simulator takes it. Runs in anybody's own process.

In: a value and the type that Numba gave it. Out: an ``ArrayRef`` into the heap, a number, or a tuple of those. An
array of the host is copied to the heap, and back after the launch, as on a GPU.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numba.cuda.args as numba_args
import numpy as np
from numba import cuda
from numba.cuda.cudadrv import devicearray

from grader.errors import NotSimulated
from grader.simulator.frontend import KernelError, types
from grader.simulator.live.binding import number
from grader.simulator.live.driver import DriverApi
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import dtype_of, is_scalar
from grader.simulator.pointers import is_pointer, pointer

# Numba types them as arguments of a kernel, and then has no way to hand them over.
_NEVER_ARGUMENTS = (types.List, types.Set, types.ListType, types.DictType, types.UnicodeType)


class WrongArgument(TypeError):
    """An array is not what a kernel was declared for. Numba does not look, and a GPU misreads its memory."""


class Arguments:
    """The arguments of one launch on ``stream``, Numba's or 0.

    ``on_host`` are the names of those that were copied from the host, ``misread`` says of which the bytes are read as
    another dtype than theirs.
    """

    def __init__(self, api: DriverApi, stream: Any) -> None:
        self._api = api
        self._stream = stream
        self.on_host: list[str] = []
        self.misread: list[str] = []
        self._after: list[Callable[[], Any]] = []
        self._alive: list[Any] = []

    def translate(self, numba_type: Any, value: Any, name: str) -> Any:
        """One argument. ``name`` is the kernel's parameter."""
        if isinstance(numba_type, types.Array | types.Record):
            return self._array(numba_type, value, name)
        if is_pointer(numba_type):
            return self._pointer(numba_type, value, name)
        if isinstance(numba_type, types.BaseTuple):
            return tuple(self.translate(t, item, name) for t, item in zip(numba_type, value, strict=True))
        if isinstance(numba_type, types.EnumMember):
            return value.value
        plain = value.value if isinstance(value, numba_args.ArgHint) else value
        _check_number(numba_type, plain, name)
        return plain

    def _pointer(self, numba_type: Any, value: Any, name: str) -> Any:
        address = self._api.place(number(value))
        found = self._api.heap.allocation(address)
        if found is None:
            raise NotSimulated(f"the simulator does not know a pointer to memory that nobody has allocated ({name})")
        self._api.heap.look_for_garbage(found[0])
        return pointer(numba_type, address, found, name)

    def _array(self, numba_type: Any, given: Any, name: str) -> ArrayRef:
        hint = numba_args.wrap_arg(given)
        value, device = hint.value, hint.value
        if not getattr(value, "__cuda_memory__", False):
            device = cuda.as_cuda_array(value) if cuda.is_cuda_array(value) else self._copied(hint, name)
        self._alive.append(device)
        dtype = self._dtype(numba_type, device, name)
        shape, strides = tuple(map(int, device.shape)), tuple(map(int, device.strides))
        if device.size == 0:
            return ArrayRef("global", name, dtype, 0, shape, strides)
        address = self._api.place(number(device.device_ctypes_pointer))
        found = self._api.heap.allocation(address)
        root = found[0] if found is not None else -1
        self._api.heap.look_for_garbage(root)
        return ArrayRef("global", name, dtype, address, shape, strides, root)

    def _dtype(self, declared: Any, device: Any, name: str) -> np.dtype[Any]:
        """The dtype that the kernel sees: the declared one. Raises WrongArgument where memory would be misread."""
        dtype: np.dtype[Any] = device.dtype
        if not isinstance(declared, types.Array) or not device.size:
            return dtype
        found = device._numba_type_
        if (declared.dtype, declared.ndim) == (found.dtype, found.ndim) and declared.layout in ("A", found.layout):
            return dtype
        same_size = is_scalar(declared.dtype) and dtype_of(declared.dtype).itemsize == dtype.itemsize
        if same_size and declared.ndim == found.ndim and declared.layout in ("A", found.layout):
            self.misread.append(
                f"{name} is {found}, but the kernel was declared for {declared} and reads its bytes so."
            )
            return dtype_of(declared.dtype)
        raise WrongArgument(
            f"{name} is {found}, but the kernel was declared for {declared}: a GPU would misread its memory. "
            "Convert the array, or leave the signature out and let Numba infer the types."
        )

    def _copied(self, hint: Any, name: str) -> Any:
        """A device array in place of an array of the host."""
        self.on_host.append(name)
        out_only = isinstance(hint, numba_args.Out) and not isinstance(hint, numba_args.InOut)
        device, _ = devicearray.auto_device(hint.value, stream=self._stream, copy=not out_only)
        array = hint.value
        writeable = isinstance(array, np.ndarray | np.void) and array.flags.writeable
        if writeable and not isinstance(hint, numba_args.In):
            self._after.append(lambda: device.copy_to_host(array, stream=self._stream))
        return device

    def finish(self) -> None:
        """The launch is over: copy back what came from the host."""
        for copy_back in self._after:
            copy_back()


def _check_number(declared: Any, value: Any, name: str) -> None:
    """Raise TypeError where a declared number would lose a part that is no number: Numba passes it through C."""
    fits: Any = None
    if isinstance(declared, types.Integer):
        fits, wanted = numbers.Integral, "an integer"
    elif isinstance(declared, types.Float):
        fits, wanted = numbers.Real, "a real number"
    if fits is not None and isinstance(value, numbers.Number) and not isinstance(value, fits | np.bool_):
        raise TypeError(f"{name} is {value!r}, but the kernel was declared for {declared}: expected {wanted}")


def check_types(function: Callable[..., Any], arg_types: Sequence[Any]) -> None:
    """Raise KernelError where an argument is of a type that no launch can hand over, whether it is used or not."""
    code = function.__code__
    for position, kind in enumerate(arg_types):
        if isinstance(kind, _NEVER_ARGUMENTS):
            what = "text" if isinstance(kind, types.UnicodeType) else type(kind).__name__.removesuffix("Type").lower()
            name = code.co_varnames[min(position, len(code.co_varnames) - 1)]
            message = f"A kernel takes no {what} as an argument, and {name} is one."
            raise KernelError(message, code.co_firstlineno, code.co_filename)
