"""The simulator: Numba's typed IR, carried out on NumPy arrays whose first axis is lanes. Runs in the runner.

In: a Python function, argument arrays and scalars, a launch configuration. Out: the arrays changed in place,
findings and counters. No GPU, driver or CUDA toolkit takes part. In the order in which a launch passes them:

- ``launch`` ties the rest together: ``configuration`` checks it as a GPU would, ``signatures`` finds the Numba types
  of its ``arguments``;
- ``frontend`` types the kernel with Numba's own pipeline (``typed_only`` is what Numba keeps of it); ``numba_types``
  turns its types into dtypes and casts;
- ``translate`` (statements), ``inlining``, ``stores``, ``structs``, ``expressions``, ``operators``, ``loops``,
  ``index_loops``, ``attributes``, ``array_methods``, ``calls`` (``callees``), ``device_calls``, ``atomic_calls`` and
  ``collective_calls`` (``registry``) turn typed IR into steps of a ``body`` (with ``constants``) of a ``unit``;
- ``program`` is what comes of it: basic blocks of steps, ranked by ``order``;
- ``scheduler`` runs groups of lanes of a ``wave`` of blocks over it, and a step sees a ``machine``; ``barriers`` is
  where lanes wait (``absent``, ``skipped``: who is missing there), ``frames`` what recursive calls go back to;
  ``spinning`` and ``waits`` find waits, and those that nothing can end; ``stops`` ends a launch otherwise;
- ``memory`` holds the address spaces, ``lane_values`` what lanes have in registers; ``access`` reads and writes
  memory where ``addressing`` finds an element, ``atomics`` do both; ``views`` are parts of arrays, ``ranges`` counts;
- ``operations`` says what operators and functions mean on lanes; ``scalar_calls``, ``libdevice_calls``,
  ``half_calls``, ``vector_calls``, ``memory_calls``, ``wide_access`` (with ``wide_elements``) and ``ufunc_calls`` add
  what Numba and ``grader.vector_access`` offer beyond (``rounding`` rounds as asked); ``pointers`` are raw addresses,
  ``printing`` is what threads print, ``raising`` what they raise;
- ``watch`` (with ``shadow``, ``regions``, ``marks``, ``fences``, ``warp_order``, ``races``) looks for races,
  ``first_writes`` for reads of what nobody wrote, ``findings`` collects; ``touched`` is what remains of it for launches
  on other streams, of which ``streams`` knows the order, and ``stream_races`` where there is none;
- ``traffic`` (with ``access_costs``) counts what accesses cost, ``execution`` how well warps are filled, ``spots``
  spares loops to find both out again; ``performance_advice`` (with ``promotions``, ``access_advice``) makes sentences
  of it;
- ``rejections`` cuts Numba's messages to what helps, and ``advice`` (by what is ``around``) says what to try;
  ``sources`` and ``positions`` find a line and the expression in it; ``printed`` keeps what threads print;
  ``dimensions`` looks at how a script launches.

``install``, ``uninstall`` and ``trace`` put it in the place of a GPU for any script of one's own (``live``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from grader.errors import UsageError
from grader.gpu_models import GpuModel
from grader.traces import LaunchTrace

# CPU seconds that one launch of a script may take: far more than anybody waits for.
LAUNCH_SECONDS = 600.0


def install(gpu: GpuModel | str = "t4", *, devices: int = 1, launch_seconds: float = LAUNCH_SECONDS) -> None:
    """Simulate every launch of this process from now on, on a GPU model ("t4", "a100", …; ``gpu_models.MODELS``).

    ``devices`` is how many GPUs a script sees. A launch that takes more than ``launch_seconds`` of CPU time ends with
    Numba's CudaAPIError. Installing again replaces what was installed; arrays that are on its GPU are lost. Raises
    UsageError for an unknown model, and where Numba's own simulator has been asked for.
    """
    _refuse_numbas_simulator()
    from grader.simulator.live import install as live

    live.install(gpu, devices, launch_seconds)


def uninstall() -> None:
    """The real ``numba.cuda`` again. Does nothing where nothing is installed."""
    from grader.simulator.live import install as live

    live.uninstall()


def trace() -> AbstractContextManager[list[LaunchTrace]]:
    """A list that gets one ``LaunchTrace`` per launch in the ``with`` block, in order.

    Installs the simulator if it is not, and leaves it there: arrays are on its GPU. Raises UsageError as ``install``.
    """
    _refuse_numbas_simulator()
    from grader.simulator.live import install as live

    return live.trace()


def _refuse_numbas_simulator() -> None:
    """Numba decides while it is imported what ``numba.cuda`` is."""
    from numba import config

    if config.ENABLE_CUDASIM:
        raise UsageError("Numba's own simulator is on: unset NUMBA_ENABLE_CUDASIM before Python starts, then try again")


__all__ = ["install", "trace", "uninstall"]


def __dir__() -> list[str]:
    """What there is to use."""
    return __all__
