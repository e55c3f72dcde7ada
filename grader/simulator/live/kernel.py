"""What stands for a compiled kernel in Numba's dispatcher. Runs in anybody's own process.

In: a Python function, the argument types that Numba chose, the options of ``cuda.jit``. Out: launches on the simulator.
Numba's dispatcher keeps it as it keeps its own ``_Kernel``: the attributes are those that it and its users look at.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import numba.cuda.compiler as numba_compiler

from grader.errors import NotSimulated
from grader.simulator.frontend import KernelError, NumbaWarning, lowering_error, types
from grader.simulator.live.arguments import check_types
from grader.simulator.live.captured import captured_by
from grader.simulator.program import Program
from grader.simulator.unit import Options

if TYPE_CHECKING:
    from grader.simulator.live.session import Session

_FROM_THE_COMPILER = (
    *("regs_per_thread", "inspect_llvm", "inspect_asm", "inspect_lto_ptx", "inspect_sass", "inspect_sass_cfg"),
    "inspect_types",
)


# Threads per block, blocks per multiprocessor, blocks per cluster.
MAX_LAUNCH_BOUNDS = 3


class _Number(int):
    """A number that may be called, too: versions of cuda.core differ."""

    def __call__(self) -> int:
        return int(self)


class SimulatedKernel:
    """A kernel for one signature. Raises Numba's own error where Numba rejects it, NotSimulated for ``link=``."""

    objectmode = False
    entry_point = None
    cooperative = False

    def __init__(
        self,
        session: Session,
        py_func: Callable[..., Any],
        argtypes: Sequence[Any],
        link: Sequence[Any] = (),
        *,
        debug: bool = False,
        extensions: Sequence[Any] | None = None,
        device: bool = False,
        launch_bounds: Any = None,
        **options: Any,
    ) -> None:
        if device:
            raise RuntimeError("Cannot compile a device function as a kernel")
        if link:
            unknown = NotSimulated(f"the simulator does not know code that is linked ({py_func.__qualname__}: link=)")
            session.not_compiled(py_func, unknown)
            raise unknown
        if isinstance(launch_bounds, tuple) and len(launch_bounds) > MAX_LAUNCH_BOUNDS:
            raise ValueError(f"Got {len(launch_bounds)} launch bounds: there are at most {MAX_LAUNCH_BOUNDS}")
        self._session = session
        self.py_func = py_func
        self.argtypes = tuple(argtypes)
        self.debug = debug
        self.extensions = list(extensions or ())
        self.launch_bounds = launch_bounds
        self.options = options
        self.signature = numba_compiler.typing.signature(types.none, *self.argtypes)
        try:
            check_types(py_func, self.argtypes)
            self.typed = session.simulator.frontend.type(py_func, self.argtypes, again=True)
        except KernelError as error:
            session.not_compiled(py_func, error)
            raise numbas_own(error) from None
        except NotSimulated as error:
            session.not_compiled(py_func, error)
            raise
        self._type_annotation = SimpleNamespace(typemap=self.typed.typemap)
        self.launch_config_sensitive = _depends_on_launch()
        self.captured = captured_by(py_func)
        self._program: Program | None = None
        # At once, as Numba does: what is captured is captured now. What we do not know is told at the launch.
        try:
            self._program = session.simulator.compile(self.typed, self._options())
            for text in self._program.warnings:
                warnings.warn(text, NumbaWarning, stacklevel=2)
        except KernelError as error:
            session.not_compiled(py_func, error)
            raise numbas_own(error) from None
        except NotSimulated:
            pass
        self._codelibrary = SimpleNamespace(get_cufunc=self._function)

    @property
    def program(self) -> Program:
        """What the machine runs. Raises NotSimulated, KernelError."""
        if self._program is None:
            self._program = self._session.simulator.compile(self.typed, self._options())
        return self._program

    def _options(self) -> Options:
        return Options(self.debug, bool(self.options.get("fastmath")))

    @property
    def argument_types(self) -> tuple[Any, ...]:
        """Numba types of the arguments."""
        return self.argtypes

    @property
    def max_threads_per_block(self) -> int:
        """The most threads of a block: ``launch_bounds``, else the GPU's limit (registers are not known)."""
        bounds = self.launch_bounds
        first = bounds[0] if isinstance(bounds, tuple | list) and bounds else bounds
        limit = self._session.gpu.max_threads_per_block
        return min(limit, int(first)) if first else limit

    @property
    def shared_mem_per_block(self) -> int:
        """Static shared memory, in bytes."""
        return self.program.shared_bytes

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of ``cuda.local.array``; a compiler may need more."""
        return self.program.local_bytes

    @property
    def const_mem_size(self) -> int:
        """Bytes of captured arrays and of formats for printing."""
        return sum(int(array.nbytes) for array in self.program.constants) + self.program.text_bytes

    def _function(self) -> SimpleNamespace:
        """What Numba asks the driver about occupancy for."""
        threads = _Number(self.max_threads_per_block)
        found = SimpleNamespace(shared_bytes=self.program.shared_bytes, max_threads=int(threads))
        found.kernel = SimpleNamespace(attributes=SimpleNamespace(max_threads_per_block=threads))
        found.handle = found
        return found

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """The most blocks that are resident at the same time."""
        sizes = blockdim if isinstance(blockdim, tuple) else (blockdim,)
        threads = 1
        for size in sizes:
            threads *= size
        resident = self._session.api.cuOccupancyMaxActiveBlocksPerMultiprocessor(self._function(), threads, dynsmemsize)
        return resident * self._session.gpu.multiprocessors

    def bind(self) -> None:
        """Nothing to load onto a device."""

    def launch(self, args: Sequence[Any], griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> None:
        """Run the kernel; ``session`` has the rest."""
        self._session.launch(self, args, griddim, blockdim, stream, int(sharedmem or 0))

    def __getattr__(self, name: str) -> NoReturn:
        if name in _FROM_THE_COMPILER:
            raise NotSimulated(f"the simulator does not know {name}: it makes no machine code")
        raise AttributeError(name)


def _depends_on_launch() -> bool:
    """Whether a pass of somebody's has marked the kernel that is being compiled as depending on its launch."""
    try:
        from numba.cuda import launchconfig
    except ImportError:  # the built-in target knows no such kernels
        return False
    configuration = launchconfig.current_launch_config()
    return configuration is not None and configuration._is_kernel_launch_config_sensitive()


def numbas_own(error: KernelError) -> BaseException:
    """The exception that a script gets for a kernel that Numba rejects: Numba's, with Numba's text."""
    if error.cause is not None:
        return error.cause.with_traceback(None)
    return lowering_error(str(error))
