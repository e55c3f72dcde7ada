"""What host code prints reaches the check's record and changes nothing; a seed reaches no child."""

from __future__ import annotations

import random
from typing import Any

import pytest

from grader.judge import CheckFailed
from grader.sandbox.frames import encode
from grader.sandbox.launch import WarmChild
from grader.sandbox.limits import PRINTED_BYTES

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


def test_a_kernel_that_prints_is_judged_and_its_prints_are_not_kept(candidate):
    judged = candidate(text(kernel="print(i, x[i])"))
    judged.check("scale", n=33)
    assert judged.printed == [""]


def test_no_child_is_told_the_seed(candidate, monkeypatch):
    seed = random.SystemRandom().randrange(1 << 60, 1 << 61)
    sent: list[bytes] = []
    call = WarmChild.call

    def overheard(self: WarmChild, request: Any, limits: Any) -> Any:
        sent.append(b"".join(bytes(part) for part in encode(request)) + repr(limits).encode())
        return call(self, request, limits)

    monkeypatch.setattr(WarmChild, "call", overheard)
    candidate(text(), seed=seed).check_each({"entry": "scale", "n": 33}, {"entry": "scale", "n": 65})
    assert len(sent) == 3  # one recording, two runs
    for told in (str(seed).encode(), hex(seed)[2:].encode(), seed.to_bytes(8, "little"), seed.to_bytes(8, "big")):
        assert not any(told in message for message in sent)
