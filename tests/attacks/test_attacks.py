"""Every attack at every level of the wall that this machine has: no mark unearned, no secret seen, nothing harmed."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator

import processes
import pytest

from grader import judging
from grader.children import Children
from grader.sandbox.levels import LEVELS, reaches
from grader.sandbox.walls import VARIABLE, offer

from .arena import DONE, HONEST, Arena, earned, told
from .attack_files import Attack, attacks

# A check has two seconds of CPU time, three times as many of the wall's, and time-outs end after two.
SECONDS = 90
ATTACKS = attacks()
# Without their tricks, docstrings and comments many files are the same.
TWINS = tuple({ast.unparse(ast.parse(a.twin).body[1:]): a for a in ATTACKS if a.twin}.values())


@pytest.fixture(scope="module", params=LEVELS[1:])
def arena(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """A course, judged at a level."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(VARIABLE, raising=False)
        offered = offer()
        if not reaches(offered.level, request.param):
            pytest.skip(f"not run: {'; '.join(offered.missing)}")
        patch.setenv(VARIABLE, request.param)
        with Children() as children:
            patch.setattr(judging, "warm_children", lambda: children)
            arena = Arena(tmp_path_factory.mktemp("arena"), children)
            assert sum(earned(arena.judge(arena.submission(HONEST))).values()) == 100
            yield arena


@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_an_attack_earns_nothing_sees_nothing_and_harms_nothing(arena: Arena, attack: Attack) -> None:
    before, warm = arena.state(), arena.processes()
    began = time.monotonic()
    verdict = arena.judge(arena.submission(attack.text, attack.files, attack.links))
    assert time.monotonic() - began < SECONDS
    assert set(earned(verdict)) <= attack.deserves, told(verdict)
    seen = "".join([told(verdict), *arena.heard])
    assert arena.secret not in seen
    assert DONE not in seen
    assert arena.state() == before
    assert arena.left_behind() == []
    # The same as before, or those of a warm child that was started anew.
    assert processes.wait_until(lambda: len(arena.processes()) == len(warm), 10)


@pytest.mark.parametrize("attack", TWINS, ids=[attack.name for attack in TWINS])
def test_its_honest_twin_keeps_its_full_score(arena: Arena, attack: Attack) -> None:
    assert attack.twin is not None
    verdict = arena.judge(arena.submission(attack.twin))
    assert earned(verdict) == {"correctness": 60, "technique": 40}, told(verdict)


def test_what_an_attack_prints_in_a_hidden_check_is_heard(arena: Arena) -> None:
    verdict = arena.judge(arena.submission(HONEST + 'print("@DONE@")\n'))
    assert DONE not in told(verdict)
    assert DONE in "".join(arena.heard)


def test_each_file_names_what_it_tries() -> None:
    assert len({attack.tries for attack in ATTACKS}) == len(ATTACKS)
