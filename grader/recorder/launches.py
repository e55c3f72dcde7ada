"""Kernels and their launches: nothing is compiled, each launch is checked and written down.

Runs in the recorder. Comes in: what student code puts into brackets and parentheses. Goes out: ``plan.Launch``.
"""

from __future__ import annotations

import enum
import functools
import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from grader import plan, plan_constants, plan_functions, plan_limits, plan_memory
from grader.recorder.arrays import DeviceArray
from grader.recorder.contentless import DataScalar
from grader.recorder.mistakes import is_a, message_of

if TYPE_CHECKING:
    from grader.recorder.context import Context

# What forall takes without tpb. Numba asks the driver, which knows the compiled kernel; we have none here.
FORALL_BLOCK = 256
_COMPILED = frozenset(
    (
        *(
            "overloads",
            "definitions",
            "compile",
            "compile_device",
            "inspect_asm",
            "inspect_llvm",
            "inspect_types",
        ),
        *("inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg", "get_regs_per_thread", "get_const_mem_size"),
        *("get_shared_mem_per_block", "get_local_mem_per_thread", "get_max_threads_per_block"),
        "nopython_signatures",
    )
)
USAGE = "kernel[blocks, threads](arguments)"


class Kernel:
    """What ``cuda.jit`` makes of a function: a kernel or (``device``) a device function."""

    def __init__(
        self,
        context: Context,
        function: FunctionType,
        device: bool,
        options: plan_functions.JitOptions,
        signatures: tuple[tuple[plan_functions.TypeOf, ...], ...],
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.py_func = function
        self.device = device
        self.options = options
        self.signatures = signatures
        self._context = context

    def __getitem__(self, configuration: Any) -> Configured:
        given = configuration if isinstance(configuration, tuple) else (configuration,)
        if self.device:
            self._refuse_device_function()
        if not 2 <= len(given) <= 4:
            self._context.mistakes.refuse(
                "launch-configuration",
                f"{self._name} is launched with {len(given)} values in its brackets.",
                expected=f"{USAGE}, and optionally [blocks, threads, stream, shared_bytes]",
                found=f"{self._name}[{', '.join(map(repr, given))}]",
            )
        return Configured(self._context, self, *given)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: Any = 0) -> Configured:
        """The same as the brackets."""
        return self[griddim, blockdim, stream, sharedmem]

    def forall(self, ntasks: Any, tpb: Any = 0, stream: Any = 0, sharedmem: Any = 0) -> Any:
        """A launch of one thread per task, one-dimensional."""
        tasks = self._context.integer(ntasks, "the number of tasks of forall")
        block = self._context.integer(tpb, "the block size of forall") or FORALL_BLOCK
        if tasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {tasks}")
        if tasks == 0:
            return lambda *_: None
        return self[-(-tasks // block), block, stream, sharedmem]

    def specialize(self, *_: Any) -> Kernel:
        """Types are known at the launch; there is nothing to specialise."""
        return self

    def __call__(self, *_: Any, **__: Any) -> None:
        """Refused: a launch needs grid and block."""
        if self.device:
            self._refuse_device_function()
        self._context.mistakes.refuse(
            "launch-configuration",
            f"{self._name} is launched without grid and block.",
            expected=USAGE,
            found=f"{self._name}(…)",
            advice="Put blocks and threads per block in square brackets before the arguments.",
        )

    def __getattr__(self, name: str) -> Any:
        if name in _COMPILED:
            self._context.mistakes.refuse(
                "compiled-code",
                f"The host function asks for {self._name}.{name}, which only a compiled kernel has.",
                advice="Use this in a script of your own; here, host code runs before anything is compiled.",
            )
        raise AttributeError(f"a kernel has no attribute {name!r}")

    @property
    def _name(self) -> str:
        return self.py_func.__name__

    def _refuse_device_function(self) -> None:
        self._context.mistakes.refuse(
            "device-function-on-host",
            f"The host calls {self._name}, which is a device function.",
            expected="device functions called from kernels only",
            found=f"{self._name} with device=True",
            advice="Launch a kernel that calls it, or remove device=True to make it a kernel.",
        )


class Configured:
    """A kernel with its grid and block, ready to launch."""

    def __init__(
        self, context: Context, kernel: Kernel, grid: Any, block: Any, stream: Any = 0, shared: Any = 0
    ) -> None:
        self._context = context
        self._kernel = kernel
        self.griddim = self._extents(grid, "grid")
        self.blockdim = self._extents(block, "block")
        self.stream = stream
        self.sharedmem = context.integer(shared, "the number of shared bytes")
        if self.sharedmem < 0:
            context.mistakes.refuse(
                "launch-configuration",
                f"{kernel.py_func.__name__} is launched with a negative number of shared bytes.",
                expected="0 or more bytes",
                found=str(self.sharedmem),
            )

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Write the launch down."""
        context, kernel = self._context, self._kernel
        signature = inspect.signature(kernel.py_func)
        name = kernel.py_func.__name__
        try:
            if named:
                raise TypeError("a launch takes no arguments by name")
            signature.bind(*arguments)
        except TypeError as error:
            context.mistakes.refuse(
                "wrong-arguments",
                f"{name} is launched with {len(arguments) + len(named)} arguments that do not fit its parameters.",
                expected=f"{name}{signature}",
                found=message_of(error),
                advice="Pass as many arguments, in the same order, as the kernel has parameters.",
            )
        if len(arguments) > plan_limits.MAX_ARGUMENTS:
            context.mistakes.refuse("wrong-arguments", f"{name} takes more than {plan_limits.MAX_ARGUMENTS} arguments.")
        converted = tuple(
            self._argument(value, parameter)
            for value, parameter in zip(arguments, _parameter_names(signature, len(arguments)), strict=True)
        )
        context.recording.add(
            plan.Launch(
                kernel=context.capture.function(kernel),
                grid=self.griddim,
                block=self.blockdim,
                shared_bytes=self.sharedmem,
                stream=context.stream_number(self.stream),
                arguments=converted,
                line=context.mistakes.line(),
            )
        )

    def _extents(self, given: Any, what: str) -> tuple[int, int, int]:
        items = list(given) if isinstance(given, (tuple, list)) else [given]
        usage = f"{what} of {self._kernel.py_func.__name__}"
        if not 1 <= len(items) <= 3:
            self._context.mistakes.refuse(
                "launch-configuration",
                f"The {usage} has {len(items)} dimensions.",
                expected="an int, or a tuple of 1, 2 or 3 ints",
                found=repr(given),
            )
        extents = [self._context.integer(item, f"the {usage}") for item in items]
        for extent in extents:
            if not 0 <= extent <= plan_limits.MAX_GRID:
                self._context.mistakes.refuse(
                    "launch-configuration",
                    f"The {usage} is {given!r}.",
                    expected=f"extents of 1 to {plan_limits.MAX_GRID}",
                    found=str(extent),
                )
        x, y, z = (*extents, *[1] * (3 - len(extents)))
        return x, y, z

    def _argument(self, value: Any, parameter: str) -> Any:
        context = self._context
        if isinstance(value, DeviceArray):
            return context.recording.view(value._memory, value._geometry, value.dtype)
        if isinstance(value, DataScalar):
            return plan_memory.DataArgument(name=value.name)
        constant = context.scalar_constant(value)
        if constant is not None:
            return constant
        if is_a(value, enum.Enum):
            member = context.capture.constant(value, parameter)
            of_text = isinstance(member, plan_constants.EnumMemberConstant) and member.value.kind == "str"
            if not of_text and not isinstance(member, plan_constants.UnsupportedConstant):
                return member
        if isinstance(value, tuple) and type(value) is tuple and len(value) <= plan_limits.MAX_TUPLE:
            return plan_memory.TupleArgument(items=tuple(self._argument(item, parameter) for item in value))
        if isinstance(value, np.ndarray):
            context.mistakes.refuse(
                "host-array",
                f"A NumPy array is passed to {self._kernel.py_func.__name__} as {parameter}.",
                expected="arrays in device memory",
                found=f"host array of shape {value.shape}, {value.dtype}",
                advice="Copy it with cuda.to_device(array), or make scratch with cuda.device_array(shape, dtype).",
            )
        context.mistakes.refuse(
            "wrong-arguments",
            f"{self._kernel.py_func.__name__} gets a {type(value).__name__} as {parameter}.",
            expected="device arrays, numbers, or tuples of them",
            found=context.short(value),
        )


def _parameter_names(signature: inspect.Signature, count: int) -> list[str]:
    names = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_POSITIONAL]
    rest = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    return (names + rest * count)[:count]
