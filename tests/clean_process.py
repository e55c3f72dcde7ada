"""Runs Python as a command would, in a process forked from a clean one that has nbgrader and us imported already.

They take four seconds to import; tests of them start many processes, since what changes nbgrader must stay in one.
Importing changes nothing: nbgrader_config.py does.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

SECONDS = 120
PRELOADED = [
    "nbgrader.apps.nbgraderapp",
    "nbgrader.server_extensions.formgrader.formgrader",
    "grader.nbgrader_plugin",
    "grader.cli",
]


def run(code: str, *arguments: str, cwd: Path, env: Mapping[str, str], out: Path) -> subprocess.CompletedProcess[str]:
    """What ``python -c code arguments`` gives; ``out`` is a folder for its output. Raises TimeoutError."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    files = (out / "stdout", out / "stderr")
    process = context.Process(target=_child, args=(code, arguments, str(cwd), dict(env), *map(str, files)))
    process.start()
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"still running after {SECONDS} s: {arguments}")
    texts = [file.read_text(encoding="utf-8") for file in files]
    return subprocess.CompletedProcess(["-c", *arguments], process.exitcode, *texts)


def _child(code: str, arguments: tuple[str, ...], cwd: str, env: dict[str, str], out: str, err: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, path in ((1, out), (2, err)):
        with Path(path).open("wb") as file:
            os.dup2(file.fileno(), number)
    sys.argv = ["-c", *arguments]
    sys.path.insert(0, "")
    status = 1
    try:
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
