"""A plan carried out on the GPU by a runner under NVIDIA's compute-sanitizer. Trusted process.

In: the program, one of its tools, a plan and its inputs. Out: the outcome, and what the tool wrote.

The checker starts the runner, sees every process that it forks, and writes its log when the runner has ended. So each
plan gets a runner of its own, and a log by itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from grader.device_names import LineInfo
from grader.errors import ChildFault
from grader.gpu_models import GpuModel
from grader.plan import LaunchPlan
from grader.problem import Inputs
from grader.records import Outcome
from grader.sandbox.limits import Limits
from grader.sandbox.run import run
from grader.sandbox.warm_child import WarmChild
from grader.sanitizer_log import MAX_LOG, MAX_RECORDS

PROGRAM = "compute-sanitizer"
# Where NVIDIA's installer puts the toolkit, which few have on their PATH.
TOOLKIT = Path("/usr/local/cuda/bin")
VERSION_SECONDS = 60.0
# From the end of the runner to that of the checker, which sorts what it has found.
CLOSE_SECONDS = 60.0
# The checker waits so long for the runner's first call of the driver: importing Numba may take minutes.
CONNECT_SECONDS = 600
# An array ends with so many bytes that are nobody's: without them, what is behind one is the next.
PADDING_BYTES = 512


def find_program() -> Path | None:
    """The installed compute-sanitizer: the one on the PATH, else that of the toolkit's usual place."""
    found = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=str(TOOLKIT))
    return None if found is None else Path(found)


def version_of(program: Path) -> str:
    """What the program says its version is, say "2025.3.1.0"; "of unknown version" if it does not."""
    try:
        done = subprocess.run(  # noqa: S603
            [program, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "of unknown version"
    found = re.search(r"[Vv]ersion (\d[\d.]{0,30})", done.stdout, re.ASCII)
    return found[1] if found else "of unknown version"


def run_sanitized(
    program: Path,
    tool: str,
    source: bytes,
    plan: LaunchPlan,
    inputs: Inputs,
    fill: Mapping[str, npt.NDArray[Any]],
    gpu: GpuModel,
    limits: Limits,
    line_info: LineInfo,
) -> tuple[Outcome, str]:
    """What came of the plan, and the tool's log: at most a character more than ``MAX_LOG``, "" if it wrote none.

    Raises errors.Fault as ``run`` does, and where the runner cannot be started under the tool.
    """
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as folder:
        log = Path(folder) / "log"
        child = WarmChild("grader.runner", under=_command(program, tool, log), close_seconds=CLOSE_SECONDS)
        try:
            with child:
                (outcome,) = run(child, source, plan, inputs, [fill], gpu, "cuda", limits, line_info=line_info)
        except ChildFault as fault:
            said = " ".join(_read(log).split())[:500]
            raise ChildFault(f"{fault}; {tool} wrote: {said}" if said else str(fault)) from fault
        return outcome, _read(log)


def _command(program: Path, tool: str, log: Path) -> list[str]:
    command = [str(program), "--tool", tool, "--target-processes", "all"]
    command += ["--log-file", str(log).replace("%", "%%"), "--print-limit", str(MAX_RECORDS)]
    # Frames of the host would be the runner's own.
    command += ["--show-backtrace", "device", "--launch-timeout", str(CONNECT_SECONDS)]
    return [*command, "--padding", str(PADDING_BYTES)] if tool == "memcheck" else command


def _read(log: Path) -> str:
    try:
        with log.open(encoding="utf-8", errors="replace") as text:
            return text.read(MAX_LOG + 1)
    except FileNotFoundError:
        return ""
