"""Whatever kernels.py does to the Python that it runs in: the answer is one failure, about kernels.py."""

from __future__ import annotations

import textwrap
from typing import Literal

import pytest

from grader.gpu_models import DEFAULT
from grader.problem import Inputs
from grader.records import Failure
from grader.sandbox.ends import Death
from grader.sandbox.limits import Limits
from grader.sandbox.no_plan import failure_of
from grader.sandbox.record import Call, record
from grader.sandbox.warm_child import WarmChild

LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)
PRELUDE = """\
import numpy as np
from numba import cuda

@cuda.jit
def kernel(a, out):
    out[0] = a[0]

def f(a, m, s, n, out):
    kernel[1, 1](a, out)
"""

# What looking at an object may run, when its author means it: each raises, and none may end the recorder.
EXCEPTIONS = {
    "a class whose name raises": """
        class Meta(type):
            @property
            def __name__(cls): raise RuntimeError
        class E(Exception, metaclass=Meta): pass
        raise E()
    """,
    "a class whose attributes all raise": """
        class Meta(type):
            def __getattribute__(cls, name): raise SystemExit(name)
        class E(Exception, metaclass=Meta): pass
        raise E()
    """,
    "an object that lies about its class": """
        class E(Exception):
            __class__ = property(lambda self: 1 / 0)
        raise E()
    """,
    "a text that raises": """
        class E(Exception):
            def __str__(self): raise KeyboardInterrupt
        raise E()
    """,
    "a text that is a str of its own": """
        class Text(str):
            def strip(self, *_): raise KeyError
            splitlines = encode = __format__ = __str__ = strip
        class E(Exception):
            def __str__(self): return Text("x")
        raise E()
    """,
    "a very long name": "raise type('A' * 100_000, (Exception,), {})()",
    "half of a character": "raise ValueError('\\ud800')",
    "half of a character, as an attribute": "raise AttributeError('\\udfff' * 5000)",
}
ENTRIES = {
    "a signature that raises": """
        class C:
            __signature__ = property(lambda self: {}[1])
            def __call__(self, *_): kernel[1, 1](_[0], _[-1])
        f = C()
    """,
    "attributes that end the process": """
        class C:
            def __getattr__(self, name): raise SystemExit(3)
            def __call__(self, *_): raise SystemExit(3)
        f = C()
    """,
    "a class that raises": """
        class C:
            __class__ = property(lambda self: 1 / 0)
            def __call__(self): pass
        f = C()
    """,
    "a default whose repr raises": """
        class C:
            def __repr__(self): raise KeyError("repr")
        def f(a=C()): pass
    """,
    "a default whose repr is half of a character": """
        class C:
            def __repr__(self): return "\\ud800"
        def f(a=C()): pass
    """,
}
CHANGES = {
    "NumPy": "np.dtype = None; np.asarray = None",
    "the recorder's own functions": """
        from grader.recorder import recording
        recording.Recording.plan = lambda self, returned: {"a": 1}
    """,
    "all modules of the grader": """
        import sys
        for name, module in list(sys.modules.items()):
            if name.startswith("grader"):
                module.__dict__.clear()
    """,
    "all modules of the grader and the program": """
        import sys
        for name, module in list(sys.modules.items()):
            if name.startswith(("grader", "__main__")):
                module.__dict__.clear()
    """,
    "builtins": """
        import builtins
        builtins.len = lambda *a: 1 / 0
        builtins.isinstance = lambda *a: True
        builtins.tuple = None
    """,
    "an exception with a path in it": """
        from grader.recorder import session
        def fail(*_): raise ImportError("cannot import it from " + session.__file__)
        session._record_call = fail
    """,
}


def recorded(recorder: WarmChild, inputs: Inputs, text: str) -> Failure:
    source = f"{PRELUDE}\n{textwrap.dedent(text)}\n"
    answer = record(recorder, source.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    assert isinstance(answer, Failure), answer
    for ours in ("/grader/", "Traceback", "File ", "os._exit", "mistakes.py"):
        assert ours not in str(answer)
    return answer


@pytest.mark.parametrize("text", EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_an_exception_is_reported_however_it_resists(recorder: WarmChild, inputs: Inputs, text: str) -> None:
    failure = recorded(recorder, inputs, text)
    assert failure.kind == "exception"
    assert failure.where.startswith("kernels.py:")


def test_half_a_character_is_shown_escaped(recorder: WarmChild, inputs: Inputs) -> None:
    assert recorded(recorder, inputs, "raise ValueError('\\ud800')").found == "ValueError: \\ud800"


@pytest.mark.parametrize("text", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_point_is_reported_however_it_resists(recorder: WarmChild, inputs: Inputs, text: str) -> None:
    assert recorded(recorder, inputs, text).kind in ("exception", "exit", "wrong-arguments")


@pytest.mark.parametrize("signature", ["5", "object()"])  # of text Python 3.13 makes one
def test_an_entry_point_without_a_signature_is_called(recorder: WarmChild, inputs: Inputs, signature: str) -> None:
    text = f"""
        class C:
            __signature__ = {signature}
            def __call__(self, *_): kernel[1, 1](_[0], _[-1])
        f = C()
    """
    source = f"{PRELUDE}\n{textwrap.dedent(text)}\n"
    assert isinstance(record(recorder, source.encode(), [Call("f", inputs)], DEFAULT, LIMITS), tuple)


@pytest.mark.parametrize("launch", ["kernel[1, 1](a, out)", "pass"])
def test_a_returned_value_is_not_looked_into(recorder: WarmChild, inputs: Inputs, launch: str) -> None:
    text = f"""
        class Meta(type):
            def __getattribute__(cls, name): raise SystemExit(name)
        class Evil(metaclass=Meta):
            def __eq__(self, other): 1 / 0
            def __bool__(self): 1 / 0
            __class__ = property(lambda self: 1 / 0)
        def f(a, m, s, n, out):
            {launch}
            return Evil()
    """
    source = f"{PRELUDE}\n{textwrap.dedent(text)}\n"
    answer = record(recorder, source.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    if launch == "pass":
        assert isinstance(answer, Failure)
        assert answer.kind == "returned-a-value"
        assert "Evil" in answer.what
    else:
        assert isinstance(answer, tuple), answer
        assert answer[0].returned_value


@pytest.mark.parametrize("text", CHANGES.values(), ids=CHANGES)
def test_who_changes_the_python_it_runs_in_is_told_so(recorder: WarmChild, inputs: Inputs, text: str) -> None:
    failure = recorded(recorder, inputs, text)
    assert failure.kind == "changed-python"
    assert failure.what.startswith("kernels.py changed the Python that it runs in")


OURS = """\
Traceback (most recent call last):
  File "/opt/x/grader/recorder/session.py", line 66, in f
    g()
KeyError: 1
"""


@pytest.mark.parametrize("kind", ["exit", "time-out", "stalled", "signal", "protocol"])
def test_a_traceback_through_the_grader_is_never_quoted(kind: Literal["exit", "time-out"]) -> None:
    printed = "before\n" + OURS + "after\n"
    shown = str(failure_of(Death(kind, "exit status 1", printed, 0.1, 0.1), LIMITS))
    assert "recorder" not in shown
    assert "had printed" not in shown


def test_a_traceback_through_kernels_py_alone_is_quoted() -> None:
    printed = OURS.replace("/opt/x/grader/recorder/session.py", "kernels.py")
    shown = str(failure_of(Death("exit", "exit status 1", printed, 0.1, 0.1), LIMITS))
    assert "KeyError: 1" in shown
    assert "os._exit" in shown
