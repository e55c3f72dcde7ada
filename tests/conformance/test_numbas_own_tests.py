"""Numba's own tests, from the installed package, on the simulator: what does not pass is listed, with why.

The examples of Numba's documentation run always, but for two; those and ``numba.cuda.tests.cudapy`` and ``cudadrv``,
which take a quarter of an hour, run where this folder is named: ``pytest tests/conformance``.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = "numba.cuda.tests.doc_examples"
CUDAPY = "numba.cuda.tests.cudapy"
DRIVER = "numba.cuda.tests.cudadrv"
SECONDS_PER_MODULE = 400
# Examples that launch a thousand kernels, or millions of threads.
LONG = {f"{EXAMPLES}.test_laplace", f"{EXAMPLES}.test_montecarlo"}


def listed(section: str) -> dict[str, str]:
    """Patterns of test ids, and why those tests do not apply ("does_not_apply") or do not pass ("not_yet")."""
    found: dict[str, str] = tomllib.loads((HERE / "not_passed.toml").read_text(encoding="utf-8"))[section]
    return found


def modules(package: str) -> list[str]:
    """The test modules of a package of Numba that apply; none where Numba was installed without its tests."""
    try:
        spec = importlib.util.find_spec(package)
    except ImportError:
        return []
    folders = spec.submodule_search_locations if spec is not None else None
    found = [f"{package}.{path.stem}" for folder in folders or () for path in Path(folder).glob("test_*.py")]
    return sorted(module for module in found if f"{module}.*" not in listed("does_not_apply"))


def results(module: str) -> Iterator[tuple[str, str, str]]:
    """Id, state and reason of each test of a module; one that ended the process is a failure."""
    command = [sys.executable, str(HERE / "run_numbas_tests.py"), module]
    command += [f"--not={pattern}" for pattern in listed("does_not_apply")]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_PER_MODULE, cwd=HERE
        )
        lines, why = done.stdout, f"the process ended with {done.returncode}: {done.stderr[-300:]}"
        if done.returncode:
            yield module, "failed", why
    except subprocess.TimeoutExpired as error:
        lines, why = (error.stdout or b"").decode(), f"not done after {SECONDS_PER_MODULE} s"
    states: dict[str, tuple[str, str]] = {}
    for line in lines.splitlines():
        name, state, reason = json.loads(line)
        if state != "begun" or name not in states:  # of several subtests, a failed one counts
            bad = states.get(name, ("begun",))[0] in ("failed", "error")
            states[name] = states[name] if bad else (state, reason)
    for name, (state, reason) in states.items():
        yield name, *(("failed", why) if state == "begun" else (state, reason))


def skip_unless_named(request: pytest.FixtureRequest) -> None:
    """Run only where this folder was asked for."""
    if not any(HERE.name in str(argument) for argument in request.config.args):
        pytest.skip("takes a quarter of an hour: pytest tests/conformance")


def check(module: str) -> None:
    """Fail for each test that neither passes nor is listed, and for what is listed and passes."""
    patterns = listed("not_yet")
    found = list(results(module))
    bad = [(name, reason) for name, state, reason in found if state in ("failed", "error")]
    unexpected = [
        f"{name}: {reason}" for name, reason in bad if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]
    stale = [
        f"{pattern}: passes now, so take it off the list"
        for pattern in patterns
        if any(fnmatch.fnmatch(name, pattern) for name, *_ in found)
        and not any(fnmatch.fnmatch(name, pattern) for name, _ in bad)
    ]
    assert not unexpected + stale, "\n".join(unexpected + stale)


@pytest.mark.timeout(SECONDS_PER_MODULE + 60)
@pytest.mark.parametrize("module", modules(EXAMPLES))
def test_examples_of_numbas_documentation(module: str, request: pytest.FixtureRequest) -> None:
    """Each example gives the results that the documentation promises."""
    if module in LONG:
        skip_unless_named(request)
    check(module)


@pytest.mark.timeout(SECONDS_PER_MODULE + 60)
@pytest.mark.parametrize("module", modules(CUDAPY) + modules(DRIVER))
def test_numbas_tests_of_kernels_and_of_the_host_side(module: str, request: pytest.FixtureRequest) -> None:
    """Each test passes, or says that it cannot run here, or is listed."""
    skip_unless_named(request)
    check(module)
