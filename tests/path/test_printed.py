"""What host code and kernels print reaches the check's record and changes nothing; a seed reaches no child."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from typing import Any

import pytest

from grader.judge import CheckFailed
from grader.records import MAX_PRINTED_LINE, MAX_PRINTED_LINES, KernelPrints
from grader.reports.text import first_lines
from grader.sandbox.frames import encode
from grader.sandbox.limits import PRINTED_BYTES, Limits
from grader.sandbox.warm_child import WarmChild

KERNELS = """
{imported}

@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        {kernel}
        out[i] = factor * x[i] + shift

def scale(x, factor, out, bumped):
    {host}
    kernel[(x.size + 63) // 64, 64](x, factor, out, float32({shift}))
"""


def text(imported: str = "", kernel: str = "pass", host: str = "pass", shift: str = "0.0") -> str:
    return KERNELS.format(imported=imported, kernel=kernel, host=host, shift=shift)


def failure(candidate: Any, **sizes: Any) -> Any:
    with pytest.raises(CheckFailed) as failed:
        candidate.check("scale", **sizes)
    return failed.value.failure


def test_what_host_code_prints_is_kept_in_its_order(candidate):
    judged = candidate(text("import sys\nprint('import')", host="print('n', x.size, file=sys.stderr)", shift="3.0"))
    assert failure(judged, n=33).kind == "wrong-values"
    assert judged.printed == ["import\nn 33\n"]


def test_what_is_printed_before_an_exception_is_kept(candidate):
    judged = candidate(text(host="print('before'); [][1]"))
    assert failure(judged, n=33).kind == "exception"
    assert judged.printed == ["before\n"]


@pytest.mark.parametrize("shift", ["0.0", "3.0"])
def test_printing_changes_no_verdict(candidate, shift):
    def verdict(**printing: str) -> Any:
        judged = candidate(text(shift=shift, **printing))
        return failure(judged, n=33) if shift == "3.0" else judged.check("scale", n=33)

    silent = verdict()
    assert verdict(imported="print('x' * 10_000_000, '{\"problem\": {}}')", host="print('PASSED')") == silent


def test_of_an_enormous_print_the_end_is_kept(candidate):
    judged = candidate(text("for _ in range(1000): print('x' * 10_000)", host="print('the end')"))
    judged.check("scale", n=33)
    (printed,) = judged.printed
    assert printed.endswith("x\nthe end\n")
    assert len(printed) == PRINTED_BYTES


def test_what_kernels_print_is_kept_thread_by_thread_apart_from_host_code(candidate):
    judged = candidate(text(kernel="print('thread', i)", host="print('host')", shift="3.0"))
    assert failure(judged, n=3).kind == "wrong-values"
    assert judged.kernels_printed == KernelPrints(("thread 0", "thread 1", "thread 2"))
    assert judged.printed == ["host\n"]


def test_prints_of_kernels_change_no_verdict(candidate):
    silent = failure(candidate(text(shift="3.0")), n=33)
    assert failure(candidate(text(kernel="print('{\"problem\": {}}', i, x[i])", shift="3.0")), n=33) == silent
    candidate(text(kernel="print('PASSED')")).check("scale", n=33)


def test_of_a_flood_the_first_lines_are_kept_and_the_others_counted(candidate):
    judged = candidate(text(kernel=f"print('{'x' * 300}', i)"))
    judged.check("scale", n=70_000)
    assert len(judged.kernels_printed.lines) == MAX_PRINTED_LINES
    assert {len(line) for line in judged.kernels_printed.lines} == {MAX_PRINTED_LINE}
    assert judged.kernels_printed.left_out == 70_000 - MAX_PRINTED_LINES


def test_prints_of_a_kernel_that_does_not_end_are_kept(candidate):
    kernel = "print('begins', i)\n        while x[i] < 1e30:\n            pass"
    judged = candidate(text(kernel=kernel), limits=Limits(cpu_seconds=2, memory_bytes=1 << 30))
    assert failure(judged, n=2).kind in ("time-out", "endless-wait")
    assert judged.kernels_printed.lines == ("begins 0", "begins 1")


def test_a_print_that_steers_a_terminal_or_is_no_text_travels_as_it_is(candidate):
    judged = candidate(text(kernel="print('\\x1b[2J\\u202e\\ud800 one\\ntwo')"))
    judged.check("scale", n=1)
    assert judged.kernels_printed.lines == ("\x1b[2J\u202e\\ud800 one", "two")
    assert first_lines(judged.kernels_printed) == "\\x1b[2J\\u202e\\ud800 one\ntwo"


DRIVER = """
import ctypes, os
from grader.devices.driver_output import DriverOutput
output, library = DriverOutput(), ctypes.CDLL(None)
for limit in (1000, 30, 27):
    for k in range(5):
        library.printf(b"line %d\\n", k)
    os.write(2, f"{output.take(limit)}\\n".encode())
os.write(2, f"{output.take(1000)}\\n".encode())
"""


def test_what_a_driver_writes_past_python_is_taken_in_pieces_and_counted():
    done = subprocess.run([sys.executable, "-c", DRIVER], capture_output=True, text=True, check=True)
    lines = [f"line {k}" for k in range(5)]
    expected = [(lines, 0), ([*lines[:4], "li"], 0), ([*lines[:3], "line 3"], 1), ([], 0)]
    assert [ast.literal_eval(line) for line in done.stderr.splitlines()] == expected
    assert done.stdout == ""


def test_only_the_last_of_several_calls_tells_its_prints(candidate):
    judged = candidate(text(kernel="print(out.size)"))
    judged.check_each({"entry": "scale", "n": 1}, {"entry": "scale", "n": 2})
    assert judged.kernels_printed.lines == ("2", "2")


def test_no_child_is_told_the_seed(candidate, monkeypatch):
    seed = random.SystemRandom().randrange(1 << 60, 1 << 61)
    sent: list[bytes] = []
    call = WarmChild.call

    def overheard(self: WarmChild, request: Any, limits: Any, *, keep: str = "") -> Any:
        sent.append(b"".join(bytes(part) for part in encode(request)) + repr((limits, keep)).encode())
        return call(self, request, limits, keep=keep)

    monkeypatch.setattr(WarmChild, "call", overheard)
    candidate(text(), seed=seed).check_each({"entry": "scale", "n": 33}, {"entry": "scale", "n": 65})
    assert len(sent) == 3  # one recording, two runs
    for told in (str(seed).encode(), hex(seed)[2:].encode(), seed.to_bytes(8, "little"), seed.to_bytes(8, "big")):
        assert not any(told in message for message in sent)
