"""What of an NVIDIA GPU's a process needs to use it through CUDA: files. Facts of a machine; trusted process.

In: the machine. Out: paths. What is opened when CUDA starts was read from a trace of its system calls (driver 580, an
H200). Other drivers, Windows' Linux and Jetson may need others: ``wall_of_child`` looks whether CUDA starts.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_CONTROL = Path("/dev/nvidiactl")
_UNIFIED_MEMORY = Path("/dev/nvidia-uvm")
_DRIVER = Path("/proc/driver/nvidia")
# NVIDIA's driver makes a file when it is first asked to, by this program, which root owns: nobody behind a wall can.
_MAKES_FILES = "nvidia-modprobe"
_SECONDS = 30.0
# Of Windows' Linux, and of Jetson: GPUs all the same.
_OTHER_GPUS = (Path("/dev/dxg"), Path("/dev/nvhost-ctrl"))
# What CUDA and NVIDIA's management library read to know the driver's settings, the processor and the memory.
READABLE = (
    *("/proc/self", "/proc/devices", "/proc/driver/nvidia", "/proc/sys/vm/mmap_min_addr"),
    *("/sys/module/nvidia/initstate", "/sys/module/nvidia_uvm/initstate"),
    *("/sys/devices/system/memory/block_size_bytes", "/sys/devices/system/node"),
)


def has_gpu() -> bool:
    """Whether a driver of a GPU's is loaded. May have it make its files."""
    _have_made(_CONTROL)
    return any(file.exists() for file in (_CONTROL, *_OTHER_GPUS))


def device_files() -> tuple[str, ...]:
    """The device files of this machine's GPUs. May have the driver make one that is not there yet."""
    _have_made(_UNIFIED_MEMORY)
    return tuple(sorted(str(file) for file in _candidates() if not file.is_dir()))


def _have_made(file: Path) -> None:
    """Have NVIDIA's driver make its files, where it is there and they are not yet."""
    if not file.exists() and _DRIVER.exists() and (program := shutil.which(_MAKES_FILES)) is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            # What came of it, the file says.
            subprocess.run([program, "-u", "-c", "0"], capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603


def _candidates() -> Iterator[Path]:
    if _CONTROL.exists():
        yield from (_CONTROL, _UNIFIED_MEMORY)
    yield from _CONTROL.parent.glob("nvidia[0-9]*")
    yield from _CONTROL.parent.glob("nvidia-caps/*")
