"""Whether Numba's real compile accepts a kernel: typing and lowering to LLVM, without GPU, driver or toolkit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numba.cuda.compiler as numba_compiler
import numba.cuda.dispatcher as numba_dispatcher

from grader.simulator.frontend import _compile_extra, cuda_target, target_override

_DEVICE = SimpleNamespace(compute_capability=(7, 5))


@contextlib.contextmanager
def _no_driver() -> Iterator[None]:
    """While it holds, functions that a kernel calls are lowered for a device that nobody is asked about."""
    with mock.patch.object(numba_dispatcher, "get_current_device", return_value=_DEVICE):
        yield


def refusal(function: Callable[..., Any], arg_types: tuple[Any, ...]) -> str:
    """Why Numba does not compile a function for these types; "" where it does."""
    try:
        _compiled(function, arg_types)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def llvm(function: Callable[..., Any], arg_types: tuple[Any, ...]) -> str:
    """The LLVM IR that Numba makes of a function for these types."""
    return str(_compiled(function, arg_types).library.get_llvm_str())


def _compiled(function: Callable[..., Any], arg_types: tuple[Any, ...]) -> Any:
    flags = numba_compiler.CUDAFlags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.error_model = "numpy"
    flags.compute_capability = _DEVICE.compute_capability
    with _no_driver(), target_override("cuda"):
        return _compile_extra(
            typingctx=cuda_target.typing_context,
            targetctx=cuda_target.target_context,
            func=function,
            args=arg_types,
            return_type=None,
            flags=flags,
            locals={},
            pipeline_class=numba_compiler.CUDACompiler,
        )
