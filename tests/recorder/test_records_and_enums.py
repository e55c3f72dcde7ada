"""Arrays of records and enums, as the recorder writes them down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.gpu_models import DEFAULT
from grader.plan import Copy, Fill, Launch, LaunchPlan
from grader.plan_constants import EnumClassConstant, EnumMemberConstant, UnsupportedConstant
from grader.plan_dtypes import RecordDType, numpy_dtype, plan_dtype
from grader.plan_memory import DataArgument, View
from grader.plan_values import (
    ArrayConstant,
    DTypeConstant,
    FloatConstant,
    IntConstant,
    RecordTypeConstant,
    StringConstant,
)
from grader.problem import Output
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.warm_child import WarmChild

Recorded = Callable[..., LaunchPlan | Failure]
CORNER = np.dtype([("u", np.int32), ("v", np.float64)], align=True)
CELL = np.dtype([("id", np.uint8), ("corners", CORNER, (2,)), ("m", np.float32, (2, 3))], align=True)
INPUTS = {
    "p": np.zeros((4, 5), CELL),
    "one": np.zeros((), CELL)[()],
    "out": Output((20,), CELL),
}
PRELUDE = """
import numpy as np
from numba import cuda
@cuda.jit
def k(a, b=0):
    pass
"""


@pytest.fixture
def plan_of(recorder: WarmChild) -> Callable[[str], Any]:
    """The plan or failure of ``f(p, one, out)`` with a body."""

    def run(body: str) -> Any:
        lines = "\n    ".join(body.strip().splitlines())
        answer = record(
            recorder,
            f"{PRELUDE}def f(p, one, out):\n    {lines}\n".encode(),
            [Call("f", INPUTS)],  # type: ignore[arg-type]
            DEFAULT,
            Limits(cpu_seconds=10, wall_seconds=20),
        )
        return answer if isinstance(answer, Failure) else answer[0]

    return run


def views_of(plan: Any) -> list[View]:
    assert isinstance(plan, LaunchPlan), plan
    return [
        argument
        for operation in plan.operations
        if isinstance(operation, Launch)
        for argument in operation.arguments
        if isinstance(argument, View)
    ]


@pytest.mark.parametrize(
    "dtype",
    [
        CELL,
        np.dtype([("a", "u1"), ("b", "f8"), ("c", "?")]),
        np.dtype({"names": ["late", "early"], "formats": ["f4", "c16"], "offsets": [20, 0], "itemsize": 32}),
        np.dtype([("h", "f2"), ("n", [("i", "i8"), ("deep", [("x", "f4", (3,))])])]),
        np.dtype(np.int16),
    ],
    ids=str,
)
def test_a_dtype_comes_out_of_a_plan_as_it_went_in(dtype: np.dtype[Any]) -> None:
    found = numpy_dtype(plan_dtype(dtype))
    assert found == dtype
    assert found.isalignedstruct == dtype.isalignedstruct


def test_arrays_of_records_are_views_with_their_fields(plan_of: Callable[[str], Any]) -> None:
    whole, output = views_of(plan_of("k[1, 1](p)\nk[1, 1](out[3:7])"))
    assert numpy_dtype(whole.dtype) == CELL
    assert isinstance(whole.dtype, RecordDType)
    assert whole.dtype.aligned
    assert (whole.shape, whole.strides) == ((4, 5), (5 * CELL.itemsize, CELL.itemsize))
    assert (output.shape, output.offset) == ((4,), 3 * CELL.itemsize)


@pytest.mark.parametrize(
    "key",
    ["p['id']", "p['m']", "p['corners']", "p['corners']['v']", "p[1:, ::2]['m']", "p[['m', 'id']]", "p['m'][2, 1:]"],
)
def test_fields_are_the_views_that_numpy_makes(plan_of: Callable[[str], Any], key: str) -> None:
    p = np.zeros((4, 5), CELL)
    wanted = eval(key)
    (found,) = views_of(plan_of(f"k[1, 1]({key})"))
    assert numpy_dtype(found.dtype) == wanted.dtype
    assert (found.shape, found.strides) == (wanted.shape, wanted.strides)
    assert found.offset == wanted.__array_interface__["data"][0] - p.__array_interface__["data"][0]


def test_what_numpy_knows_without_contents_is_known(plan_of: Callable[[str], Any]) -> None:
    checks = """
assert p.dtype.names == ("id", "corners", "m") and p.itemsize == p.dtype.itemsize == 64 and p.nbytes == 20 * 64
assert p.dtype["corners"].shape == (2,) and p["corners"].dtype.names == ("u", "v") and p["m"].ndim == 4
assert one.dtype == p.dtype and one.itemsize == 64 and np.empty_like(p).dtype == p.dtype
assert p.view(np.uint8).shape == (4, 320) and out.view(np.float32).view(p.dtype).shape == (20,)
assert out.reshape(5, 4)["id"].strides == (256, 64) and cuda.device_array_like(out).dtype == out.dtype
k[1, 1](p)
"""
    assert isinstance(plan_of(checks), LaunchPlan)


REFUSED = {
    "p[1, 2]": ("contents-read", "element (1, 2)"),
    "p[1, 2]['id']": ("contents-read", "element (1, 2)"),
    "p['id'][1, 2]": ("contents-read", "element (1, 2)"),
    "one['id']": ("contents-read", "the number one"),
    "p['colour']": ("exception", "no field 'colour' in the device array p: its fields are id, corners, m"),
    "p['id']['x']": ("exception", "no field 'x' in the device array p: it is one of uint8"),
    "p['m'] == 1": ("contents-read", "the operator =="),
    "cuda.device_array(3, [('s', 'U4')])": ("wrong-dtype", "the field s of a record: <U4 is no dtype of numbers"),
    "cuda.device_array(3, {'names': 'ab', 'formats': ['f4', 'f4'], 'offsets': [0, 2]})": ("wrong-dtype", "overlaps"),
    "cuda.to_device(np.zeros(3, [('o', object)]))": ("wrong-dtype", "object is no dtype"),
    "cuda.device_array(3, [(f'x{i}', 'f4') for i in range(65)])": ("wrong-dtype", "65 fields: at most 64"),
    "cuda.device_array(3, [('m', 'f8', (64, 64))])": ("wrong-dtype", "32,768 bytes: at most 16,384"),
    "cuda.device_array(3, [('a b', 'f8')])": ("wrong-dtype", "'a b': use letters, digits and _"),
    "cuda.device_array(3, [(('title', 'a'), 'f8')])": ("wrong-dtype", "the field a of a record has a title"),
    "out[:] = p['id']": ("wrong-dtype", "is assigned to one of"),
    "out['id'][:] = one": ("wrong-dtype", "is assigned to one of uint8"),
    "out[:] = (1, 2)": ("exception", "ValueError"),
}


@pytest.mark.parametrize(("body", "told"), REFUSED.items(), ids=REFUSED)
def test_what_records_cannot_give_is_one_sentence(
    plan_of: Callable[[str], Any], body: str, told: tuple[str, str]
) -> None:
    failure = plan_of(f"{body}\nk[1, 1](p)")
    assert isinstance(failure, Failure)
    assert failure.kind == told[0]
    assert told[1] in str(failure)


def test_assignments_to_records_are_fills_and_copies(plan_of: Callable[[str], Any]) -> None:
    plan = plan_of(
        "out[:] = one\nout[2:] = p[1, :1]\nout['id'] = 7\nout[:] = 0\nout['corners'][:] = (1, 2.5)\n"
        "out[:4] = np.zeros(4, out.dtype)\nk[1, 1](out)"
    )
    by_call, copy, field, zero, corner, upload = plan.operations[:6]
    assert isinstance(by_call, Fill)
    assert isinstance(by_call.value, DataArgument)
    assert isinstance(copy, Copy)
    assert copy.source.strides == (0,)
    assert isinstance(field, Fill)
    assert (field.target.dtype, field.target.strides, field.value) == ("|u1", (64,), IntConstant(value=7))
    for filled, wanted in ((zero, np.zeros((), CELL)), (corner, np.array((1, 2.5), CORNER))):
        assert isinstance(filled, Fill)
        assert isinstance(filled.value, ArrayConstant)
        assert filled.value.dtype == filled.target.dtype == plan_dtype(wanted.dtype)
    assert isinstance(upload, Copy)


CAPTURES = """
import enum
D = np.dtype([("x", np.float32), ("n", np.int64)])
{made}
VALUE = {value}
@cuda.jit
def g(x):
    x[0] = VALUE
"""


def captured(recorded: Recorded, made: str, value: str) -> Any:
    plan = recorded("g[1, 1](out)", CAPTURES.format(made=made, value=value))
    assert isinstance(plan, LaunchPlan), plan
    return plan.functions[0].names["VALUE"]


def test_structured_dtypes_their_numba_types_and_tables_of_records_are_captured(recorded: Recorded) -> None:
    dtype = plan_dtype(np.dtype([("x", np.float32), ("n", np.int64)]))
    assert captured(recorded, "", "D") == DTypeConstant(dtype=dtype)
    assert captured(recorded, "", "numba.from_dtype(D)") == RecordTypeConstant(dtype=dtype)  # type: ignore[arg-type]
    table = captured(recorded, "", "np.array([(1, 2), (3, 4)], D)")
    assert isinstance(table, ArrayConstant)
    assert (table.dtype, table.shape) == (dtype, (2,))
    assert captured(recorded, "", "np.zeros(2, D)[1]").reason == "record"
    for value in ("np.dtype([('s', 'S4')])", "numba.from_dtype(np.dtype([('s', 'S4')]))"):
        assert captured(recorded, "", value).reason == "record-type"


def test_a_signature_may_have_records(recorded: Recorded) -> None:
    module = """
    T = numba.from_dtype(np.dtype([("x", np.float32)]))
    @cuda.jit((numba.types.Array(T, 1, "C"), T))
    def g(a, b):
        a[0].x = b.x
    """
    plan = recorded("g[1, 1](cuda.device_array(3, [('x', 'f4')]), np.zeros(1, [('x', 'f4')])[0])", module)
    assert isinstance(plan, LaunchPlan), plan
    (signature,) = plan.functions[0].signatures
    assert [(isinstance(t.dtype, RecordDType), t.ndim) for t in signature] == [(True, 1), (True, None)]


def names_and_values(found: Any) -> list[tuple[str, Any]]:
    return [(member.name, getattr(member.value, "value", member.value.kind)) for member in found.members]


@pytest.mark.parametrize("base", ["Enum", "IntEnum"])
def test_an_enum_is_its_names_and_values(recorded: Recorded, base: str) -> None:
    made = f"class E(enum.{base}):\n    A = 1\n    B = enum.auto()\n    ALSO_A = 1\n    def twice(self): return 2"
    kind = captured(recorded, made, "E")
    assert isinstance(kind, EnumClassConstant)
    assert (kind.name, kind.base) == ("E", base)
    assert names_and_values(kind) == [("A", 1), ("B", 2), ("ALSO_A", 1)]
    assert captured(recorded, made, "E.ALSO_A") == EnumMemberConstant(type=kind, member="A")
    assert captured(recorded, made, "(E.B, 3)").items == (
        EnumMemberConstant(type=kind, member="B"),
        IntConstant(value=3),
    )
    plan = recorded("kernel[1, 1](E.B, out)", "import enum\n" + made)
    assert isinstance(plan, LaunchPlan), plan
    assert plan.operations[0].arguments[0] == EnumMemberConstant(type=kind, member="B")  # type: ignore[union-attr]


def test_values_of_an_enum_may_be_tuples_texts_and_numpys(recorded: Recorded) -> None:
    for value, kind in (("(1, (2.5, None))", "tuple"), ("'text'", "str"), ("np.float32(2)", "array"), ("True", "bool")):
        found = captured(recorded, f"class E(enum.Enum):\n    A = {value}", "E")
        assert [member.value.kind for member in found.members] == [kind]


def test_a_member_that_is_also_a_number_is_that_number_as_numba_has_it(recorded: Recorded) -> None:
    for base, value, wanted in (
        ("int, enum.Enum", "5", IntConstant(value=5)),
        ("float, enum.Enum", "0.5", FloatConstant(value=(0.5).hex())),
        ("enum.StrEnum", "'a'", StringConstant(value="a")),
        ("enum.IntFlag", "4", IntConstant(value=4)),
    ):
        made = f"class E({base}):\n    A = {value}"
        assert captured(recorded, made, "E.A") == wanted
        assert captured(recorded, made, "E").base == "Enum"
    flags = "class E(enum.IntFlag):\n    A = 1\n    B = 2"
    assert captured(recorded, flags, "E.A | E.B") == IntConstant(value=3)


OTHERS = {
    "a value of its own": "class E(enum.Enum):\n    A = 1\n    @property\n    def value(self): return 7",
    "a value of its mixin": "class M:\n    value = 7\nclass E(M, enum.Enum):\n    A = 1",
    "a metaclass": "class T(enum.EnumType):\n    pass\nclass E(enum.Enum, metaclass=T):\n    A = 1",
    "a number of NumPy": "class E(np.float64, enum.Enum):\n    A = 1",
    "names with an underscore": "class E(enum.Enum):\n    _A = 1\n    A = _A",
    "a value that is no data": "class E(enum.Enum):\n    A = [1]",
    "an array as a value": "class E(enum.Enum):\n    A = np.zeros(2)",
    "functions in a value": "class E(enum.Enum):\n    A = (math.sin, 1)",
    "too many members": "E = enum.Enum('E', [f'x{i}' for i in range(257)])",
    "another map of members": "class E(enum.Enum):\n    A = 1\nA = E.A\ntype.__setattr__(E, '_member_map_', {'A': 3})",
    "a name that is none": "class E(enum.Enum):\n    A = 1\nE.__name__ = 'a b'",
}


@pytest.mark.parametrize("made", OTHERS.values(), ids=OTHERS)
def test_an_enum_that_is_more_is_unsupported_and_named_as_such(recorded: Recorded, made: str) -> None:
    for value in ("E",) if made == OTHERS["a number of NumPy"] else ("E", "E._member_map_[min(E._member_map_)]"):
        if value != "E" and "_member_map_" in made:
            value = "A"  # noqa: PLW2901
        found = captured(recorded, made, value)
        assert isinstance(found, UnsupportedConstant), found
        assert found.reason == "enum"


def test_a_member_that_no_kernel_can_be_given_is_named(recorded: Recorded) -> None:
    for value in ("'text'", "[1]"):
        failure = recorded("kernel[1, 1](E.A, out)", f"import enum\nclass E(enum.Enum):\n    A = {value}")
        assert isinstance(failure, Failure)
        assert failure.kind == "wrong-arguments"
        assert "E.A" in failure.found


def test_a_combination_of_flags_without_a_name_is_unsupported(recorded: Recorded) -> None:
    found = captured(recorded, "class E(enum.Flag):\n    A = 1\n    B = 2", "E.A | E.B")
    assert isinstance(found, UnsupportedConstant)
