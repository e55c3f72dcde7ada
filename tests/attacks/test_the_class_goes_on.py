"""Honest submissions that are graded while attacks run beside them have exactly the scores that they have alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.children import Children
from grader.sandbox.levels import LEVELS, reaches
from grader.sandbox.walls import VARIABLE, offer

from .arena import HONEST, Arena
from .attack_files import attacks

# What each variant of an honest file earns.
HONEST_ONES = {
    "right": (HONEST, 100),
    "wrong at the end": (HONEST.replace("if i < out.size:", "if i < out.size - 1:"), 0),
    "reads twice": (HONEST.replace("= 2 * x[i]", "= x[i] + x[i - 1 if i > 0 else 0] * 0 + x[i]"), 60),
    "wrong sum": (HONEST.replace("range(64):", "range(63):"), 40),
}
EACH = 5
# Each takes, fills, kills or floods something that those beside it need.
ATTACKERS = (
    *("harm/kills_the_judge", "harm/kills_the_parent", "harm/fork_bomb", "harm/memory", "harm/disk", "harm/output"),
    *("harm/threads", "harm/ignores_every_signal", "harm/writes_everywhere", "channel/writes_into_every_descriptor"),
)


@pytest.mark.parametrize("level", [LEVELS[-1], LEVELS[1]])
def test_twenty_honest_submissions_beside_ten_attacks(level: str, tmp_path: Path) -> None:
    if not reaches(offer().level, level):
        pytest.skip(f"not run: {'; '.join(offer().missing)}")
    known = {attack.name: attack for attack in attacks()}
    assert [name for name in ATTACKERS if name not in known] == []
    arena = Arena(tmp_path, Children())
    submitted = tmp_path / "submitted"
    expected = {}
    for kind, (text, points) in HONEST_ONES.items():
        for number in range(EACH):
            expected[f"{kind} {number}".replace(" ", "_")] = points
            folder = submitted / f"{kind} {number}".replace(" ", "_") / "01"
            folder.mkdir(parents=True)
            (folder / "kernels.py").write_text(text)
    for number, name in enumerate(ATTACKERS):
        # Among the others by name, so that they are judged between them.
        folder = submitted / f"{list(expected)[2 * number]}_attacked" / "01"
        folder.mkdir(parents=True)
        (folder / "kernels.py").write_text(arena.filled(known[name].text))
    before = arena.state()
    done = subprocess.run(
        [sys.executable, "-c", "from grader.cli import main; main()", "grade", "01", "--workers", "2"],
        cwd=tmp_path,
        env={**os.environ, VARIABLE: level},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done
    verdicts = {v["student"]: v for v in json.loads((tmp_path / "results/01.json").read_text())["verdicts"]}
    assert len(verdicts) == len(expected) + len(ATTACKERS) + 1  # the neighbour
    assert {name: verdicts[name]["total"] for name in expected} == expected
    after = arena.state()
    assert {name: after[name] for name in before if not name.startswith("results")} == {
        name: state for name, state in before.items() if not name.startswith("results")
    }
    assert arena.left_behind() == []
