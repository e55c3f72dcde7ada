"""What calibration makes of races."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from grader.calibrate import FAST, REFERENCE, Raced, calibrate, contestants, proposal
from grader.records import CheckResult, Failure, Verdict

HERE = {"limited_by_memory": 1.0, "peak_gb_per_s": 3000.0, "peak_gflop_per_s": 64000.0, "baseline_threads": 4.0}


def verdict(*checks):
    return Verdict("", "03", "", "cuda", (), checks, None, 0, 0, "")


def check(name, speedup=None, failure=None):
    measured = {} if speedup is None else {"speedup": speedup, "median_ms": 10 / speedup} | HERE
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


def test_the_minimum_leaves_a_small_gpu_its_margin():
    slow, fast = (
        Raced("test_a", REFERENCE, (90, 100), (1, 1), "", 0.1),
        Raced("test_b", REFERENCE, (400,), (1,), "", 0.1),
    )
    found = proposal([slow, fast])
    assert found.min_speedup == 5  # a tenth of 90, by 1.5, is 6
    assert found.full_at == 0.5
    assert "test_a" in found.reason
    # What is slowest here need not be slowest there.
    assert "test_b" in proposal([slow, Raced("test_b", REFERENCE, (400,), (1,), "", 0.01)]).reason


@pytest.mark.parametrize(
    ("here", "share"),
    [
        ({}, 0.1),  # 300 of 3000 GB/s
        ({"limited_by_memory": 0.0}, 0.25),  # 8 of 64 TFLOP/s, beside half as many threads
        ({"limited_by_memory": 0.0, "baseline_threads": 1.0}, 0.125),
        ({"peak_gb_per_s": 200.0}, 1.0),
    ],
)
def test_a_small_gpu_is_slower_as_the_limit_says_that_the_kernel_is_under(here, share):
    one = check("test_a", 20)
    one.measured.update(here)
    (raced,) = calibrate({REFERENCE: "right"}, lambda folder: verdict(one), 1, lambda *told: None)
    assert raced.on_small == pytest.approx(share)


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
