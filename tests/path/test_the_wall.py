"""No line of kernels.py runs in the trusted process or the runner; no input value reaches the recorder."""

from __future__ import annotations

import enum
import os
from typing import Any

import numba
import numpy as np
import pytest
from pydantic import ValidationError

from grader.devices.base import Refused
from grader.kernels_text import KernelsText
from grader.plan import Launch, LaunchPlan
from grader.plan_constants import (
    EnumClassConstant,
    EnumMember,
    EnumMemberConstant,
    FunctionConstant,
    NameConstant,
    NamedTupleClassConstant,
    NamedTupleConstant,
    TupleConstant,
    UnsupportedConstant,
)
from grader.plan_dtypes import plan_dtype
from grader.plan_functions import Function
from grader.plan_values import DTypeConstant, FloatConstant, IntConstant, NoneConstant, RecordTypeConstant
from grader.runner.binding import Binder, resolve_name
from grader.sandbox.frames import encode
from grader.sandbox.walls import VARIABLE

NOWHERE = ""  # where nothing may be opened to be written, not even /dev/null
MARKED = """
import os

def mark(where):
    if not {marks!r}:
        return
    with open({marks!r}, "a") as file:
        file.write(f"{{os.getpid()}} {{os.getppid()}} {{where}}\\n")
    return where

mark("import")

def decorator(function):
    mark("decorator")
    return function

class Body:
    mark("class body")

@decorator
def helper(x=mark("default argument")):
    mark("helper")

@cuda.jit
def kernel(x, factor, out, shift):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i] + shift

def scale(x, factor, out, bumped):
    mark("host function")
    kernel[(x.size + 63) // 64, 64](x, factor, out, float32(0.0))
"""


def test_what_pytest_shows_of_a_submission_has_no_seed(candidate):
    seed = 987_654_321_012
    assert str(seed) not in repr(candidate("", seed=seed))


@pytest.fixture
def open_recorder(children, monkeypatch):
    """Jobs of the recorder may write files, to tell where they run."""
    children.recorder.close()  # it is started anew
    monkeypatch.setenv(VARIABLE, "limits")
    yield
    children.recorder.close()


def test_the_recorder_alone_executes_kernels_py(candidate, children, open_recorder, tmp_path):
    marks = tmp_path / "marks"
    candidate(MARKED.format(marks=str(marks))).check("scale", n=100)
    rows = [line.split(" ", 2) for line in marks.read_text().splitlines()]
    assert {row[2] for row in rows} == {"import", "decorator", "class body", "default argument", "host function"}
    assert {int(row[1]) for row in rows} == {children.recorder.zygote.process.pid}
    assert os.getpid() not in {int(row[0]) for row in rows}
    assert children.runner.zygote.process.pid not in {int(row[0]) for row in rows}


def test_no_input_value_travels_to_the_recorder(candidate, children, monkeypatch):
    sent: list[bytes] = []
    call = type(children.recorder).call

    def spy(child: Any, request: Any, limits: Any, **kept: Any) -> Any:
        if child is children.recorder:
            sent.append(b"".join(bytes(piece) for piece in encode(request)))
        return call(child, request, limits, **kept)

    monkeypatch.setattr(type(children.recorder), "call", spy)
    made: dict[str, Any] = {}
    judge = candidate(MARKED.format(marks=NOWHERE))
    make = judge._problems["scale"].make_inputs
    monkeypatch.setattr(
        type(judge._problems["scale"]),
        "make_inputs",
        lambda self, rng, **sizes: made.update(make(rng, **sizes)) or made,
    )
    judge.check("scale", n=100)
    (frame,) = sent
    assert len(made["x"]) == 100
    for value in (*made["x"], made["factor"]):
        assert value.tobytes() not in frame
        assert repr(float(value)).encode() not in frame


def test_expected_values_and_fills_tell_the_runner_nothing(candidate, children, monkeypatch):
    sent: list[bytes] = []
    call = type(children.runner).call

    def spy(child: Any, request: Any, limits: Any, **kept: Any) -> Any:
        if child is children.runner and "plan" in request.header:
            sent.append(b"".join(bytes(piece) for piece in encode(request)))
        return call(child, request, limits, **kept)

    monkeypatch.setattr(type(children.runner), "call", spy)
    judge = candidate(MARKED.format(marks=NOWHERE), seed=0x5EED5EED5EED5EED)
    judge.check("scale", n=100)
    expected = judge._problems["scale"].expected(
        judge._problems["scale"].make_inputs(judge._rng("scale(n=100)"), n=100)
    )
    (frame,) = sent
    for value in expected["out"]:
        assert value.tobytes() not in frame
        assert np.float32(value).tobytes() not in frame
    assert str(judge._settings.seed).encode() not in frame
    assert judge._settings.seed.to_bytes(8, "little") not in frame


@pytest.mark.parametrize(
    "path",
    [
        "os",
        "builtins.__import__",
        "numba.core.types",
        "numba.extending.intrinsic",
        "numpy.ctypeslib.os",
        "numba.cuda.__file__",
        "sys.modules",
        "grader",
        "grader.vector_access",
        "grader.vector_access.intrinsic",
        "grader.vector_access.load4.OFFERED",
        "grader.recorder",
    ],
)
def test_names_outside_the_fixed_list_are_refused(path):
    plan = _plan(names={"thing": NameConstant(path=path)})
    with pytest.raises(Refused):
        Binder(KernelsText(b"def kernel():\n    thing()\n"), plan.functions).kernel(0)
    with pytest.raises(KeyError):
        resolve_name(path)


@pytest.mark.parametrize(
    "path",
    [
        "numba.cuda.grid",
        "math.sqrt",
        "numpy.float32",
        "numba.types.int32",
        "numba.cuda.libdevice.fast_expf",
        "grader.vector_access.load4",
        "grader.vector_access.store4",
    ],
)
def test_names_of_the_fixed_list_are_bound(path):
    assert resolve_name(path) is not None


@pytest.mark.parametrize(
    "change", [{"code": 7}, {"qualname": "other"}, {"line": 3}, {"code": 0, "qualname": "<module>", "line": 3}]
)
def test_a_kernel_that_is_not_in_the_text_is_refused(change):
    with pytest.raises(Refused) as refused:
        Binder(KernelsText(b"def kernel():\n    pass\n"), _plan(**change).functions).kernel(0)
    assert refused.value.failure.kind == "malformed-plan"


def test_bound_functions_see_no_builtins_and_no_module():
    kernel = Binder(KernelsText(b"import os\ndef kernel():\n    os.system('true')\n"), _plan(line=2).functions).kernel(
        0
    )
    assert kernel.function.__globals__["__builtins__"] == {}
    assert "os" not in kernel.function.__globals__


def test_a_named_tuple_is_made_again_from_names_and_constants():
    text = b"def kernel():\n    return P, p, inner\n"
    made = NamedTupleClassConstant(name="P", fields=("x", "y"), defaults=(FloatConstant(value="0x1.8000000000000p+1"),))
    value = NamedTupleConstant(type=made, items=(IntConstant(value=1), NoneConstant()))
    inner = NamedTupleConstant(type=made, items=(value, TupleConstant(items=(value,))))
    kernel = Binder(KernelsText(text), _plan(names={"P": made, "p": value, "inner": inner}).functions).kernel(0)
    scope = kernel.function.__globals__
    assert scope["P"]._fields == ("x", "y")
    assert scope["P"](2) == (2, 3.0)
    assert type(scope["p"]) is scope["P"]  # Numba takes another class of the same name for another type
    assert type(scope["inner"].x) is scope["P"]
    assert (scope["p"].x, scope["p"].y) == (1, None)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "x): pass"},
        {"name": "class"},
        {"name": ""},
        {"fields": ("x", "x")},
        {"fields": ("x", "__class__")},
        {"fields": ("_x",)},
        {"fields": ("x, y",)},
        {"fields": ("x=__import__('os')",)},
        {"fields": ("lambda",)},
        {"fields": ("x\n",)},
        {"fields": ("²",)},
        {"fields": tuple(f"x{i}" for i in range(65))},
        {"fields": (), "defaults": (NoneConstant(),)},
    ],
)
def test_a_named_tuple_that_python_could_not_make_is_no_plan(change):
    with pytest.raises(ValidationError):
        NamedTupleClassConstant(**{"name": "P", "fields": ("x", "y")} | change)


def test_a_named_tuple_has_an_item_for_each_field():
    made = NamedTupleClassConstant(name="P", fields=("x", "y"))
    with pytest.raises(ValidationError):
        NamedTupleConstant(type=made, items=(NoneConstant(),))


def test_the_constants_in_a_named_tuple_are_checked_like_all_others():
    made = NamedTupleClassConstant(name="P", fields=("x",), defaults=(FunctionConstant(index=7),))
    for constant in (made, NamedTupleConstant(type=made, items=(NoneConstant(),))):
        with pytest.raises(ValidationError, match="function 7"):
            _plan(names={"p": constant})
    deep: Any = NoneConstant()
    for _ in range(6):
        deep = NamedTupleConstant(type=NamedTupleClassConstant(name="P", fields=("x",)), items=(deep,))
    with pytest.raises(ValidationError, match="nest deeper"):
        _plan(names={"p": deep})


def test_an_argument_of_a_kernel_is_data_only():
    for inner in (FunctionConstant(index=0), TupleConstant(items=(FunctionConstant(index=0),))):
        launch = Launch(kernel=0, grid=(1, 1, 1), block=(1, 1, 1), arguments=(TupleConstant(items=(inner,)),), line=1)
        with pytest.raises(ValidationError, match="cannot be a kernel's argument"):
            LaunchPlan.model_validate(_plan().model_dump() | {"operations": (launch,)})


def test_a_captured_enum_is_made_again_from_its_names_and_values():
    made = EnumClassConstant(name="E", base="IntEnum", members=(_member("A", 1), _member("B", 2), _member("ALSO_A", 1)))
    names = {"E": made, "b": EnumMemberConstant(type=made, member="B"), "again": made.model_copy()}
    scope = (
        Binder(KernelsText(b"def kernel():\n    E, b\n"), _plan(names=names).functions).kernel(0).function.__globals__
    )
    assert scope["E"] is scope["again"]  # Numba takes another class of the same name for another type
    assert scope["b"] is scope["E"].B
    assert scope["E"].__mro__[1] is enum.IntEnum
    assert {name: member.value for name, member in scope["E"].__members__.items()} == {"A": 1, "B": 2, "ALSO_A": 1}
    assert scope["E"].ALSO_A is scope["E"].A


def test_names_of_an_enum_cannot_replace_what_classes_are_made_with():
    for name in ("__new__", "__init__", "_missing_", "_ignore_", "_value_", "mro", "a b", "class", "a.b"):
        with pytest.raises(ValidationError):
            _member(name, 1)
    for name in ("name", "value", "real", "to_bytes", "conjugate", "keys"):
        made = EnumClassConstant(name="E", base="IntEnum", members=(_member(name, 3),))
        binder = Binder(KernelsText(b"def kernel():\n    e\n"), _plan(names={"e": made}).functions)
        assert binder.kernel(0).function.__globals__["e"].__members__[name] == 3


def test_records_are_made_again_from_their_fields():
    dtype = np.dtype([("x", np.float32), ("n", np.int64, (2,))], align=True)
    names = {"d": DTypeConstant(dtype=plan_dtype(dtype)), "t": RecordTypeConstant(dtype=plan_dtype(dtype))}
    scope = (
        Binder(KernelsText(b"def kernel():\n    d, t\n"), _plan(names=names).functions).kernel(0).function.__globals__
    )
    assert scope["d"] == dtype
    assert scope["d"].isalignedstruct
    assert scope["t"] == numba.from_dtype(dtype)


@pytest.mark.parametrize("reason", ["enum", "record", "record-type"])
def test_a_captured_enum_or_dtype_that_is_more_is_refused_with_what_to_write_instead(reason):
    plan = _plan(names={"Color": UnsupportedConstant(type_name="EnumType", reason=reason)})
    with pytest.raises(Refused) as refused:
        Binder(KernelsText(b"def kernel():\n    Color.RED\n"), plan.functions).kernel(0)
    told = {"enum": "an enum", "record": "a record by itself", "record-type": "a dtype"}
    assert told[reason] in refused.value.failure.what
    assert refused.value.failure.advice


def _member(name: str, value: int) -> EnumMember:
    return EnumMember(name=name, value=IntConstant(value=value))


def _plan(**changes: Any) -> LaunchPlan:
    fields = {"code": 1, "qualname": "kernel", "line": 1, "role": "kernel"} | changes
    return LaunchPlan(entry="scale", buffers=(), functions=(Function(**fields),), operations=())
