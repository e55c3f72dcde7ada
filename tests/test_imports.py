"""Which imports of a kernels.py are allowed, and what a student is told of others."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from grader.gpu_models import DEFAULT
from grader.imports import not_allowed
from grader.problem import Output
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.warm_child import WarmChild

HONEST = """
from __future__ import annotations
import math, os, sys, time
from typing import TYPE_CHECKING
import numpy as np, numba
from numba import cuda, float32
import numba.cuda as c
from numpy.lib import stride_tricks
from grader import load4
if TYPE_CHECKING:
    import pandas
def f():
    from functools import partial
if __name__ == "__main__":
    import matplotlib.pyplot as plt
    import torch
"""


def test_what_kernels_are_written_with_is_allowed_and_so_is_anything_in_a_files_own_main_part() -> None:
    assert not_allowed(ast.parse(HONEST), ()) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import cupy", ("cupy", 1)),
        ("import numba\nimport torch.nn as nn", ("torch.nn", 2)),
        ("from scipy.linalg import blas", ("scipy.linalg", 1)),
        ("import math, ctypes", ("ctypes", 1)),
        ("def f():\n    import subprocess", ("subprocess", 2)),
        ("try:\n    import cupy\nexcept ImportError:\n    cupy = None", ("cupy", 2)),
        ("if __name__ == '__main__':\n    pass\nelse:\n    import socket", ("socket", 4)),
        ("class A:\n    import pickle", ("pickle", 2)),
        ("import socket\nimport cupy", ("socket", 1)),
        ("match 1:\n    case 1:\n        import cupy", ("cupy", 3)),
        ("import numpyx", ("numpyx", 1)),
    ],
)
def test_other_imports_are_found_wherever_they_stand(text: str, found: tuple[str, int]) -> None:
    assert not_allowed(ast.parse(text), ()) == found


def test_course_yml_may_allow_more_by_the_first_name() -> None:
    assert not_allowed(ast.parse("from scipy.linalg import blas"), ("scipy",)) is None
    assert not_allowed(ast.parse("import scipy, cupy"), ("scipy",)) == ("cupy", 1)


def test_a_forbidden_import_is_one_sentence_before_anything_runs() -> None:
    source = b"print('ran')\nimport cupy as np\ndef f(out): pass\n"
    heard: list[str] = []
    call = Call("f", {"out": Output((1,), np.float32)})
    with WarmChild("grader.recorder") as child:
        failure = record(child, source, [call], DEFAULT, Limits(), heard.append, imports=("scipy",))
    assert isinstance(failure, Failure)
    assert failure.kind == "forbidden-import"
    assert failure.what == "kernels.py imports cupy, which this assignment does not allow."
    assert failure.expected.startswith("imports of numba, numpy, math, scipy, or of the standard library")
    assert failure.where == "kernels.py:2  import cupy as np"
    assert heard == [""]
