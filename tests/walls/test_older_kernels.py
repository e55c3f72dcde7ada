"""Behind Landlock as older kernels have it: what it does not know yet is refused all the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from grader.sandbox import landlock, system_calls
from grader.sandbox.environment import PYTHON, child_environment

PROGRAM = """
import errno, json, os, sys
from grader.sandbox import landlock, system_calls
from grader.sandbox.confine import confine
from grader.sandbox.levels import Confinement
version, victim, closed = json.loads(sys.argv[1])
landlock.version = lambda: version
assert system_calls.is_known()  # the library is loaded: its file may not be read later
confine(Confinement((victim, closed), system_calls=True))
seen = {}
for flags in ("O_RDONLY", "O_RDONLY|O_TRUNC", "O_WRONLY", "O_RDWR", "O_WRONLY|O_TRUNC", "O_RDONLY|O_CREAT"):
    try:
        os.close(os.open(victim, sum(getattr(os, flag) for flag in flags.split("|"))))
        seen[flags] = "done"
    except OSError as error:
        seen[flags] = errno.errorcode[error.errno]
print(json.dumps(seen))
"""


@pytest.mark.skipif(not landlock.version() or not system_calls.is_known(), reason="not run: no Landlock")
@pytest.mark.parametrize("version", [1, 2, 3, 5, 99])
def test_a_file_that_may_be_read_can_be_neither_written_nor_emptied(tmp_path: Path, version: int) -> None:
    victim = tmp_path / "module.py"
    victim.write_text("contents")
    # Below a folder that is a file: what cannot be reached is left out, and keeps nobody from being confined.
    given = json.dumps([min(version, landlock.version()), str(victim), str(victim / "none")])
    done = subprocess.run(
        [*PYTHON, "-c", PROGRAM, given],
        env=child_environment("grader.recorder", Path("/")),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not done.returncode, done.stderr
    seen = json.loads(done.stdout)
    assert seen.pop("O_RDONLY") == "done"
    assert set(seen.values()) <= {"EPERM", "EACCES"}, seen
    assert victim.read_text() == "contents"
