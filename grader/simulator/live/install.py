"""Puts the simulator in the place of a GPU, in this process, and takes it out again. Runs in anybody's own process.

In: a GPU model. Out: Numba's own modules, with other functions underneath. ``uninstall`` leaves everything as it was
found, but for the few functions that free what a script may still hold.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numba.cuda.compiler as numba_compiler
import numba.cuda.cudadrv.devices as numba_devices
import numba.cuda.cudadrv.driver as numba_driver
import numba.cuda.dispatcher as numba_dispatcher
from numba import cuda
from numba.cuda.cudadrv import devicearray, nvvm
from numba.cuda.cudadrv.runtime import runtime

from grader.errors import NotSimulated, UsageError
from grader.gpu_models import DEFAULT, MODELS, GpuModel
from grader.simulator import LAUNCH_SECONDS
from grader.simulator.frontend import KernelError
from grader.simulator.live.assign import Assignment
from grader.simulator.live.binding import HAS_BINDING, Handle
from grader.simulator.live.driver import AT_THE_END, CUDA_VERSION, functions
from grader.simulator.live.heap import Heap
from grader.simulator.live.kernel import SimulatedKernel, numbas_own
from grader.simulator.live.session import Session
from grader.simulator.typed_only import TypedOnly
from grader.traces import LaunchTrace


class Installed:
    """The simulator in this process; one at a time. ``undo`` takes it out."""

    current: Installed | None = None
    # Of earlier ones. While Numba has arrays in a heap, no other may get its addresses: Numba frees late, by address,
    # and asks whichever driver there is by then.
    behind: tuple[Heap, ...] = ()

    def __init__(self, session: Session) -> None:
        self.session = session
        session.api.behind = Installed.behind = tuple(heap for heap in Installed.behind if heap.is_used)
        self._undo = contextlib.ExitStack()
        self._touched: weakref.WeakSet[Any] = weakref.WeakSet()
        self._driver()
        self._devices()
        self._dispatcher()
        self._settings()

    def undo(self) -> None:
        """Everything as it was; device arrays that a script still holds can be dropped, and nothing else."""
        ends = {name: numba_driver.driver.__dict__[name] for name in AT_THE_END}
        self._undo.close()
        numba_driver.driver.__dict__.update(ends)
        if self.session.heap.is_used:
            self.session.heap.forget_contents()
            Installed.behind += (self.session.heap,)
        for dispatcher in self._touched:
            dispatcher._reset_overloads()
            dispatcher.specializations.clear()

    def _set(self, holder: Any, name: str, value: Any) -> None:
        """``holder.name = value`` until ``undo``."""
        held = vars(holder)
        if name in held:
            self._undo.callback(setattr, holder, name, held[name])
        else:
            self._undo.callback(delattr, holder, name)
        setattr(holder, name, value)

    # ------------------------------------------------------------------ what needs a GPU

    def _driver(self) -> None:
        driver = numba_driver.driver
        for name in AT_THE_END:  # left behind by an earlier one
            driver.__dict__.pop(name, None)
        if not hasattr(numba_driver, "_logger"):
            numba_driver._logger = numba_driver.make_logger()
        state: dict[str, Any] = {
            **functions(self.session.api),
            "is_initialized": True,
            "initialization_error": None,
            "pid": None,
            "devices": {},
            "_cuda_python_wrap_fn": _unknown,
            "_ctypes_wrap_fn": _unknown,
        }
        for name, value in state.items():
            self._set(driver, name, value)

    def _devices(self) -> None:
        runtime_of_devices = numba_devices._runtime
        _forget_devices(runtime_of_devices.gpus)
        self._undo.callback(_forget_devices, runtime_of_devices.gpus)
        self._set(runtime_of_devices, "_tls", type(runtime_of_devices._tls)())
        if hasattr(numba_driver, "ExperimentalDevice"):
            self._set(numba_driver, "ExperimentalDevice", functools.partial(_CoreDevice, self.session))
            self._set(numba_driver.Device, "get_primary_context", _primary_context)
            self._set(numba_driver, "_to_core_stream", _checked_stream)
        elif not HAS_BINDING:
            self._set(numba_driver.Device, "__init__", functools.partialmethod(_begin_device, self.session))
        self._set(devicearray, "_assign_kernel", lambda ndim: Assignment(self.session.api))
        self._set(nvvm, "is_available", lambda: True)
        self._set(runtime, "get_version", lambda: CUDA_VERSION)
        self._set(runtime, "is_supported_version", lambda: True)

    def _dispatcher(self) -> None:
        session, touched = self.session, self._touched
        dispatcher_class = numba_dispatcher.CUDADispatcher
        compile_kernel = dispatcher_class.compile
        real_kernel = numba_dispatcher._Kernel

        def compile_and_note(dispatcher: Any, signature: Any) -> Any:
            touched.add(dispatcher)
            return compile_kernel(dispatcher, signature)

        def compile_device(dispatcher: Any, args: tuple[Any, ...], return_type: Any = None) -> Any:
            if args not in dispatcher.overloads:
                touched.add(dispatcher)
                try:
                    with dispatcher._compiling_counter:
                        typed = session.simulator.frontend.type(
                            dispatcher.py_func, tuple(args), device=True, return_type=return_type, again=True
                        )
                except KernelError as error:
                    session.not_compiled(dispatcher.py_func, error)
                    raise numbas_own(error) from None
                signature = numba_compiler.typing.signature(typed.return_type, *args)
                dispatcher.overloads[args] = TypedOnly(signature, dispatcher.py_func)
            return dispatcher.overloads[args]

        def launch_compiled(kernel: Any, *args: Any, **kws: Any) -> None:
            """A kernel that was compiled for a GPU before the simulator came."""
            stand_in = SimulatedKernel(session, kernel.py_func, kernel.argtypes, extensions=kernel.extensions)
            stand_in.launch(*args, **kws)

        self._set(real_kernel, "launch", launch_compiled)
        self._set(numba_dispatcher, "_Kernel", functools.partial(SimulatedKernel, session))
        self._set(dispatcher_class, "compile", functools.wraps(compile_kernel)(compile_and_note))
        self._set(dispatcher_class, "compile_device", compile_device)
        # A cache on disk keeps machine code: ours must not enter it, nor a GPU's come out of it.
        self._set(dispatcher_class, "enable_caching", lambda dispatcher: None)

    def _settings(self) -> None:
        """Both warnings go to stderr; the simulator says the same as findings, with the line."""
        config = numba_dispatcher.config
        for name in ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY"):
            if hasattr(config, name):
                self._set(config, name, 0)


def install(gpu: GpuModel | str, devices: int, launch_seconds: float) -> None:
    """See ``grader.simulator.install``."""
    if isinstance(gpu, str):
        if gpu not in MODELS:
            raise UsageError(f"expected a GPU model of {', '.join(MODELS)}; found {gpu!r}")
        gpu = MODELS[gpu]
    uninstall()
    Installed.current = Installed(Session(gpu, devices, launch_seconds))


def uninstall() -> None:
    """See ``grader.simulator.uninstall``."""
    if Installed.current is not None:
        Installed.current.undo()
        Installed.current = None


def installed_gpu() -> GpuModel:
    """The model that is simulated, or would be by default."""
    return Installed.current.session.gpu if Installed.current is not None else DEFAULT


@contextlib.contextmanager
def trace() -> Iterator[list[LaunchTrace]]:
    """See ``grader.simulator.trace``."""
    if Installed.current is None:
        install(DEFAULT, 1, LAUNCH_SECONDS)
    assert Installed.current is not None
    traces = Installed.current.session.telling.traces
    launches: list[LaunchTrace] = []
    traces.append(launches)
    try:
        yield launches
    finally:
        traces[:] = [each for each in traces if each is not launches]


# ---------------------------------------------------------------------- Numba's devices


class _CoreDevice:
    """What numba-cuda asks a device of cuda.core."""

    def __init__(self, session: Session, number: int) -> None:
        self.device_id = session.api.cuDeviceGet(number)
        self.compute_capability = session.gpu.compute_capability
        self.name = session.gpu.name
        self.uuid = _uuid(number)


def _begin_device(device: Any, session: Session, number: int) -> None:
    """What the built-in target reads from the driver into buffers of C."""
    device.id = session.api.cuDeviceGet(number)
    device.attributes = {}
    device.compute_capability = session.gpu.compute_capability
    device.name = session.gpu.name.encode()
    device.uuid = f"GPU-{_uuid(number)}"
    device.primary_context = None


def _uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def _primary_context(device: Any) -> Any:
    if device.primary_context is None:
        device.primary_context = numba_driver.Context(weakref.proxy(device), Handle(device.id + 1))
    return device.primary_context


def _checked_stream(stream: Any) -> Any:
    """What a launch configuration keeps of a stream. Raises TypeError for what is none."""
    if not stream:
        return cuda.default_stream()
    if not hasattr(stream, "handle"):
        raise TypeError(
            f"Expected a Stream object, ExperimentalStream, GraphBuilder, or 0, got {type(stream).__name__}"
        )
    return stream


def _forget_devices(gpus: Any) -> None:
    """Let Numba's list of devices be made anew."""
    gpus.__dict__.pop("lst", None)
    cached: Callable[..., Any] | None = getattr(vars(type(gpus)).get("lst"), "fget", None)
    if cached is not None:
        cached.cache_clear()  # type: ignore[attr-defined]


def _unknown(name: str, *_: Any) -> Any:
    raise NotSimulated(f"the simulator does not know the driver's {name}")
