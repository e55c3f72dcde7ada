"""Findings from what compute-sanitizer writes. The logs are its own, of version 2025.3.1 on an H200."""

# mypy: ignore-errors
from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from grader.kernels_text import KernelsText
from grader.records import Severity
from grader.sanitizer_log import MAX_FINDINGS, MAX_LOG, MAX_SAID, read_log

LOGS = Path(__file__).parent / "logs"
ALL = sorted(LOGS.glob("*.log"))
MATMUL = LOGS.parents[2] / "solutions/03/wrong/no_barrier_after_the_fetch.py"


def read(name, kernels):
    return read_log((LOGS / f"{name}.log").read_text(), kernels)


@pytest.mark.parametrize(
    ("name", "kind", "line", "text", "words", "thread", "count"),
    [
        ("oob_write", "out-of-bounds", 4, "out[i] = x[i % 8]", "Write of 4 bytes outside of every array: 160 bytes "
         "behind the start of one of 160 bytes, by thread 8 of block 1.", ((1, 0, 0), (8, 0, 0)), 4),
        ("oob_read", "out-of-bounds", 10, "out[i] = x[i + 3]", "Read of 4 bytes outside", ((1, 0, 0), (5, 0, 0)), 3),
        ("shared_oob", "out-of-bounds", 16, "tile[i + 20000] = x[i]", "Write of 4 bytes outside of the block's shared "
         "memory, by thread 0 of block 0.", ((0, 0, 0), (0, 0, 0)), 4),
        ("shared_near", "out-of-bounds", 26, "out[i] = tile[i + 1]", "Read of", ((0, 0, 0), (31, 0, 0)), 1),
        ("misaligned", "misaligned-access", 31, "out[i] = x[i]", "Write of 4 bytes of global memory at an address that "
         "is no multiple of 4, by thread 0 of block 0.", ((0, 0, 0), (0, 0, 0)), 4),
        ("local_oob", "out-of-bounds", 54, "mine[i * 5000] = 1", "Write of 4 bytes outside of every array, by thread 1",
         ((0, 0, 0), (1, 0, 0)), 4),
        ("wild", "out-of-bounds", 60, "out[i + (1 << 40)] = 1", "Write of 4 bytes outside of every array, by",
         ((0, 0, 0), (0, 0, 0)), 4),
        ("in_device_function", "out-of-bounds", 76, "return x[i + 9000000]", "Read of", ((0, 0, 0), (0, 0, 0)), 4),
        ("without_lines", "out-of-bounds", 0, "", "Write of 4 bytes outside of every array", ((1, 0, 0), (8, 0, 0)), 4),
    ],
)  # fmt: skip
def test_records_of_memcheck_become_one_finding_at_its_line(kernels, name, kind, line, text, words, thread, count):
    log = read(f"memcheck-{name}", kernels)
    (finding,) = log.findings
    assert (finding.kind, finding.severity, finding.count) == (kind, Severity.ERROR, count)
    assert (finding.place.line, finding.place.text) == (line, text)
    assert finding.place.function == {"in_device_function": "part", "without_lines": "oob_write"}.get(name, name)
    assert finding.what.startswith(words)
    assert finding.threads == (thread,)
    assert finding.advice
    assert log.complete
    assert log.said == ()


def test_what_was_not_printed_is_counted(kernels):
    assert read("memcheck-wild", kernels).left_out == 29
    assert read("memcheck-oob_read", kernels).left_out == 0


@pytest.mark.parametrize("name", ["memcheck-clean", "racecheck-clean"])
def test_nothing_found_is_a_whole_log_without_findings(kernels, name):
    log = read(name, kernels)
    assert log.findings == ()
    assert log.complete


def test_races_are_told_by_pairs_of_lines(kernels):
    with_read, two_writes = sorted(read("racecheck-race", kernels).findings, key=lambda f: "several" in f.what)
    assert {with_read.kind, two_writes.kind} == {"race"}
    assert (with_read.place.line, with_read.count) == (37, 64)
    assert with_read.what == "Race on shared memory: a write here and a read at line 39, and no barrier is in between."
    assert "syncthreads" in with_read.advice
    assert (two_writes.place.line, two_writes.count) == (37, 24)
    assert "several threads write one place at this line" in two_writes.what
    assert "cuda.atomic" in two_writes.advice


def test_races_of_two_launches_at_one_pair_of_lines_are_one_finding():
    log = read_log((LOGS / "racecheck-matmul.log").read_text(), KernelsText(MATMUL.read_bytes()))
    found = {(f.severity.value, f.place.line, f.place.text): f.count for f in log.findings}
    assert found == {
        ("error", 29, "tile_b[ty, tx] = b[start + ty, col]"): 13388 + 13324,
        ("error", 31, "tile_b[ty, tx] = 0"): 2 * 17580,
        ("warning", 25, "tile_a[ty, tx] = a[row, start + tx]"): 2 * 17160,
        ("warning", 27, "tile_a[ty, tx] = 0"): 2 * 13560,
    }
    assert [f.severity for f in log.findings] == sorted((f.severity for f in log.findings), key=list(Severity).index)
    assert all(f.what.startswith("Race on shared memory: a write here and a read at line 34,") for f in log.findings)
    assert {f.place.function for f in log.findings} == {"matmul_kernel"}


OLDER = """========= COMPUTE-SANITIZER
========= Invalid __shared__ atomic of size 4 bytes
=========     at 0x90 in /tmp/a folder/kernels.py:16:kernels::shared_oob[abi:v1](Array<float, 1, C>)
=========     by thread (3,2,1) in block (0,5,0)
=========     Address 0x13c80 is out of bounds
=========
========= Error: Race reported between Write access at 0x10 in /tmp/kernels.py:37:race(int *, int *)
========= and Read access at 0x20 in /tmp/kernels.py:39:race(int *, int *) [1 hazard]
=========
========= ERROR SUMMARY: 2 errors
"""


def test_the_wording_of_older_versions_is_read_as_well(kernels):
    access, race = read_log(OLDER, kernels).findings
    assert (access.place.line, access.place.function) == (16, "shared_oob")
    assert access.what.endswith("shared memory, by thread (3, 2, 1) of block (0, 5).")
    assert access.what.startswith("Atomic operation of 4 bytes")
    assert (race.place.line, race.place.function, race.count) == (37, "race", 1)


INSIDE_NUMBA = """========= Invalid __global__ read of size 8 bytes
=========     at _3cdynamic_3e::getitem_impl[abi:v7](Array<double, 1, C>)+0x20 in arrayobj.py:700
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x10 is out of bounds
=========         Device Frame: kernels::mine[abi:v1](Array<double, 1, C>)+0x90 in kernels.py:26
=========
"""


def test_in_a_function_of_numbas_own_the_line_is_the_one_that_calls_it(kernels):
    (finding,) = read_log(INSIDE_NUMBA, kernels).findings
    assert (finding.place.line, finding.place.function) == (26, "mine")


LAUNCH_FAILURE = (
    '========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719) due to "unspecified launch failure" on CUDA API call '
    "to cuMemcpyDtoH_v2.\n=========     Saved host backtrace up to driver entry point at error\n=========\n"
    "========= ERROR SUMMARY: 1 error\n"
)


def test_a_launch_failure_by_itself_is_a_finding_without_a_line(kernels):
    (finding,) = read_log(LAUNCH_FAILURE, kernels).findings
    assert (finding.kind, finding.severity, finding.place.line) == ("gpu-error", Severity.ERROR, 0)


def test_a_launch_failure_that_follows_from_an_access_is_not_told(kernels):
    text = (LOGS / "memcheck-shared_near.log").read_text()
    assert "CUDA_ERROR_LAUNCH_FAILED" in text
    assert [f.kind for f in read_log(text, kernels).findings] == ["out-of-bounds"]


def test_what_the_driver_refuses_for_other_reasons_is_no_kernels_mistake(kernels):
    text = LAUNCH_FAILURE.replace("LAUNCH_FAILED", "NOT_FOUND")
    log = read_log(text, kernels)
    assert log.findings == ()
    assert log.said[0].startswith("Program hit CUDA_ERROR_NOT_FOUND")


def test_what_is_not_understood_is_kept_as_it_is_without_what_a_terminal_obeys(kernels):
    text = "========= Internal Sanitizer Error: \x1b[31mno memory\x07 for its\u202e tracking\n=========\n" * 2
    assert read_log(text, kernels).said == ("Internal Sanitizer Error: [31mno memory for its tracking",)
    assert len(read_log("========= " + "x" * 10_000, kernels).said[0]) == MAX_SAID + 1
    hazards = read("racecheck-hazards", kernels)
    assert hazards.findings == ()
    assert "Potential WAW hazard" in hazards.said[0]


def test_a_log_without_its_end_is_not_whole(kernels):
    assert not read("racecheck-hazards", kernels).complete
    assert not read_log("", kernels).complete
    text = (LOGS / "memcheck-oob_write.log").read_text()
    cut = read_log(text[: text.index("ERROR SUMMARY")], kernels)
    assert not cut.complete
    assert len(cut.findings) == 1


@pytest.mark.parametrize("log", ALL, ids=lambda path: path.stem)
def test_a_log_may_end_anywhere_and_hold_anything(kernels, log):
    text = log.read_text()
    shaken = random.Random(log.stem)
    for _ in range(60):
        cut = text[: shaken.randrange(len(text))]
        position, length = shaken.randrange(len(text)), shaken.randrange(1, 40)
        noise = "".join(
            chr(shaken.choice([0, 7, 10, 27, 41, 48, 57, 61, 91, 0x0663, 0xD800, 0x202E])) for _ in range(length)
        )
        for damaged in (cut, text[:position] + noise + text[position + length :], noise * 20):
            found = read_log(damaged, kernels)
            for told in [f.what + f.place.function + f.advice for f in found.findings] + list(found.said):
                assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e\ud800]", told)


def test_a_flood_is_bounded(kernels):
    record = "========= Invalid __global__ read of size 4 bytes\n=========     at k[abi:v1]()+0x0 in kernels.py:{}\n"
    many = read_log("".join(record.format(line) for line in range(1, 1000)), kernels)
    assert len(many.findings) == MAX_FINDINGS
    assert many.left_out == 999 - MAX_FINDINGS
    long = "========= Error: Race reported between Write access at " + "[" * 100_000 + " and" * 50_000 + "\n"
    assert read_log(long * 5, kernels).findings == ()
    ended = "========= ERROR SUMMARY: 0 errors\n"
    assert not read_log(ended + "x" * MAX_LOG, kernels).complete
    assert read_log(ended + "x" * 1000, kernels).complete


def test_huge_numbers_are_no_numbers(kernels):
    text = (
        f"========= Invalid __global__ read of size {'9' * 5000} bytes\n========= ERROR SUMMARY: {'9' * 5000} errors\n"
    )
    log = read_log(text, kernels)
    assert log.findings == ()
    assert not log.complete
