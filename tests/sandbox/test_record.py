"""The parent's side of the recorder: what it sends, and that it believes nothing of what comes back."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.errors import AuthoringError, ChildFault
from grader.gpu_models import DEFAULT
from grader.plan import LaunchPlan
from grader.problem import Output
from grader.records import Failure
from grader.sandbox.ends import Death, Reply
from grader.sandbox.frames import encode
from grader.sandbox.limits import Limits
from grader.sandbox.no_plan import failure_of
from grader.sandbox.protocol import Message
from grader.sandbox.record import Call, record, request_for
from grader.sandbox.warm_child import WarmChild

LIMITS = Limits(cpu_seconds=5, wall_seconds=10)
INPUTS = {"x": np.zeros(5, np.float32), "alpha": np.float32(2), "n": 7, "flag": True, "out": Output((5,), np.float32)}
CALL = Call("f", INPUTS)  # type: ignore[arg-type]
VIEW = {"kind": "view", "buffer": 1, "dtype": "<f4", "shape": [5], "strides": [4], "offset": 0}
PLAN: dict[str, Any] = {
    "entry": "f",
    "buffers": [
        {"name": "x", "origin": "argument", "nbytes": 20},
        {"name": "out", "origin": "argument", "nbytes": 20},
    ],
    "functions": [{"code": 1, "qualname": "k", "line": 1, "role": "kernel"}],
    "operations": [
        {
            "op": "launch",
            "kernel": 0,
            "grid": [1, 1, 1],
            "block": [32, 1, 1],
            "arguments": [VIEW, {"kind": "data", "name": "alpha"}],
            "line": 3,
        }
    ],
}


class Answering:
    """A child in whose place stands one answer."""

    def __init__(self, answer: Reply | Death) -> None:
        self._answer = answer

    def call(self, request: Message, limits: Limits) -> Reply | Death:
        self.limits = limits
        return self._answer


def answered(header: dict[str, Any]) -> tuple[LaunchPlan, ...] | Failure:
    child: Any = Answering(Reply(Message(header), "", 0.1, 0.1))
    return record(child, b"", [CALL], DEFAULT, LIMITS)


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    plan = copy.deepcopy(PLAN)
    change(plan)
    return {"plans": [plan]}


def test_no_value_of_an_input_is_in_the_request() -> None:
    rng = np.random.default_rng(5)
    inputs = {
        "x": rng.bytes(8),
        "scalar": np.float64(rng.normal()),
        "whole": np.int64(0x1234_5678_9ABC_DEF0),
        "out": Output((3,), np.float32),
    }
    inputs["x"] = np.frombuffer(inputs["x"] * 4, np.float32)
    frame = b"".join(encode(request_for(b"# text", [Call("f", inputs)], DEFAULT)))  # type: ignore[arg-type]
    assert b"# text" in frame
    assert b'"scalar"' in frame
    for name in ("x", "scalar", "whole"):
        value = np.asarray(inputs[name])
        assert value.tobytes()[:8] not in frame
        assert value.tobytes()[:4] not in frame
        for number in value.ravel()[:8]:
            assert repr(number.item())[:8].encode() not in frame


def test_configuration_travels_with_its_value() -> None:
    arguments = request_for(b"", [CALL], DEFAULT).header["calls"][0]["arguments"]
    assert {a["name"]: a.get("value") for a in arguments} == {
        **{"x": None, "alpha": None, "n": 7, "flag": True, "out": None}
    }


def test_an_input_of_another_kind_is_the_authors_mistake() -> None:
    with pytest.raises(AuthoringError, match="'x' is a list"):
        request_for(b"", [Call("f", {"x": [1]})], DEFAULT)  # type: ignore[dict-item]


def test_arrays_in_the_answer_are_neither_taken_nor_waited_for() -> None:
    answer = Message({"plans": [PLAN]}, {"x": np.zeros(5, np.float32)})
    child: Any = Answering(Reply(answer, "", 0.1, 0.1))
    found = record(child, b"", [CALL], DEFAULT, LIMITS)
    assert isinstance(found, Failure)
    assert "arrays" in str(found)
    # Of the largest plan there is room for each byte, and of no more.
    assert child.limits.reply_bytes < 17 << 20


def test_a_right_plan_is_believed() -> None:
    plans = answered({"plans": [PLAN]})
    assert isinstance(plans, tuple)
    assert plans[0].operations[0].op == "launch"
    for header in (with_buffer(data="AAAAAA=="), with_fill(), with_argument(SCALAR)):
        assert isinstance(answered(header), tuple)


SCRATCH = {"name": "scratch", "origin": "scratch", "nbytes": 4}
SCALAR = {"kind": "array", "dtype": "<f4", "shape": [], "scalar": True, "data": "AAAAAA=="}
FILL = {"op": "fill", "target": VIEW, "value": SCALAR, "line": 1}
HUGE = {"shape": [2**30, 2**30], "strides": [0, 0]}


def with_buffer(**fields: Any) -> dict[str, Any]:
    return changed(lambda p: p["buffers"].append(SCRATCH | fields))


def with_fill(**fields: Any) -> dict[str, Any]:
    return changed(lambda p: p["operations"].append(FILL | fields))


def with_argument(argument: dict[str, Any]) -> dict[str, Any]:
    return changed(lambda p: p["operations"][0]["arguments"].append(argument))


def record_of(*fields: dict[str, Any], itemsize: int = 4, **other: Any) -> dict[str, Any]:
    return {"fields": list(fields), "itemsize": itemsize} | other


def field(name: Any = "x", dtype: Any = "<f4", offset: Any = 0, **other: Any) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "offset": offset} | other


def nested(depth: int) -> dict[str, Any]:
    made = record_of(field())
    for _ in range(depth - 1):
        made = record_of(field(dtype=made))
    return made


def with_dtype(dtype: Any) -> dict[str, Any]:
    return with_argument(VIEW | {"dtype": dtype})


def with_name(constant: Any) -> dict[str, Any]:
    return changed(lambda p: p["functions"][0].update(names={"E": constant}))


def enum_of(*members: tuple[Any, Any], name: Any = "E", base: Any = "Enum") -> dict[str, Any]:
    made = [{"name": n, "value": v if isinstance(v, dict) else {"kind": "int", "value": v}} for n, v in members]
    return {"kind": "enum-class", "name": name, "base": base, "members": made}


SINE: Any = {"kind": "name", "path": "math.sin"}
WRONG_DTYPES = {
    "objects": "|O",
    "a text": "<U4",
    "a date": "<M8[s]",
    "raw bytes": "|V4",
    "the other byte order": ">f4",
    "a list of pairs": [["x", "<f4"]],
    "numpy's own text": "x: <f4",
    "a code to evaluate": "i4,(2,3)f8",
    "no fields": record_of(),
    "a field of objects": record_of(field(dtype="|O"), itemsize=8),
    "a field of dates": record_of(field(dtype="<m8[ns]"), itemsize=8),
    "two fields of one name": record_of(field(), field(offset=4), itemsize=8),
    "fields over each other": record_of(field(), field("y", offset=2), itemsize=8),
    "a field within another": record_of(field("y", "|u1", 1), field()),
    "a field past the end": record_of(field(offset=4)),
    "an array past the end": record_of(field(shape=[2])),
    "a field before the start": record_of(field(offset=-4)),
    "a field far out": record_of(field(offset=2**62), itemsize=2**62),
    "an enormous record": record_of(field(), itemsize=16_385),
    "an enormous array": record_of(field(shape=[2**40, 2**40]), itemsize=16),
    "an array of nothing": record_of(field(shape=[0])),
    "an array of less": record_of(field(shape=[-1])),
    "too many axes": record_of(field(shape=[1] * 9)),
    "a record of nothing": record_of(itemsize=0),
    "too many fields": record_of(*[field(f"x{i}", "|u1", i) for i in range(65)], itemsize=65),
    "records too deep": nested(5),
    "records far too deep": nested(200),
    "a name that is none": record_of(field("a b")),
    "a name that steers a terminal": record_of(field("\x1b[31m")),
    "an empty name": record_of(field("")),
    "a long name": record_of(field("x" * 101)),
    "a name that is a number": record_of(field(7)),
    "a title": record_of(field(title="t")),
    "an alignment that is none": record_of(field(dtype="<f8", offset=4), itemsize=12, aligned=True),
    "a size that is not aligned": record_of(field(), itemsize=7, aligned=True),
    "a flag that is a number": record_of(field(), aligned=1),
    "an offset that is a text": record_of(field(offset="0")),
    "a pickle": record_of(field(dtype="gASVBgAAAAAAAAB9lC4=")),
}
RECORD = record_of(field())
WRONG_CONSTANTS = {
    "an enum without members": enum_of(),
    "two members of one name": enum_of(("A", 1), ("A", 2)),
    "too many members": enum_of(*[(f"x{i}", i) for i in range(257)]),
    "another base": enum_of(("A", 1), base="Flag"),
    "a class named like code": enum_of(("A", 1), name="E(object)"),
    "a class named like a keyword": enum_of(("A", 1), name="class"),
    "a special method": enum_of(("__init__", 1)),
    "a name that enums keep": enum_of(("_ignore_", 1)),
    "the method of classes": enum_of(("mro", 1)),
    "a name with a space": enum_of(("A B", 1)),
    "a function as a value": enum_of(("A", SINE)),
    "a function in a value": enum_of(("A", {"kind": "tuple", "items": [{"kind": "int", "value": 1}, SINE]})),
    "an enum as a value": enum_of(("A", enum_of(("B", 1)))),
    "an array as a value": enum_of(("A", SCALAR | {"shape": [1], "scalar": False})),
    "a record as a value": enum_of(("A", SCALAR | {"dtype": RECORD})),
    "a number too large": enum_of(("A", 2**64)),
    "a text in an IntEnum": enum_of(("A", {"kind": "str", "value": "1"}), base="IntEnum"),
    "a tuple in an IntEnum": enum_of(("A", {"kind": "tuple", "items": []}), base="IntEnum"),
    "a member that is none": {"kind": "enum", "type": enum_of(("A", 1)), "member": "B"},
    "a member of no enum": {"kind": "enum", "type": {"kind": "int", "value": 1}, "member": "A"},
    "a type of no record": {"kind": "record-type", "dtype": "<f4"},
    "a table that is too short": SCALAR | {"dtype": RECORD, "data": "AAAA"},
    "a record by itself": SCALAR | {"dtype": RECORD},
    "a record in a tuple": {"kind": "tuple", "items": [SCALAR | {"dtype": RECORD}]},
    "a record for a number": {"kind": "int", "value": {"fields": []}},
}


@pytest.mark.parametrize("dtype", WRONG_DTYPES.values(), ids=WRONG_DTYPES)
def test_a_dtype_that_kernels_cannot_have_is_refused_in_one_sentence(dtype: Any) -> None:
    for header in (with_dtype(dtype), with_name({"kind": "dtype", "dtype": dtype})):
        failure = answered(header)
        assert isinstance(failure, Failure)
        assert failure.kind == "malformed-plan"
        assert 0 < len(failure.found) < 400
        assert "\x1b" not in failure.found


def test_a_member_of_an_enum_of_texts_is_no_argument() -> None:
    made = enum_of(("A", {"kind": "str", "value": "a"}))
    for argument in ({"kind": "enum", "type": made, "member": "A"},):
        for header in (with_argument(argument), with_argument({"kind": "tuple", "items": [argument]})):
            failure = answered(header)
            assert isinstance(failure, Failure)
            assert "a text cannot be a kernel's argument" in failure.found


@pytest.mark.parametrize("constant", WRONG_CONSTANTS.values(), ids=WRONG_CONSTANTS)
def test_an_enum_or_record_that_is_none_is_refused_in_one_sentence(constant: Any) -> None:
    failure = answered(with_name(constant))
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"
    assert 0 < len(failure.found) < 400


def test_records_and_enums_are_believed() -> None:
    member = {"kind": "enum", "type": enum_of(("A", 1), ("B", 1)), "member": "B"}
    cell = record_of(field(), field("n", RECORD, 8, shape=[2]), itemsize=20, aligned=True)
    for header in (
        with_dtype(RECORD),
        with_name({"kind": "dtype", "dtype": cell}),
        with_name({"kind": "record-type", "dtype": nested(4)}),
        with_name(enum_of(("A", 1), base="IntEnum")),
        with_argument(member),
        with_argument({"kind": "arguments", "items": [member]}),
        with_argument({"kind": "tuple", "items": [member]}),
        with_fill(target=VIEW | {"dtype": RECORD}, value=SCALAR | {"dtype": RECORD}),
        with_fill(target=VIEW | {"dtype": RECORD}),
        with_argument(SCALAR | {"dtype": RECORD}),
    ):
        assert isinstance(answered(header), tuple)


def test_a_record_fills_and_is_copied_to_its_own_dtype_only() -> None:
    other = record_of(field("y"))
    for header in (
        with_fill(value=SCALAR | {"dtype": RECORD}),
        with_fill(target=VIEW | {"dtype": other}, value=SCALAR | {"dtype": RECORD}),
        changed(
            lambda p: p["operations"].append(
                {"op": "copy", "source": VIEW | {"dtype": RECORD}, "target": VIEW | {"dtype": other}, "line": 1}
            )
        ),
    ):
        assert isinstance(answered(header), Failure)
    call = Call("f", INPUTS | {"alpha": np.zeros((), "f4,f4")[()]})  # type: ignore[arg-type]
    child: Any = Answering(Reply(Message(with_fill(value={"kind": "data", "name": "alpha"})), "", 0.1, 0.1))
    failure = record(child, b"", [call], DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert "alpha, a record of another dtype" in failure.found


@pytest.mark.parametrize(
    ("dtype", "told"),
    [
        ([("o", object)], "the field o of a record: object is no dtype"),
        ("U3", "<U3 is no dtype"),
        (">f4", "byte order"),
        ({"names": "ab", "formats": ["f4", "f4"], "offsets": [0, 2]}, "the field b of a record overlaps another one"),
    ],
)
def test_a_dtype_of_an_input_that_kernels_cannot_have_is_the_authors_mistake(dtype: Any, told: str) -> None:
    for value in (np.zeros(3, dtype), Output((3,), dtype)):
        with pytest.raises(AuthoringError, match=told):
            request_for(b"", [Call("f", {"x": value})], DEFAULT)


WRONG = {
    "contents that are too long": with_buffer(data="AAAAAAA="),
    "contents that are too short": with_buffer(data="AAAA"),
    "contents without padding": with_buffer(data="AAAAAA"),
    "a constant too long": with_argument(SCALAR | {"data": "AAAAAAA="}),
    "a constant without padding": with_argument(SCALAR | {"data": "AAAAAA"}),
    "a scalar with a shape": with_argument(SCALAR | {"shape": [1]}),
    "a float out of range": with_argument({"kind": "float", "value": "0x1.0p+99999"}),
    "a float in other digits": with_argument({"kind": "float", "value": "0x1.0p+\u0663"}),
    "a constant of nothing in a huge shape": changed(
        lambda p: p["functions"][0].update(
            names={"t": SCALAR | {"shape": [0, 2**60, 2**60], "scalar": False, "data": ""}}
        )
    ),
    "a fill without padding": with_fill(value=SCALAR | {"data": "AAAAAA"}),
    "a fill with an array": with_fill(value=SCALAR | {"shape": [1], "scalar": False}),
    "a fill of one element without end": with_fill(target=VIEW | HUGE),
    "a copy of one element without end": changed(
        lambda p: p["operations"].append({"op": "copy", "source": VIEW | HUGE, "target": VIEW | HUGE, "line": 1})
    ),
    "an argument that is one element without end": with_argument(VIEW | HUGE),
    "a view of nothing in a huge shape": with_argument(VIEW | {"shape": [0, 2**60], "strides": [0, 0]}),
    "no plan": {"plans": []},
    "two plans": {"plans": [PLAN, PLAN]},
    "no list": {"plans": PLAN},
    "nothing": {},
    "plan and problem": {"plans": [PLAN], "problem": {}},
    "other keys": {"plans": [PLAN], "score": 100},
    "another entry": changed(lambda p: p.update(entry="g")),
    "a buffer missing": changed(lambda p: p["buffers"].pop(0)),
    "a buffer too large": changed(lambda p: p["buffers"][1].update(nbytes=24)),
    "a buffer too many": changed(
        lambda p: p["buffers"].append({"name": "y", "origin": "argument", "nbytes": 4}),
    ),
    "an argument with contents": changed(lambda p: p["buffers"][0].update(data="AAAAAAAAAAAAAAAAAAAAAAAAAAA=")),
    "a number that is not there": changed(lambda p: p["operations"][0]["arguments"][1].update(name="beta")),
    "a number in a tuple": changed(
        lambda p: p["operations"][0]["arguments"].append(
            {"kind": "arguments", "items": [{"kind": "data", "name": "seed"}]}
        )
    ),
    "a number in a fill": changed(
        lambda p: p["operations"].append(
            {"op": "fill", "target": VIEW, "value": {"kind": "data", "name": "n"}, "line": 1}
        )
    ),
    "an unknown field": changed(lambda p: p.update(score=100)),
    "a float for an int": changed(lambda p: p["operations"][0].update(kernel=0.0)),
    "a string for an int": changed(lambda p: p["operations"][0].update(line="3")),
    "a view outside": changed(lambda p: p["operations"][0]["arguments"][0].update(offset=4)),
    "a kernel that is not there": changed(lambda p: p["operations"][0].update(kernel=1)),
    "deep nesting": changed(lambda p: p["functions"][0].update(names={"x": json.loads("[" * 500 + "]" * 500)})),
    "a surrogate": changed(lambda p: p["functions"][0].update(qualname="\ud800")),
}


@pytest.mark.parametrize("header", WRONG.values(), ids=WRONG.keys())
def test_an_answer_that_is_no_plan_for_the_call_is_a_failure(header: dict[str, Any]) -> None:
    failure = answered(header)
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"
    assert failure.found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_change_of_a_plan_gives_a_plan_or_a_failure(data: st.DataObject) -> None:
    plan = copy.deepcopy(PLAN)
    place: Any = plan
    while isinstance(place, (dict, list)) and place:
        key = data.draw(st.sampled_from(sorted(place)) if isinstance(place, dict) else st.integers(0, len(place) - 1))
        if not isinstance(place[key], (dict, list)) or data.draw(st.booleans()):
            place[key] = data.draw(json_values)
            break
        place = place[key]
    answer = answered({"plans": [plan]})
    assert isinstance(answer, tuple) or answer.kind in {"malformed-plan", "no-launch"}


@given(json_values)
def test_a_reported_problem_is_a_failure_whatever_it_says(problem: Any) -> None:
    failure = answered({"problem": problem})
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"


def test_a_reported_problem_arrives_without_what_steers_a_terminal() -> None:
    fields = {"kind": "exception", "what": "a\x1b[31m\nb\u202e", "expected": "", "found": "", "where": "", "advice": ""}
    failure = answered({"problem": fields})
    assert isinstance(failure, Failure)
    assert failure.what == "a?[31m\nb?"
    for field in fields:
        too_long = answered({"problem": fields | {field: "x" * 5000}})
        assert isinstance(too_long, Failure)
        assert too_long.kind == "malformed-plan"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("time-out", "time-out"),
        ("stalled", "stalled"),
        ("signal", "crash"),
        ("memory", "memory"),
        ("exit", "exit"),
        ("protocol", "malformed-plan"),
    ],
)
def test_each_death_has_its_failure_with_something_to_try(kind: Any, expected: str) -> None:
    failure = failure_of(Death(kind, "the detail", "printed", 1.0, 2.0), replace(LIMITS, memory_bytes=1 << 20))
    assert failure.kind == expected
    assert "the detail" in failure.found
    assert "printed" in failure.found
    assert failure.advice


def test_a_stall_through_a_busy_machine_is_the_machines_fault() -> None:
    child: Any = Answering(Death("starved", "", "", 4.0, 10.0, starved_seconds=6.0))
    with pytest.raises(ChildFault, match="busy"):
        record(child, b"", [CALL], DEFAULT, LIMITS)


def test_a_plan_without_a_launch_is_a_failure_of_its_kind() -> None:
    for operations in ([], [FILL]):
        failure = answered(changed(lambda p, o=operations: p.update(operations=o)))  # type: ignore[misc]
        assert isinstance(failure, Failure)
        assert failure.kind == "no-launch"
        assert "f launched no kernel" in failure.what


def test_a_forged_answer_from_a_real_job_is_a_failure(child: WarmChild) -> None:
    text = b"answer = Message({'plans': [{'entry': 'f', 'buffers': [], 'functions': [], 'operations': []}]})"
    failure = record(child, text, [CALL], DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert failure.kind == "malformed-plan"
