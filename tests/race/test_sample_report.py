"""The report in docs/instructor.md is one that the judge makes: here, beside a GPU that is none."""

# mypy: ignore-errors
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import tiny_course as tiny

from grader import judging, race_rounds, racing
from grader.baseline import Baseline
from grader.reports.terminal import student_report

from .conftest import MS

GUIDE = Path(__file__).parents[2] / "docs/instructor.md"
BASELINE_MS, STUDENT_MS, REFERENCE_MS = 0.18, 0.03, 0.009
# About a T4's: bytes and operations per second.
PEAKS = {"bytes_per_second": 3e11, "operations_per_second": 8e12, "cache_bytes": 0}


@pytest.fixture
def report(fake_children, tmp_path, monkeypatch):
    """``report(student_ms)``: what a student reads whose kernel takes so long."""
    children, script = fake_children
    monkeypatch.setattr(judging, "warm_children", lambda: children)
    monkeypatch.setattr(racing, "baseline_time", lambda *_: Baseline(BASELINE_MS * MS, BASELINE_MS * MS))
    monkeypatch.setattr(race_rounds, "RUNS", 5)
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path,))
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path / "cache")
    public = tiny.PUBLIC.replace("n=1 << 20", "n=1 << 18")
    root = tiny.write_course(tmp_path / "course", test_public=public)
    (root / "ada").mkdir()
    kernels = tiny.KERNELS.replace("double_kernel", "ada_kernel").replace("2 * x[i]", "float32(2) * x[i]")
    (root / "ada/kernels.py").write_text(kernels.replace("import cuda", "import cuda, float32"))

    def told(student_ms: float) -> str:
        ns = {"ada_kernel": student_ms * MS, "double_kernel": REFERENCE_MS * MS}
        factors = {"ada_kernel": [0.99, 1.01, 1.0]}
        script.write_text(json.dumps({"ns": ns, "peaks": PEAKS, "factors": factors}))
        return student_report(judging.judge_submission(root / "solutions/01", root / "ada", seed=3), width=80)

    return told


def test_the_sample_in_the_guide_is_what_the_judge_says(report):
    shown = report(STUDENT_MS)
    assert all(len(line) <= 80 for line in shown.splitlines())
    samples = re.findall(r"```\n(correctness: .*?)```\n", GUIDE.read_text("utf-8"), re.DOTALL)
    assert [_comparable(sample) for sample in samples] == [_comparable(shown)], shown


def _comparable(text: str) -> str:
    """Without what the host's own clock says, and so without where lines end."""
    return re.sub(r"[\d.]+ [mµn]?s of copying", "some copying", " ".join(text.split()))
