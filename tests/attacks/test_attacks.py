"""Every attack behind the walls that this machine has: no mark unearned, no secret seen, nothing harmed."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator

import processes
import pytest

from grader import judging
from grader.children import Children
from grader.records import State
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.walls import VARIABLE, offer

from .arena import DONE, HONEST, Arena, earned, told
from .attack_files import PARTS, Attack, attacks

# A check has two seconds of CPU time, three times as many of the wall's, and time-outs end after two.
SECONDS = 90
# That the course has.
CHECKS = 2
ATTACKS = attacks()
# What these try is met by the judge, whatever is around its children: they are judged at the strongest level alone.
NEED_NO_WALL = frozenset(("cheaper", "raced", "replay", "split"))


def strongest() -> SandboxLevel:
    """The strongest level that this machine has, whatever is asked of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        return offer().level


def at_their_levels(chosen: Iterable[Attack]) -> list[tuple[SandboxLevel, Attack]]:
    """Each attack with each level at which it is to be judged, level by level."""
    best = strongest()
    return [
        (level, attack)
        for level in LEVELS[1:]
        for attack in chosen
        if level == best or attack.family not in NEED_NO_WALL
    ]


def named(value: SandboxLevel | Attack) -> str:
    """What a test is called for it."""
    return value.name if isinstance(value, Attack) else value


def different_twins() -> Iterator[Attack]:
    """Without their tricks, docstrings and comments most files are the same: the first of each, where walls count."""
    known = set()
    for attack in sorted(ATTACKS, key=lambda attack: attack.family in NEED_NO_WALL):
        text = ast.unparse(ast.parse(attack.twin).body[1:])
        if text not in known:
            known.add(text)
            yield attack


@pytest.fixture(scope="module")
def arenas() -> Iterator[dict[SandboxLevel, Arena]]:
    """The courses that there are, by level: children of each are warm at once, whatever order tests come in."""
    made: dict[SandboxLevel, Arena] = {}
    yield made
    for arena in made.values():
        arena.children.close()


@pytest.fixture
def arena(
    request: pytest.FixtureRequest,
    arenas: dict[SandboxLevel, Arena],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Arena:
    """A course, judged at a level."""
    level: SandboxLevel = request.param
    monkeypatch.delenv(VARIABLE, raising=False)
    offered = offer()
    if not reaches(offered.level, level):
        pytest.skip(f"not run: {'; '.join(offered.missing)}")
    monkeypatch.setenv(VARIABLE, level)
    is_new = level not in arenas
    if is_new:
        arenas[level] = Arena(tmp_path_factory.mktemp("arena"), Children())
    arena = arenas[level]
    monkeypatch.setattr(judging, "warm_children", lambda: arena.children)
    if is_new:
        assert sum(earned(arena.judge(arena.submission(HONEST))).values()) == 100
        zygotes = (arena.children.recorder.zygote, arena.children.runner.zygote)
        assert [zygote.wall.level for zygote in zygotes if zygote is not None] == [level, level]
    return arena


@pytest.mark.parametrize(("arena", "attack"), at_their_levels(ATTACKS), indirect=["arena"], ids=named)
def test_an_attack_earns_nothing_sees_nothing_and_harms_nothing(arena: Arena, attack: Attack) -> None:
    before, warm = arena.state(), arena.processes()
    began = time.monotonic()
    verdict = arena.judge(arena.submission(attack.text, attack.files, attack.links))
    assert time.monotonic() - began < SECONDS
    assert len(verdict.checks) == CHECKS
    assert {check.state for check in verdict.checks} == {State.JUDGED}, told(verdict)
    assert set(earned(verdict)) <= attack.deserves, told(verdict)
    failures = [check.failure.kind for check in verdict.checks if check.failure is not None]
    if failures:
        assert failures[0] in attack.seen_as, told(verdict)
    else:
        assert attack.deserves == PARTS, told(verdict)
    seen = "".join([told(verdict), *arena.heard])
    assert arena.secret not in seen
    assert DONE not in seen
    assert arena.state() == before
    assert arena.left_behind() == []
    # The same as before, or those of a warm child that was started anew.
    assert processes.wait_until(lambda: len(arena.processes()) == len(warm), 10)


@pytest.mark.parametrize(("arena", "attack"), at_their_levels(different_twins()), indirect=["arena"], ids=named)
def test_its_honest_twin_keeps_its_full_score(arena: Arena, attack: Attack) -> None:
    verdict = arena.judge(arena.submission(attack.twin))
    assert earned(verdict) == {"correctness": 60, "technique": 40}, told(verdict)


@pytest.mark.parametrize("arena", LEVELS[1:], indirect=True)
def test_what_an_attack_prints_in_a_hidden_check_is_heard(arena: Arena) -> None:
    verdict = arena.judge(arena.submission(HONEST + 'print("@DONE@")\n'))
    assert DONE not in told(verdict)
    assert DONE in "".join(arena.heard)


def test_each_file_names_what_it_tries() -> None:
    assert len({attack.tries for attack in ATTACKS}) == len(ATTACKS)
