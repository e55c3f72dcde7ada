"""Fixtures: a recorder behind each wall that this machine has, and what a student's Python finds behind it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator

import numpy as np
import pytest
from behind_a_wall import LIMITS, PRELUDE, WITHOUT_LANDLOCK, Seen

from grader.gpu_models import DEFAULT
from grader.problem import Output
from grader.records import Failure
from grader.sandbox import landlock
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.record import Call, record
from grader.sandbox.walls import VARIABLE, offer
from grader.sandbox.warm_child import WarmChild

WALLS: tuple[SandboxLevel, ...] = LEVELS[1:]


@pytest.fixture(scope="module", params=[*WALLS, WITHOUT_LANDLOCK])
def wall(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each level above "limits" that this machine offers, and one as an older kernel has it."""
    level = "isolated" if request.param == WITHOUT_LANDLOCK else request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        offered = offer()
        if not reaches(offered.level, level):
            pytest.skip(f"not run: {'; '.join(offered.missing)}")
        patch.setenv(VARIABLE, level)
        if request.param == WITHOUT_LANDLOCK:
            patch.setattr(landlock, "version", lambda: 0)
        yield request.param


@pytest.fixture(scope="module")
def recorder(wall: str) -> Iterator[WarmChild]:
    """A recorder behind that wall."""
    with WarmChild("grader.recorder") as child:
        yield child


@pytest.fixture(scope="module")
def seen(recorder: WarmChild) -> Seen:
    """Run a text as a student's kernels.py; what it put into ``seen``."""

    def run(text: str) -> dict[str, list[str]]:
        heard: list[str] = []
        source = PRELUDE + textwrap.dedent(text) + "\ndef f(out):\n    print(json.dumps(seen))\n    kernel[1, 1](out)\n"
        call = Call("f", {"out": Output((1,), np.float32)})
        plans = record(recorder, source.encode(), [call], DEFAULT, LIMITS, heard.append)
        assert not isinstance(plans, Failure), plans
        found: dict[str, list[str]] = json.loads(heard[0].splitlines()[-1])
        return found

    return run
