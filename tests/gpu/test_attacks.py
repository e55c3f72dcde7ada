"""Attacks that need a GPU: kernels that are honest until they are raced, and those that harm the GPU.

The families run at the strongest level of the wall that the machine has. All others are judged without a GPU, too
(tests/attacks).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attacks.arena import DONE, HONEST, Arena, earned, told
from attacks.attack_files import Attack, attacks

from grader import judging
from grader.children import Children
from grader.records import State
from grader.sandbox.walls import offer

FULL = {"correctness": 40, "technique": 30, "speed": 30}
RACED = [attack for attack in attacks() if attack.name.startswith("raced/")]
# Of what harms no GPU, these concern the runner, which compiles and launches.
HARM = [
    attack
    for attack in attacks()
    if attack.name.removeprefix("harm/")
    in ("deep_nesting", "endless_kernel", "giant_constant", "huge_allocation", "illegal_address", "nested_expression")
]


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """A course with a race, judged as it is where nobody says how."""
    with pytest.MonkeyPatch.context() as patch, Children() as children:
        if children.gpu_name() is None:
            pytest.skip("not run: no GPU")
        patch.setattr(judging, "warm_children", lambda: children)
        arena = Arena(tmp_path_factory.mktemp("arena"), children, raced=True)
        verdict = arena.judge(arena.submission(HONEST))
        assert earned(verdict) == FULL, told(verdict)
        assert children.runner.zygote is not None
        assert children.runner.zygote.wall.level == offer().level
        yield arena


@pytest.mark.timeout(300)
@pytest.mark.parametrize("attack", [*RACED, *HARM], ids=lambda attack: attack.name)
def test_who_is_honest_until_it_counts_earns_no_speed(arena: Arena, attack: Attack) -> None:
    before = arena.state()
    verdict = arena.judge(arena.submission(attack.text, attack.files, attack.links))
    # A race may wait for a GPU that others use; nothing else may stay without a judgement.
    assert [check.name for check in verdict.checks if check.part != "speed" and check.state is not State.JUDGED] == []
    # What is right wherever it is looked at may be raced.
    may_be_fast = {"speed"} if attack in HARM and "correctness" in attack.deserves else set()
    assert set(earned(verdict)) <= attack.deserves | may_be_fast, told(verdict)
    seen = "".join([told(verdict), *arena.heard])
    assert arena.secret not in seen
    assert arena.state() == before
    assert arena.left_behind() == []
    if attack.name not in ("raced/prints",):
        assert DONE not in seen


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "attack",
    [a for a in [*RACED, *HARM] if a.name.endswith(("endless", "illegal_address", "prints", "huge_allocation"))],
    ids=lambda attack: attack.name,
)
def test_the_next_submission_gets_its_full_score(arena: Arena, attack: Attack) -> None:
    arena.judge(arena.submission(attack.text, attack.files, attack.links))
    verdict = arena.judge(arena.submission(HONEST))
    assert earned(verdict) == FULL, told(verdict)
