"""How Numba's host code calls the driver, and what it gets back. Runs in anybody's own process.

In and out: handles, addresses, errors, as the installed target has them. numba-cuda calls the driver's functions as
NVIDIA's Python binding does, with results returned; Numba's built-in target as C does, with results in pointers:
``as_c_does`` makes the one of the other.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numba.cuda.cudadrv.driver as numba_driver
import numpy as np

HAS_BINDING: bool = getattr(numba_driver, "USE_NV_BINDING", True)
_POINTER_TO_RESULT: Any = type(ctypes.byref(ctypes.c_int()))


def api_error(name: str, what: str) -> Exception:
    """Numba's ``CudaAPIError`` with the driver's code of that name ("INVALID_VALUE") and a sentence."""
    if HAS_BINDING:
        code: Any = getattr(numba_driver.binding.CUresult, f"CUDA_ERROR_{name}")
    else:
        code = getattr(numba_driver.enums, f"CUDA_ERROR_{name}")
    error: Exception = numba_driver.CudaAPIError(code, what)
    return error


def launch_error(name: str, what: str) -> Exception:
    """As ``api_error``, for launches: numba-cuda launches through cuda.core, which has an exception of its own."""
    error = api_error(name, what)
    try:
        of_core: Any = importlib.import_module("cuda.core._utils.cuda_utils").CUDAError
    except (ImportError, AttributeError):  # Numba's built-in target, or another version of cuda.core
        return error
    both = type("CudaAPIError", (type(error), of_core), {"__module__": type(error).__module__})
    found: Exception = both(*error.args)
    return found


class Handle(int):
    """A number that stands for a stream, an event or a context; both of Numba's targets find what they look for."""

    @property
    def value(self) -> int:
        """As a ctypes pointer has it."""
        return int(self)


def number(value: Any) -> int:
    """The number in a ctypes object, one of NVIDIA's binding, or an int."""
    if isinstance(value, int):
        return int(value)
    held = getattr(value, "value", value)
    return int(held) if held is not None else 0


def host_bytes(address: int, nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The process's own memory from ``address`` on."""
    if not nbytes:
        return np.empty(0, np.uint8)
    memory: Any = (ctypes.c_ubyte * nbytes).from_address(address)
    return np.frombuffer(memory, np.uint8)


def attribute_name(code: Any) -> str:
    """The name of a device attribute's code, without its prefix."""
    if HAS_BINDING:
        return str(code.name).removeprefix("CU_DEVICE_ATTRIBUTE_")
    names = {value: name for name, value in numba_driver.DEVICE_ATTRIBUTES.items()}
    return str(names.get(number(code), code))


def as_c_does(function: Callable[..., Any]) -> Callable[..., None]:
    """``function``, whose results go where the pointers among its arguments point to."""

    def call(*arguments: Any) -> None:
        results = [given._obj for given in arguments if isinstance(given, _POINTER_TO_RESULT)]
        found = function(*[given for given in arguments if not isinstance(given, _POINTER_TO_RESULT)])
        for result, value in zip(results, found if isinstance(found, tuple) else (found,), strict=False):
            result.value = value

    return call
