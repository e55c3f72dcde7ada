"""Typing a kernel with the very pipeline of the GPU compile, up to type inference. Runs in the runner.

In: a Python function and Numba argument types. Out: ``TypedFunction``, Numba's typed IR. No GPU, driver or
toolkit is asked: device functions that a kernel calls are typed the same way and never lowered.

Works with numba-cuda where installed, else with Numba's built-in target: every class is taken from the
``numba.cuda`` modules themselves, which hides where each of the two keeps it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba.cuda.compiler as numba_compiler
import numba.cuda.dispatcher as numba_dispatcher
from numba import cuda
from numba.core import errors as core_errors
from numba.core.target_extension import target_override
from numba.cuda.descriptor import cuda_target

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel
from grader.simulator import positions
from grader.simulator.rejections import explain, is_numbas
from grader.simulator.typed_only import TypedOnly

types: Any = numba_compiler.types
signature_of: Any = numba_compiler.typing.signature
config: Any = numba_dispatcher.config
_compile_extra: Any = getattr(numba_compiler, "compile_extra", None) or numba_compiler.compiler.compile_extra
_ERRORS: tuple[type[BaseException], ...] = (core_errors.NumbaError,)
with contextlib.suppress(ImportError):
    from numba.cuda.core import errors as cuda_errors

    _ERRORS = (core_errors.NumbaError, cuda_errors.NumbaError)


NumbaWarning: type[Warning] = (cuda_errors if "numba_cuda" in (cuda.__file__ or "") else core_errors).NumbaWarning


def lowering_error(message: str) -> BaseException:
    """What Numba raises for what it can type and not compile."""
    error: BaseException = (cuda_errors if "numba_cuda" in (cuda.__file__ or "") else core_errors).LoweringError(
        message
    )
    return error


def numba_errors() -> tuple[type[BaseException], ...]:
    """The base classes of Numba's errors: numba-cuda's are no subclasses of Numba's own."""
    return _ERRORS


# Of functions that Numba brings, so many may be typed one in another, however deep those of a kernel are that call
# them. The tests' constructs take seven; each takes about thirty of Python's frames.
MAX_NUMBAS_OWN = 16


class KernelError(Exception):
    """Numba rejects the kernel. ``str()`` is its message, cut to what helps; ``line`` is 0 if it named none.

    ``file`` is where that line is, "" where it is not known; ``cause`` is Numba's own exception, where it raised one.
    """

    def __init__(self, message: str, line: int, file: str = "", cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.file = file
        self.cause = cause


@dataclass(frozen=True)
class TypedFunction:
    """One specialisation: Numba's IR after type inference, with the type of every variable and call."""

    function: Callable[..., Any]
    name: str
    filename: str
    line: int
    ir: Any
    typemap: dict[str, Any]
    calltypes: dict[Any, Any]
    return_type: Any
    arg_types: tuple[Any, ...]

    def key(self) -> tuple[Any, ...]:
        """What tells this specialisation from all others: functions of one factory share their name and their lines."""
        return (self.function, self.arg_types)


@numba_compiler.register_pass(mutates_CFG=False, analysis_only=True)
class _KeepTypedIR(numba_compiler.LoweringPass):  # type: ignore[misc]
    """Takes the place of lowering: hands the compiler's state to whoever asked."""

    _name = "warpgrade_keep_typed_ir"

    def __init__(self) -> None:
        numba_compiler.LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.metadata["warpgrade"] = (
            state.func_ir,
            dict(state.typemap),
            dict(state.calltypes),
            state.return_type,
        )
        state["cr"] = state.metadata["warpgrade"]
        return True


def _pipeline() -> type:
    """The compiler class, made while the target override holds, as Numba's passes expect."""

    class TypingCompiler(numba_compiler.CUDACompiler):  # type: ignore[misc]
        def define_cuda_lowering_pipeline(self, state: Any) -> Any:
            manager = numba_compiler.PassManager("warpgrade_typing")
            manager.add_pass(numba_compiler.IRLegalization, "ensure IR is legal")
            manager.add_pass(_KeepTypedIR, "keep typed IR")
            manager.finalize()
            return manager

    return TypingCompiler


class Frontend:
    """Types functions for one GPU model and caches the results by function and argument types."""

    def __init__(self, gpu: GpuModel) -> None:
        self._gpu = gpu
        self._typed: dict[tuple[Callable[..., Any], tuple[Any, ...]], TypedFunction] = {}
        self._depth = 0
        self._numbas_own = 0  # of those
        self._borrowed: list[tuple[Any, tuple[Any, ...]]] = []

    def type(
        self,
        function: Callable[..., Any],
        arg_types: tuple[Any, ...],
        *,
        device: bool = False,
        return_type: Any = None,
        again: bool = False,
        inline: str = "never",
    ) -> TypedFunction:
        """The typed IR of ``function`` for ``arg_types``. Raises KernelError where Numba rejects it.

        ``device``: it is no kernel and may return something; ``return_type`` is what it was declared to return.
        ``again``: what it captures may have changed since it was typed last. ``inline`` is the option of ``cuda.jit``:
        a function that is always inlined may return an array of its own.
        """
        key = (function, arg_types)
        if again:
            self._typed.pop(key, None)
        if key not in self._typed:
            module = str(function.__module__)
            is_numbas = module.startswith("numba.")
            if is_numbas and self._numbas_own >= MAX_NUMBAS_OWN:
                # What is written for CPUs may stand for itself here: np.random, once a script's CPU code has used it.
                raise KernelError(f"A kernel cannot use {module}: functions there call each other without end.", 0)
            self._numbas_own += is_numbas
            try:
                with self._typing_only():
                    self._typed[key] = self._compile(function, arg_types, device, return_type, inline)
            except KernelError as error:
                if self._depth or error.line:
                    raise
                _, line, file = explain(error)  # where the kernel calls what is rejected
                raise KernelError(str(error), line, file, error.cause) from None
            except (NotSimulated, MemoryError, RecursionError):
                raise
            except Exception as error:
                if not isinstance(error, _ERRORS) and not _is_from_numba(error):
                    raise  # ours
                if self._depth:
                    raise  # the caller's compile adds where it was called from
                raise KernelError(*explain(error), error) from None
            finally:
                self._numbas_own -= is_numbas
        return self._typed[key]

    def _compile(
        self, function: Callable[..., Any], arg_types: tuple[Any, ...], device: bool, declared: Any, inline: Any
    ) -> TypedFunction:
        flags = numba_compiler.CUDAFlags()
        flags.no_compile = True
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.error_model = "numpy"
        flags.compute_capability = self._gpu.compute_capability
        if not has_builtin_target():
            flags.inline = inline
        with target_override("cuda"):
            ir, typemap, calltypes, return_type = _compile_extra(
                typingctx=cuda_target.typing_context,
                targetctx=cuda_target.target_context,
                func=function,
                args=arg_types,
                return_type=declared,
                flags=flags,
                locals={},
                pipeline_class=_pipeline(),
            )
        if self._depth == 1 and not device and not isinstance(return_type, types.NoneType):
            line = _line_of_return(ir, typemap)
            what = f"A kernel returns nothing, but this one returns {return_type}."
            raise KernelError(what, line, ir.loc.filename)
        loc = ir.loc
        return TypedFunction(
            function, function.__qualname__, loc.filename, loc.line, ir, typemap, calltypes, return_type, arg_types
        )

    @contextlib.contextmanager
    def _typing_only(self) -> Iterator[None]:
        """While it holds, device functions are typed by us; afterwards dispatchers are as they were.

        Without this, typing a call of a device function would lower it and ask the driver for a device.
        """
        dispatcher_class = numba_dispatcher.CUDADispatcher
        original = dispatcher_class.compile_device
        frontend = self

        def compile_device(dispatcher: Any, args: tuple[Any, ...], return_type: Any = None) -> Any:
            if args not in dispatcher.overloads:
                # Numba types a function that calls itself by what the caller in progress has inferred so far.
                with dispatcher._compiling_counter:
                    inline = dispatcher.targetoptions.get("inline", "never")
                    typed = frontend.type(dispatcher.py_func, args, inline=inline)
                signature = numba_compiler.typing.signature(typed.return_type, *args)
                dispatcher.overloads[args] = TypedOnly(signature, dispatcher.py_func)
                frontend._borrowed.append((dispatcher, args))
            return dispatcher.overloads[args]

        if self._depth == 0:
            dispatcher_class.compile_device = compile_device
        self._depth += 1
        try:
            with positions.kept() if self._depth == 1 else contextlib.nullcontext():
                yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                dispatcher_class.compile_device = original
                for dispatcher, args in self._borrowed:
                    dispatcher.overloads.pop(args, None)
                self._borrowed.clear()


def _is_from_numba(error: BaseException) -> bool:
    """Whether Numba's own code raised: its typing of wrong code lets some of Python's exceptions escape."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and is_numbas(trace.tb_frame.f_code.co_filename)


def _line_of_return(ir: Any, typemap: dict[str, Any]) -> int:
    """The line of a return that has a value; the function's own where none is found."""
    for block in ir.blocks.values():
        returned = getattr(block.terminator, "value", None)  # jumps and branches have none
        for statement in block.body:
            value: Any = getattr(statement, "value", None)
            is_given = returned is not None and getattr(statement, "target", None) is returned
            if is_given and value.op == "cast" and not isinstance(typemap[value.value.name], types.NoneType):
                return int(block.terminator.loc.line)
    return int(ir.loc.line)


def has_builtin_target() -> bool:
    """Whether typing uses Numba's built-in CUDA target rather than numba-cuda."""
    return "numba_cuda" not in (cuda.__file__ or "")


def has_run_time() -> bool:
    """Whether kernels are compiled with Numba's run time (NUMBA_CUDA_ENABLE_NRT), and so may make arrays."""
    return bool(getattr(config, "CUDA_ENABLE_NRT", False))
