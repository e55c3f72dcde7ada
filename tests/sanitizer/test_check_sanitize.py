"""``grader check --sanitize`` from the command line to the page, with a compute-sanitizer and a GPU that are none."""

# mypy: ignore-errors
from __future__ import annotations

import sys

import pytest
import tiny_course as tiny

from grader import cli, sanitizing
from grader.children import Children
from grader.sandbox import sanitized
from grader.sandbox.limits import Limits

GUARD = "    if i < out.size:"
PAST_THE_END = tiny.KERNELS.replace(GUARD, "    if i < out.size + 1:")
AT = "kernels.py:12"
CANARIES = ("memcheck-one_further", "racecheck-no_barrier")
PUBLIC = tiny.PUBLIC.partition('@pytest.mark.part("speed")')[0].replace('"n", [1, 33]', '"n", [33]')
ONE_CALL = PUBLIC.partition('@pytest.mark.part("technique")')[0]
RACE = tiny.PUBLIC[len(tiny.PUBLIC.partition('@pytest.mark.part("speed")')[0]) :]


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """``grader check 1`` on a kernels.py; its exit code, what it printed, what it said on stderr."""

    def run(kernels=tiny.KERNELS, *options, public=ONE_CALL):
        course = tiny.COURSE.replace("timeouts: 500 ms", "timeouts: 5 s")
        root = tiny.write_course(tmp_path / "course", kernels=kernels, course=course, test_public=public)
        (root / "solutions/01/test_hidden.py").unlink()
        monkeypatch.chdir(root)
        monkeypatch.setenv("COLUMNS", "120")
        given = ["check", "1", "solutions/01", "--seed", "3", "--device", "simulated", *options]
        monkeypatch.setattr(sys, "argv", ["grader", *given])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


def page_of(out):
    return out[out.index("compute-sanitizer 2025") :]


def refused(told, *words):
    code, out, err = told
    assert (code, out) == (2, "")
    assert err.startswith("grader: --sanitize")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_a_right_kernel_is_shown_to_be_clean(fake, check):
    code, out, _ = check(tiny.KERNELS, "--sanitize", public=PUBLIC)
    assert code == 0
    page = page_of(out)
    assert page.startswith("compute-sanitizer 2025.3.1.0 and the simulator, call by call; it changes no points\n")
    for n in (33, 64):
        assert page.count(f"double(n={n})\n  memcheck: nothing\n  racecheck: nothing\n  simulator: nothing\n") == 1
    assert page.endswith("Of 2 calls: both find mistakes in 0, neither in 2.\n")


def test_findings_stand_beside_the_simulators_and_change_nothing_else(fake, check, log):
    (fake / "memcheck-double_kernel.log").write_text(log("memcheck-oob_write", **{"kernels.py:4": AT}))
    without = check(PAST_THE_END)
    code, out, _ = check(PAST_THE_END, "--sanitize")
    assert out.startswith(without[1])
    assert code == without[0] == 1
    page = page_of(out)
    assert page.splitlines()[2:5] == ["double(n=33)", "  memcheck:", "    21 more records were left out"]
    assert "\n      where    kernels.py:12  out[i] = 2 * x[i]\n" in page
    assert (
        "error: Write of 4 bytes outside of every array: 160 bytes behind the start of one of 160 bytes, by thread 8 "
        "of block 1. (4 times) where kernels.py:12 out[i] = 2 * x[i] try Let only threads whose index is inside the "
        "array get here: guard the access with an if. racecheck: nothing simulator: error: Read of x[33] outside its "
        "shape (33,), by thread 33 of block 0. The same line goes outside of out, too. (2 times) where kernels.py:12 "
        "out[i] = 2 * x[i]"
    ) in " ".join(page.split())
    assert page.endswith("Of 1 call: both find mistakes in 1, neither in 0.\n")


def test_what_only_one_of_them_finds_is_named(fake, check, log):
    code, out, _ = check(PAST_THE_END, "--sanitize")
    assert code == 1
    assert "Mistakes that only the simulator finds: double(n=33)" in page_of(out)
    (fake / "racecheck-double_kernel.log").write_text(log("racecheck-race", **{"kernels.py:37": AT}))
    code, out, _ = check(tiny.KERNELS, "--sanitize")
    assert code == 0
    found = page_of(out)
    assert "both find mistakes in 0, neither in 0.\nMistakes that only compute-sanitizer finds: double(n=33)." in found
    assert "      where    kernels.py:12  out[i] = 2 * x[i]\n" in found


def test_without_the_program_one_sentence_says_where_it_comes_from(check, monkeypatch, tmp_path):
    monkeypatch.setattr(Children, "gpu", lambda self: {"name": "a GPU that is none"})
    monkeypatch.setattr(sanitized, "TOOLKIT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(check(tiny.KERNELS, "--sanitize"), "found no compute-sanitizer", "CUDA toolkit")


def test_the_toolkits_usual_place_is_looked_at_too(fake, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert sanitized.find_program() is None or sanitized.find_program().parent == sanitized.TOOLKIT
    monkeypatch.setattr(sanitized, "TOOLKIT", fake)
    assert sanitized.find_program() == fake / "compute-sanitizer"


def test_without_a_gpu_one_sentence_says_so(fake, check, monkeypatch):
    monkeypatch.setattr(Children, "gpu", lambda self: None)
    refused(check(tiny.KERNELS, "--sanitize"), "needs a GPU, and Numba can use none here")


def test_json_and_a_page_do_not_go_together(fake, check):
    refused(check(tiny.KERNELS, "--sanitize", "--json"), "leave out --json")


@pytest.mark.parametrize("broken", CANARIES)
def test_a_tool_that_finds_nothing_in_a_planted_mistake_is_not_believed(fake, check, broken):
    """As on Windows' subsystem for Linux, where the program runs and says that the device is not supported."""
    tool = broken.partition("-")[0]
    (fake / f"{broken}.log").write_text(
        '========= COMPUTE-SANITIZER\n========= Error: Device not supported. Please refer to the "Supported Devices" '
        "section\n=========\n========= ERROR SUMMARY: 1 error\n"
    )
    refused(check(tiny.KERNELS, "--sanitize"), f"{tool} did not find a mistake", "Device not supported")


def test_a_program_that_does_not_start_anything_is_not_believed(fake, check):
    (fake / "compute-sanitizer").write_text("#!/bin/sh\necho no such option >&2\nexit 3\n")
    refused(check(tiny.KERNELS, "--sanitize"), "memcheck did not find a mistake", "no such option")


def test_a_log_that_ends_early_is_not_taken_for_a_clean_one(fake, check):
    (fake / "racecheck-double_kernel.log").write_text("========= COMPUTE-SANITIZER\n")
    code, out, _ = check(tiny.KERNELS, "--sanitize")
    assert code == 0
    assert page_of(out).count("  racecheck:\n    racecheck did not write its log to the end\n") == 1
    assert "neither in 0. 1 could not be compared." in page_of(out)


def test_a_kernel_that_runs_only_when_optimised_is_looked_at_so(fake, check, log):
    kernels = tiny.KERNELS.replace("double_kernel", "needs_optimising")
    (fake / "memcheck-needs_optimising.log").write_text(
        log("memcheck-clean", **{"ERROR SUMMARY: 0 errors": "ERROR SUMMARY: 1 error"})
    )
    code, out, _ = check(kernels, "--sanitize")
    assert code == 0
    assert page_of(out).count(f"    {sanitizing.OPTIMISED}\n") == 2
    assert "OUT_OF_RESOURCES" not in out
    ran = [each.read_text().split() for each in fake.glob("ran.*")]
    assert sorted(ran) == sorted(
        [["one_further", "debug"], ["no_barrier", "debug"]]
        + 2 * [["needs_optimising", "debug"], ["needs_optimising", "optimised"]]
    )


def test_a_call_that_hangs_ends_and_no_tool_tries_a_second(fake, check, monkeypatch):
    monkeypatch.setattr(
        sanitizing, "slower", lambda limits: Limits(cpu_seconds=30, wall_seconds=1.5, memory_bytes=None)
    )
    code, out, _ = check(tiny.KERNELS.replace("double_kernel", "hangs"), "--sanitize", public=PUBLIC)
    assert code == 0
    assert page_of(out).count("    the call did not end in the time that it had\n") == 2
    assert page_of(out).count("    not run: an earlier call did not end\n") == 2


def test_a_submission_that_makes_no_call_has_an_empty_page(fake, check):
    code, out, _ = check("def double(x, out:\n", "--sanitize")
    assert code == 1
    assert page_of(out).endswith("Of 0 calls: both find mistakes in 0, neither in 0.\n")


def test_raced_shapes_are_not_among_the_calls(fake, check):
    sampled = PUBLIC.replace("submission.simulate(n=64)", "submission.simulate(n=4096, blocks=2)")
    _, out, _ = check(tiny.KERNELS, "--sanitize", public=sampled + RACE)
    assert "n=4096" not in page_of(out)
    assert "n=1048576" not in page_of(out)
    assert "Of 1 call:" in page_of(out)
