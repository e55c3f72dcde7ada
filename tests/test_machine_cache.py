"""What is kept of a machine: nothing is lost when several judges keep something at the same moment."""

# mypy: ignore-errors
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

KEEPS = """\
import sys
from pathlib import Path
from grader import machine_cache
machine_cache.user_cache_path = lambda _: Path(sys.argv[1])
for number in range(50):
    machine_cache.keep("times", float, f"{sys.argv[2]} {number}", float(number))
"""


def test_judges_that_keep_at_the_same_moment_lose_nothing(tmp_path: Path) -> None:
    environment = dict(os.environ, PYTHONPATH=str(Path(__file__).parents[1]))
    judges = [
        subprocess.Popen([sys.executable, "-c", KEEPS, str(tmp_path), str(who)], env=environment) for who in range(3)
    ]
    assert [judge.wait(60) for judge in judges] == [0, 0, 0]
    assert len(json.loads((tmp_path / "times.json").read_text())) == 150
    assert {file.name for file in tmp_path.iterdir()} == {"times.json", "times.lock"}
