"""Which wall a machine offers, what it is made of, and what is said where a stronger one is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import pytest
import tiny_course as tiny

from grader import doctor
from grader.class_sandbox import require_sandbox
from grader.course import load_course
from grader.errors import ChildFault, UsageError
from grader.sandbox import environment, landlock, nvidia, probe, system_calls, wall_of_child, walls
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.probe import NoAnswer
from grader.sandbox.wall_of_child import RECORDER, RUNNER, offer_to


@pytest.fixture(autouse=True)
def _without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(walls.VARIABLE, raising=False)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make this machine a Linux with these parts, on which walls of these levels ``stand``."""

    def make(bubblewrap: bool, landlock_version: int, libseccomp: bool, stand: Collection[SandboxLevel]) -> None:
        def attempt(wall: walls.Wall) -> None:
            if wall.level not in stand:
                raise NoAnswer("seccomp_load failed")

        monkeypatch.setattr(walls.sys, "platform", "linux")
        monkeypatch.setattr(walls, "BUBBLEWRAP", "true" if bubblewrap else "no-such-program")
        monkeypatch.setattr(landlock, "version", lambda: landlock_version)
        monkeypatch.setattr(system_calls, "is_known", lambda: libseccomp)
        monkeypatch.setattr(walls, "_try", attempt)

    return make


@pytest.mark.parametrize(
    ("bubblewrap", "landlock_version", "libseccomp", "stand", "level", "missing"),
    [
        (True, 7, True, LEVELS, "isolated", ""),
        (True, 0, True, LEVELS, "isolated", ""),
        (False, 1, True, LEVELS, "restricted", "bubblewrap is missing"),
        (False, 0, True, LEVELS, "limits", "no Landlock"),
        (True, 7, False, LEVELS, "limits", "libseccomp"),
        (True, 7, True, ["restricted"], "restricted", "the wall of 'isolated' does not stand here: seccomp_load"),
        (False, 7, True, [], "limits", "the wall of 'restricted' does not stand here: seccomp_load"),
        (True, 0, True, [], "limits", "no Landlock"),
    ],
)
def test_a_level_is_what_its_parts_allow_and_what_stands(
    parts: Callable[..., None],
    bubblewrap: bool,
    landlock_version: int,
    libseccomp: bool,
    stand: Collection[SandboxLevel],
    level: SandboxLevel,
    missing: str,
) -> None:
    parts(bubblewrap, landlock_version, libseccomp, stand)
    offer = walls.offer()
    assert offer.level == level
    assert missing in " ".join(offer.missing)
    assert bool(offer.missing) == (level != "isolated")
    notes = [row for row in doctor._sandbox() if row.what == "sandbox"]
    assert f"level {level!r}" in notes[0].note
    assert all(any(why in row.note for row in notes) for why in offer.missing)


def test_other_systems_have_limits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls.sys, "platform", "darwin")
    assert walls.offer() == walls.Offer("limits", ("stronger levels need Linux",))


@pytest.mark.parametrize("wanted", LEVELS)
def test_a_variable_makes_it_weaker_never_stronger(
    parts: Callable[..., None], monkeypatch: pytest.MonkeyPatch, wanted: SandboxLevel
) -> None:
    parts(True, 7, True, LEVELS[:2])
    monkeypatch.setenv(walls.VARIABLE, wanted)
    assert walls.offer().level == ("restricted" if wanted == "isolated" else wanted)


def test_a_variable_asks_for_no_level_that_the_machine_lacks(
    parts: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts(True, 0, True, LEVELS)  # "isolated" is there, and without Landlock nothing else
    monkeypatch.setenv(walls.VARIABLE, "restricted")
    found = walls.offer()
    assert found.level == "limits"
    assert "no Landlock" in " ".join(found.missing)


@pytest.mark.parametrize("offered", LEVELS)
@pytest.mark.parametrize("demanded", LEVELS)
def test_a_class_is_graded_at_the_level_that_the_course_demands_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, offered: SandboxLevel, demanded: SandboxLevel
) -> None:
    file = tmp_path / "course.yml"
    file.write_text(f"grading: {{sandbox: {demanded}}}\n{tiny.COURSE}")
    course = load_course(file)
    monkeypatch.setattr(walls, "_offered", lambda strongest: walls.Offer(offered, ("something is missing",)))
    monkeypatch.setattr(nvidia, "has_gpu", lambda: False)
    if reaches(offered, demanded):
        at = f"students' Python and kernels run at the sandbox level {offered!r}, not 'isolated' (something is missing)"
        assert require_sandbox(course) == ("" if offered == "isolated" else at)
    else:
        with pytest.raises(UsageError, match="something is missing"):
            require_sandbox(course)


@pytest.fixture
def beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[Collection[SandboxLevel]], None]:
    """Say at which levels CUDA starts on this machine, which is made one with a GPU and every level."""

    def say(starts_at: Collection[SandboxLevel]) -> None:
        monkeypatch.setattr(walls, "_offered", lambda strongest: walls.Offer("isolated"))
        monkeypatch.setattr(nvidia, "has_gpu", lambda: True)
        monkeypatch.setattr(wall_of_child, "_wall", lambda module, level: walls.Wall(level))
        monkeypatch.setattr(
            wall_of_child, "_why_no_cuda", lambda wall: "" if wall.level in starts_at else "cuInit gives error 304"
        )

    return say


@pytest.mark.parametrize(
    ("starts_at", "level"),
    [(LEVELS, "isolated"), (LEVELS[:2], "restricted"), (LEVELS[:1], "limits"), ((), "isolated")],
)
def test_what_runs_kernels_is_behind_the_strongest_wall_that_cuda_starts_behind(
    beside_a_gpu: Callable[[Collection[SandboxLevel]], None], starts_at: Collection[SandboxLevel], level: SandboxLevel
) -> None:
    beside_a_gpu(starts_at)
    found = offer_to(RUNNER)
    assert found.level == level
    assert bool(found.missing) == (level != "isolated")
    assert all("cuInit gives error 304" in why for why in found.missing)
    assert offer_to(RECORDER) == walls.Offer("isolated")
    notes = [row.note for row in doctor._sandbox()]
    assert any(f"runs kernels is at level {level!r}" in note for note in notes) == (level != "isolated")
    assert all(why in notes for why in found.missing)


def test_what_compiles_kernels_counts_too(
    beside_a_gpu: Callable[[Collection[SandboxLevel]], None], tmp_path: Path
) -> None:
    file = tmp_path / "course.yml"
    file.write_text(f"grading: {{sandbox: restricted}}\n{tiny.COURSE}")
    beside_a_gpu(["limits"])
    with pytest.raises(UsageError, match=r"students' kernels this machine reaches 'limits' \(.*cuInit gives error 304"):
        require_sandbox(load_course(file))
    beside_a_gpu(["restricted", "limits"])
    assert require_sandbox(load_course(file)).startswith("students' kernels run at the sandbox level 'restricted', not")


def test_a_clone_beside_the_package_is_not_readable_and_its_package_is(tmp_path: Path) -> None:
    course, installed = tmp_path / "course", tmp_path / "installed"
    for folder in (course / "grader", course / "solutions", installed / "numpy", installed / "numpy-2.dist-info"):
        folder.mkdir(parents=True)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nprintf \'["", "relative", "/none", "{course}", "{installed}"]\'\n')
    python.chmod(0o755)
    found = environment.folders_searched_by((str(python),), {}, ("grader", "numpy"))
    assert found == (course / "grader", installed)


@pytest.mark.parametrize("python", ["/no/such/python", "/bin/false"])
def test_a_python_that_does_not_answer_is_a_fault_in_a_sentence(python: str) -> None:
    with pytest.raises(ChildFault, match="where its modules are"):
        environment.folders_searched_by((python,), {}, ("grader",))


def test_a_python_that_takes_too_long_is_a_fault_and_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    once = f'[ -e "{tmp_path}/asked" ] || {{ : > "{tmp_path}/asked"; exec /bin/sleep 60; }}'
    python.write_text(f"#!/bin/sh\n{once}\necho []\n")
    python.chmod(0o755)
    monkeypatch.setattr(probe, "PROBE_SECONDS", 1.0)
    with pytest.raises(ChildFault, match="where its modules are: no answer after 1 s"):
        environment.folders_searched_by((str(python),), {}, ())
    assert environment.folders_searched_by((str(python),), {}, ()) == ()


def test_a_loader_that_takes_too_long_names_no_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ldconfig"
    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(probe, "PROBE_SECONDS", 0.5)
    assert walls._library_folders() == set()


def test_without_a_wall_nobody_is_asked_where_modules_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wall_of_child, "searched_folders", lambda _: pytest.fail("asked"))
    assert wall_of_child._wall(RECORDER, "limits") == walls.NO_WALL
