"""A compute-sanitizer that looks at nothing: it runs what it is given, then writes a log that was made before.

The log is ``LOGS/<tool>-<kernel>.log`` of a kernel that ran, else one that says that nothing was found. Made into a
program by ``conftest.sanitizer_program``, which fills in the names in capitals.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOGS = Path("LOGS")
HERE = "HERE"
CLEAN = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
}


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        print("NVIDIA (R) Compute Sanitizer\nVersion 2025.3.1.0 (build 1) (public-release)")
        return 0
    options = {}
    while arguments[0].startswith("--"):
        options[arguments[0]] = arguments[1]
        arguments = arguments[2:]
    ran = LOGS / f"ran.{os.getpid()}"
    command = [{"grader.runner": "fake_sanitized_runner"}.get(each, each) for each in arguments]
    paths = os.pathsep.join([os.environ["PYTHONPATH"], HERE])
    subprocess.call(command, close_fds=False, env={**os.environ, "PYTHONPATH": paths, "FAKE_SANITIZED": str(ran)})
    tool = options["--tool"]
    kernels = ran.read_text().split() if ran.exists() else []
    logs = [LOGS / f"{tool}-{kernel}.log" for kernel in kernels]
    text = next(
        (log.read_text() for log in logs if log.exists()), f"========= COMPUTE-SANITIZER\n========= {CLEAN[tool]}\n"
    )
    Path(options["--log-file"].replace("%%", "%")).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
