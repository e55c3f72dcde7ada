"""Right kernels give no error and NumPy's results; each twin of theirs, wrong by one line, gives an error."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def _bench() -> Any:
    """The module beside this file; tests are no package."""
    spec = importlib.util.spec_from_file_location("corpus_bench", Path(__file__).with_name("bench.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["corpus_bench"] = module
    spec.loader.exec_module(module)
    return module


bench = _bench()
FILES = sorted(p for p in bench.FOLDER.glob("*.py") if p.stem not in bench.NOT_CASES and not p.stem.startswith("test_"))
# Not wrong on a GPU, but hardly ever meant. Each kernel has another twin that is wrong.
ONLY_WARNED_OF = {"negative-index"}
# Wrong in another order of events than the one that the simulator happens to run: only the numbers show it.
ONLY_SEEN_IN_NUMBERS = {"wrong-result"}
CASES = [case for path in FILES for case in bench.read_cases(path)]
TWINS = [(case, twin) for case in CASES for twin in case.twins]


def test_the_corpus_has_sixty_kernels_and_a_twin_for_each():
    assert len(CASES) >= 60
    wrong = {str(case) for case, twin in TWINS if twin.kind not in ONLY_WARNED_OF | ONLY_SEEN_IN_NUMBERS}
    assert [str(case) for case in CASES if str(case) not in wrong] == []


def differs(found, expected):
    """Whether a result is not what NumPy says; floats may differ by rounding."""
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind in "fc":
        return not np.allclose(found, expected, rtol=1e-4, atol=1e-5)
    return not np.array_equal(found, expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_right_kernel_gives_no_error(case):
    ran, pairs = bench.carry_out(case, case.text, bench.PATIENCE)
    assert [str(finding) for finding in ran.errors()] == []
    assert ran.warnings() == case.warnings, [str(finding) for finding in ran.findings]
    assert ran.unwritten() == 0
    assert pairs
    for found, expected in pairs:
        assert not differs(found, expected), (found, expected)


@pytest.mark.parametrize(("case", "twin"), TWINS, ids=[f"{case}-line {twin.line}-{twin.kind}" for case, twin in TWINS])
def test_one_wrong_line_is_an_error(case, twin):
    ran, pairs = bench.carry_out(case, twin.text, bench.PATIENCE)
    if twin.kind == "unwritten-output":
        assert ran.unwritten() > 0
        return
    if twin.kind == "wrong-result":
        assert any(differs(found, expected) for found, expected in pairs)
        return
    told = ran.errors() + [finding for finding in ran.findings if finding.kind in ONLY_WARNED_OF]
    errors = {(finding.kind, finding.array, finding.place.line) for finding in told}
    lines = {line for kind, array, line in errors if kind == twin.kind and twin.array in ("", array)}
    assert lines & twin.found_at, errors
