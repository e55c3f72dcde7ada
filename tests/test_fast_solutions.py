"""solutions/NN/fast.py beyond what the checks ask: sizes that reach every kernel, and what makes these kernels fast.

That they pass all checks like any submission is a promise of ``grader lint``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.assignment_folder import import_by_path, open_folder
from grader.children import Children
from grader.course import load_course
from grader.judge import Candidate, Settings
from grader.records import Severity
from grader.release import release
from grader.sandbox.limits import Limits
from grader.submission import read_submission
from grader.technique import Run

ROOT = Path(__file__).parents[1]
NAMES = ("01", "02", "03", "04")


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as made:
        yield made


@pytest.fixture
def candidate(children: Children, tmp_path: Path) -> Callable[[str], Candidate]:
    """``candidate("03")`` is solutions/03/fast.py as a submission."""

    def make(name: str) -> Candidate:
        folder = ROOT / "solutions" / name
        shutil.copy(folder / "fast.py", tmp_path / "kernels.py")
        settings = Settings(device="simulated", seed=11, limits=Limits(cpu_seconds=60, memory_bytes=2 << 30))
        return Candidate(read_submission(tmp_path), open_folder(folder).problems, children, settings)

    return make


def simulated(candidate: Callable[[str], Candidate], name: str, entry: str, **sizes: Any) -> Run:
    """The counters of a call whose result is right and in which the simulator finds no error and no warning."""
    run = candidate(name).simulate(entry, **sizes)
    assert [str(f) for f in run.findings if f.severity is not Severity.ADVICE] == []
    return run


@pytest.mark.parametrize("entry", ["vector_add", "saxpy"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1026, 4096, 330_003])
def test_fours_and_what_is_left_of_them_are_added(candidate, entry, n):
    run = simulated(candidate, "01", entry, n=n)
    assert run["global_loads"] == 2 * n
    assert run["global_stores"] == n


def test_a_warp_moves_512_bytes_with_one_instruction(candidate):
    for entry in ("vector_add", "saxpy"):
        run = simulated(candidate, "01", entry, n=1 << 15)
        assert run["sectors_per_load_request"] == run["sectors_per_store_request"] == 16
        assert run["sectors_per_32_loads"] == run["sectors_per_32_stores"] == 4


@pytest.mark.parametrize(("height", "width"), [(1, 4), (2, 2), (64, 48), (3, 5), (1, 1), (130, 77)])
def test_pixels_are_grey_in_words_and_one_by_one(candidate, height, width):
    words = height * width % 4 == 0
    run = simulated(candidate, "01", "grayscale", height=height, width=width)
    assert run["global_loads"] == height * width * 3  # bytes, however many at once
    assert run["busiest_thread"] == (16 if words else 4)


@pytest.mark.parametrize("entry", ["reduce_sum", "reduce_max"])
@pytest.mark.parametrize("n", [1, 4, 7, 2047, 2048, 2051, 70_000])
def test_a_reduction_reads_each_element_once_with_one_barrier(candidate, entry, n):
    run = simulated(candidate, "02", entry, n=n)
    assert run["global_loads"] == n
    assert run["global_atomics"] == run["blocks"]
    assert run["barriers"] == run["threads"]


def test_a_reduction_goes_on_where_the_grid_ends(candidate):
    simulated(candidate, "02", "reduce_sum", n=2112 * 512 * 4 + 4 * 700 + 3)


# ------------------------------------------------------------------ matmul

WHOLE = [(128, 16, 128), (128, 48, 256), (256, 32, 128)]


@pytest.mark.parametrize(("m", "k", "n"), WHOLE)
def test_whole_tiles_read_each_element_once_per_tile_of_128(candidate, m, k, n):
    run = simulated(candidate, "03", "matmul", m=m, k=k, n=n)
    assert run["loads_of_a"] == m * k * n / 128
    assert run["loads_of_b"] == m * k * n / 128
    assert run["stores_of_out"] == m * n
    # 24 numbers are read with six instructions for 128 multiplications.
    assert run["shared_loads"] == m * k * n * 24 / 128
    assert run["shared_load_requests"] == run["shared_loads"] / 128
    assert run["shared_load_bank_conflicts"] == 0


@pytest.mark.parametrize(("m", "k", "n"), [(128, 40, 128), (64, 16, 128), (129, 16, 128), (128, 16, 132), (1, 200, 1)])
def test_other_sizes_are_multiplied_by_the_other_kernel(candidate, m, k, n):
    run = simulated(candidate, "03", "matmul", m=m, k=k, n=n)
    assert run["loads_of_a"] == m * k * -(-n // 64)


@pytest.mark.parametrize(("m", "k", "n"), WHOLE)
def test_the_technique_check_lets_whole_tiles_pass(candidate, m, k, n):
    """The kernel that is raced must meet what is asked of the one that is simulated."""
    import_by_path(ROOT / "solutions/03/test_public.py")._require_tiles(candidate("03"), m=m, k=k, n=n)


# ------------------------------------------------------------------ softmax and attention


@pytest.mark.parametrize(("cols", "walks"), [(4, 1), (1000, 1), (4096, 1), (4100, 2), (1001, 2), (1, 2)])
def test_softmax_reads_a_row_once_or_twice(candidate, cols, walks):
    assert simulated(candidate, "04", "softmax", rows=3, cols=cols)["loads_of_x"] == 3 * cols * walks


@pytest.mark.parametrize("cols", [512, 513])
@pytest.mark.parametrize("logits", ["huge", "all -10,000", "masked"])
def test_softmax_of_unusual_logits_is_right_in_both_kernels(candidate, cols, logits):
    simulated(candidate, "04", "softmax", rows=4, cols=cols, logits=logits)


@pytest.mark.parametrize(
    ("heads", "n", "causal"),
    [(1, 64, False), (1, 64, True), (1, 192, False), (2, 192, True), (1, 576, False)],
)
def test_whole_tiles_of_attention_have_no_bank_conflict(candidate, heads, n, causal):
    """Also where the keys are split into as many parts as there are, or more tiles than parts."""
    run = simulated(candidate, "04", "attention", heads=heads, n=n, d=64, causal=causal)
    parts = min(n // 64, 8)
    assert run["loads_of_q"] == parts * heads * n * 64
    assert run["stores_of_out"] == heads * n * 64
    tiles = n // 64 * (n // 64 + 1) / 2 if causal else (n // 64) ** 2
    assert run["loads_of_k"] == run["loads_of_v"] == heads * tiles * 64 * 64
    assert run["shared_bank_conflicts"] == 0


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("logits", ["huge", "all negative"])
def test_attention_of_huge_scores_is_right_in_whole_tiles(candidate, causal, logits):
    simulated(candidate, "04", "attention", heads=1, n=128, d=64, causal=causal, logits=logits)


@pytest.mark.parametrize(("n", "d"), [(65, 64), (64, 63), (50, 128), (33, 1)])
def test_other_shapes_of_attention_go_to_the_other_kernel(candidate, n, d):
    run = simulated(candidate, "04", "attention", heads=2, n=n, d=d, causal=True)
    assert run["launches"] == 1


# ------------------------------------------------------------------ what a student gets


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_it_is_released(tmp_path, name):
    """Neither the file nor what is in it: names of its kernels, four elements at a time, shuffles."""
    for part in ("course.yml", "solutions"):
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / part)
    released = release(load_course(tmp_path / "course.yml"), name).folder
    assert (tmp_path / "solutions" / name / "fast.py").is_file()
    assert sorted(path.name for path in released.iterdir()) == [
        "course.yml",
        "kernels.py",
        "problem.py",
        "test_public.py",
    ]
    for path in released.iterdir():
        assert not any(word in path.read_text() for word in ("load4(", "store4", "shfl_", "fast.py"))
