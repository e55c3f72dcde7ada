"""A wall that fails for the moment: asked for again, and nobody is judged behind a weaker one than is demanded."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_course as tiny
from behind_a_wall import LIMITS

from grader.children import Children
from grader.classroom import Task, grade
from grader.course import load_course
from grader.errors import ChildFault
from grader.judging import judge_task
from grader.records import State
from grader.sandbox import landlock, nvidia, probe, wall_of_child, walls
from grader.sandbox.environment import PYTHON, RECORDER, RUNNER
from grader.sandbox.levels import Confinement
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

Bubblewrap = Callable[[str], Path]


@pytest.fixture
def bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bubblewrap:
    """Put a bwrap before the machine's: what it does, a line of shell, where ``$n`` is how often it was started."""
    monkeypatch.delenv(walls.VARIABLE, raising=False)
    found = walls.offer()
    if found.level != "isolated" or not landlock.version():
        pytest.skip(f"not run: {'; '.join(found.missing) or 'no Landlock'}")
    real = walls.shutil.which(walls.BUBBLEWRAP)

    def put(line: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / walls.BUBBLEWRAP
        count = f"echo >> {folder}/starts\nn=$(wc -l < {folder}/starts)"
        program.write_text(f'#!/bin/sh\n{count}\n{line}\nexec {real} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")
        return folder / "starts"

    return put


NO_SPACE = "{ echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1; }"


@pytest.mark.parametrize(
    ("fails", "said"), [(NO_SPACE, "No space left on device"), ("exec sleep 60", "no answer after 2 s")]
)
def test_a_failure_is_not_kept_and_what_works_is(
    bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch, fails: str, said: str
) -> None:
    monkeypatch.setattr(probe, "PROBE_SECONDS", 2.0)
    starts = bubblewrap(f"[ $n -gt 1 ] || {fails}")
    found = walls.offer()
    assert found.level == "restricted"
    assert said in found.missing[0]
    monkeypatch.setattr(probe, "PROBE_SECONDS", 60.0)
    assert walls.offer() == walls.offer() == walls.Offer("isolated")
    assert len(starts.read_text().splitlines()) == 2


def test_a_cuda_that_fails_for_the_moment_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["out of memory", "", "out of memory"]

    def ask(command: object, environment: object) -> str:
        if said := answers.pop(0):
            raise probe.NoAnswer(said)
        return ""

    monkeypatch.setattr(walls, "_offered", lambda strongest: walls.Offer("restricted"))
    monkeypatch.setattr(nvidia, "has_gpu", lambda: True)
    monkeypatch.setattr(wall_of_child, "_wall", lambda module, level: walls.Wall(level, ("tried in this test",)))
    monkeypatch.setattr(wall_of_child, "NO_WALL", walls.Wall("limits", ("tried in this test",)))
    monkeypatch.setattr(wall_of_child, "ask", ask)
    found = wall_of_child.offer_to(RUNNER)
    assert found.level == "limits"
    assert "out of memory" in found.missing[0]
    answers[:] = ["", "never asked"]
    assert wall_of_child.offer_to(RUNNER) == wall_of_child.offer_to(RUNNER) == walls.Offer("restricted")
    assert answers == ["never asked"]


def test_a_child_is_not_started_below_the_level_that_is_demanded_and_is_at_the_next_call(
    bubblewrap: Bubblewrap,
) -> None:
    bubblewrap(f"[ $n -gt 1 ] || {NO_SPACE}")
    with WarmChild(RECORDER) as child:
        child.demand("isolated")
        with pytest.raises(
            ChildFault, match=r"'isolated' is demanded, and 'restricted' .* \(.*No space left on device"
        ):
            child.call(Message({}), LIMITS)
        assert child.zygote is None
        child.call(Message({}), LIMITS)
        assert child.zygote is not None
        assert child.zygote.wall.level == "isolated"


def test_a_warm_child_behind_a_weaker_wall_than_is_demanded_is_ended(bubblewrap: Bubblewrap) -> None:
    bubblewrap(f"[ $n -gt 1 ] || {NO_SPACE}")
    with WarmChild(RECORDER) as child:
        child.call(Message({}), LIMITS)
        weaker = child.zygote
        assert weaker is not None
        assert weaker.wall.level == "restricted"
        child.demand("restricted")
        assert child.zygote is weaker
        child.demand("isolated")
        assert child.zygote is None
        assert not weaker.is_alive()


def test_a_worker_that_finds_a_weaker_wall_judges_nobody(tmp_path: Path, bubblewrap: Bubblewrap) -> None:
    root = tmp_path / "course"
    root.mkdir()
    course = load_course(tiny.write_course(root) / "course.yml")
    tiny.write_kernels(root / "submitted/ada/01")
    bubblewrap(NO_SPACE)
    task = Task(root / "solutions/01", root / "submitted/ada/01", "ada", "simulated", sandbox="isolated")
    (verdict,) = grade([task], course.assignment("01"), judge_task, workers=1)
    judged = [check for check in verdict.checks if not check.needs_gpu]
    assert judged
    for check in judged:
        assert check.state is State.NOT_JUDGED
        assert "'isolated' is demanded, and 'restricted' is what this machine reaches now" in check.reason
    assert verdict.total is None
    assert verdict.points_judged == 0


def test_children_demand_alike() -> None:
    with Children() as children:
        children.demand("isolated")
        assert children.recorder._demanded == children.runner._demanded == "isolated"


# A container that lets nobody install a filter: the system call, and prctl's way to the same.
NO_FILTERS = """
import ctypes, errno
from grader.sandbox import system_calls as s
library = s._library()
rules = ctypes.c_void_p(library.seccomp_init(s._ALLOW))
s._add(library, rules, s._ERRNO | errno.EPERM, "seccomp")
s._add(library, rules, s._ERRNO | errno.EPERM, "prctl", s._Argument(0, s._EQUALS, 22))
s._checked(library.seccomp_load(rules))
from grader.sandbox.wall_of_child import RECORDER, offer_to
found = offer_to(RECORDER)
print(found.level, *found.missing)
"""


def test_where_no_filter_can_be_installed_no_level_is_offered_that_needs_one(bubblewrap: Bubblewrap) -> None:
    done = subprocess.run([*PYTHON, "-c", NO_FILTERS], capture_output=True, text=True, check=True)
    level, _, why = done.stdout.partition(" ")
    assert level == "limits"
    for wall in ("isolated", "restricted"):
        assert re.search(rf"the wall of {wall!r} does not stand here: .*libseccomp", why)


@pytest.mark.parametrize(
    ("without", "said"), [("system_calls.give_up", "can make sockets"), ("landlock.restrict", "can read other files")]
)
def test_a_wall_that_keeps_nothing_out_is_seen(bubblewrap: Bubblewrap, without: str, said: str) -> None:
    what = Confinement(readable=("/usr", *sys.path), system_calls=True)
    text = f"""
        from grader.sandbox import confined_start, landlock, system_calls
        from grader.sandbox.levels import Confinement
        {without} = lambda *_, **__: None
        print(confined_start.why_not(Confinement.from_json({what.as_json()!r})))
    """
    done = subprocess.run([*PYTHON, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=True)
    assert said in done.stdout
