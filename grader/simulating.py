"""Runs a script on the simulator, in a process of its own, and reads what its launches showed. Trusted process.

In: a script with its arguments, a GPU model. Out: its exit code and groups of launches. The script is the caller's own:
it runs with the caller's rights, as ``python SCRIPT`` would.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from grader.errors import UsageError
from grader.gpu_models import MODELS
from grader.records import Place
from grader.traces import FunctionText, LaunchGroup, LaunchTrace

CHILD = "grader.simulator.live"
_LAUNCH = TypeAdapter(LaunchTrace)
_PLACE = TypeAdapter(Place)
_TEXTS = TypeAdapter(tuple[FunctionText, ...])


@dataclass(frozen=True)
class Simulation:
    """What a script did: its exit code, its launches, the text of what they ran, and the JSON document of both.

    ``document`` is "" where there is none.
    """

    exit_code: int
    groups: tuple[LaunchGroup, ...] = ()
    texts: tuple[FunctionText, ...] = ()
    document: str = ""


def simulate(
    script: Path, args: Sequence[str], *, gpu: str, launch_seconds: float, output_to_stderr: bool = False
) -> Simulation:
    """Run ``script`` on the simulator. ``gpu`` is a key of ``gpu_models.MODELS``; a launch may take so much CPU time.

    ``output_to_stderr`` keeps standard output for whoever calls. Raises UsageError where there is no such script or
    model.
    """
    if gpu not in MODELS:
        raise UsageError(f"expected a GPU model of {', '.join(MODELS)}; found {gpu!r}")
    if not script.is_file():
        raise UsageError(f"expected a Python script, found no file {script}")
    with tempfile.TemporaryDirectory(prefix="warpgrade-simulate-") as folder:
        report = Path(folder) / "launches.json"
        command = [sys.executable, "-P", "-m", CHILD, "--report", str(report), "--gpu", gpu]
        command += ["--launch-seconds", str(launch_seconds), str(script), *args]
        child = subprocess.Popen(command, stdout=sys.stderr if output_to_stderr else None)  # noqa: S603
        with contextlib.suppress(KeyboardInterrupt):  # the script got it, too, and says what it has seen so far
            child.wait()
        code = child.wait()
        document = report.read_text(encoding="utf-8") if report.exists() else ""
    code = 128 - code if code < 0 else code
    if not document:
        return Simulation(code)
    found = json.loads(document)
    groups = tuple(_group(item) for item in found["launches"])
    return Simulation(code, groups, _TEXTS.validate_python(found["functions"]), document)


def _group(item: dict[str, Any]) -> LaunchGroup:
    fields = dict(item)
    times = fields.pop("times")
    lines = {_PLACE.validate_python(line["place"]): line["counters"] for line in fields.pop("lines")}
    return LaunchGroup(_LAUNCH.validate_python(fields | {"lines": lines}), times)
