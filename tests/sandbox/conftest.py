"""Fixtures: a warm child whose jobs execute a text, found beside these tests however the package is installed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from grader.sandbox import launch
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.walls import VARIABLE
from grader.sandbox.warm_child import WarmChild

# A slow machine makes no test wrong.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

HERE = Path(__file__).parent
LIMITS = Limits(cpu_seconds=20, wall_seconds=30)

Run = Callable[..., Reply | Death]


@pytest.fixture(scope="session", autouse=True)
def _find_test_children() -> Iterator[None]:
    real = launch.child_environment

    def with_tests(module: str, home: Path) -> dict[str, str]:
        environment = real(module, home)
        return environment | {"PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], str(HERE)])}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "child_environment", with_tests)
        # These children do what no submission's may, to see that limits alone hold; test_walls.py has the walls.
        patch.setenv(VARIABLE, "limits")
        yield


@pytest.fixture(scope="session")
def child(_find_test_children: None) -> Iterator[WarmChild]:
    with WarmChild("scripted_child") as child:
        yield child


@pytest.fixture
def run(child: WarmChild) -> Run:
    """Execute a text in a job."""

    def run(text: str, limits: Limits = LIMITS) -> Reply | Death:
        return child.call(Message({"python": text}), limits)

    return run


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(scope="session")
def is_alive() -> Callable[[int], bool]:
    """Whether a process exists and is no zombie."""
    return _is_alive


@pytest.fixture(scope="session")
def assert_dies() -> Callable[[int], None]:
    """Wait until a process is gone, but not for long."""

    def wait(pid: int) -> None:
        deadline = time.monotonic() + 5
        while _is_alive(pid):
            assert time.monotonic() < deadline, f"process {pid} lives on"
            time.sleep(0.01)

    return wait
