"""What calibration makes of races."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from grader.calibrate import FAST, REFERENCE, Raced, calibrate, contestants, proposal
from grader.records import CheckResult, Failure, Verdict


def verdict(*checks):
    return Verdict("", "03", "", "cuda", (), checks, None, 0, 0, "")


def check(name, speedup=None, failure=None):
    measured = {} if speedup is None else {"speedup": speedup, "median_ms": 10 / speedup}
    return CheckResult(name, "speed", 1.0, "", False, failure is None, failure=failure, measured=measured)


def test_everyone_is_raced_so_often_and_whoever_has_no_time_only_once():
    seen = []

    def judge(folder):
        text = (folder / "kernels.py").read_text()
        seen.append(text)
        if text == "wrong":
            return verdict(check("test_a", failure=Failure("wrong-values", "It is wrong.")))
        return verdict(check("test_a", 20 + len(seen)))

    done = []
    raced = calibrate({REFERENCE: "right", "bad": "wrong"}, judge, 3, lambda *told: done.append(told[:2]))
    assert seen == ["right", "wrong", "right", "right"]
    assert done[-1] == (5, 6)
    reference, bad = raced
    assert reference.speedups == (21, 23, 24)
    assert reference.row()[:2] == ("test_a", REFERENCE)
    assert bad.row() == ("test_a", "bad", "", "", "", "It is wrong.")


def test_the_minimum_leaves_a_slower_gpu_its_margin():
    found = proposal([Raced("test_a", REFERENCE, (90, 100), (1, 1)), Raced("test_b", REFERENCE, (400,), (1,))])
    assert found.min_speedup == 5  # a tenth of 90, by 1.5, is 6
    assert found.full_at == 0.5
    assert "test_a" in found.reason


def test_a_naive_kernel_near_the_reference_earns_no_full_points():
    reference = Raced("test_a", REFERENCE, (100,), (1,))
    naive = Raced("test_a", "no_tiles", (45,), (2,), "too many reads")
    assert proposal([reference, naive]).full_at == pytest.approx(0.7)  # 1.5 times 45 %, in twentieths
    assert proposal([reference, Raced("test_a", "no_tiles", (95,), (2,))]).full_at == pytest.approx(0.9)
    assert proposal([reference, Raced("test_a", FAST, (300,), (2,))]).full_at == 0.5


def test_without_a_time_of_the_reference_nothing_is_proposed():
    assert proposal([]) is None
    assert proposal([Raced("test_a", REFERENCE, (10,), (1,)), Raced("test_b", REFERENCE, why="too hot")]) is None


def test_contestants_are_the_reference_the_fast_one_and_the_wrong_ones(tmp_path):
    (tmp_path / "wrong").mkdir()
    for name in ("kernels.py", "fast.py", "wrong/no_tiles.py"):
        (tmp_path / name).write_text(name)
    assert contestants(tmp_path) == {REFERENCE: "kernels.py", FAST: "fast.py", "no_tiles": "wrong/no_tiles.py"}
