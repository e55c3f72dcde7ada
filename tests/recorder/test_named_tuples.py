"""Named tuples that a kernel captured, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grader.plan import LaunchPlan
from grader.plan_constants import NamedTupleClassConstant, NamedTupleConstant, UnsupportedConstant
from grader.records import Failure

Recorded = Callable[..., LaunchPlan | Failure]

MADE = {
    "collections": "P = namedtuple('P', 'x count')",
    "typing": "class P(NamedTuple):\n    x: int\n    count: float",
    "typing with a method, a docstring and a repr": "class P(NamedTuple):\n    'A point.'\n    x: int\n"
    "    count: float\n    def norm(self): return self.x\n    def __repr__(self): return 'P'",
    "fields with docstrings": "P = namedtuple('P', 'x count')\nP.x.__doc__ = 'a number'",
}
OTHERS = {
    "derived": "class P(namedtuple('P', 'x y')): pass",
    "derived from tuple": "class P(tuple):\n    _fields = ('x', 'y')\n"
    "    def __new__(cls, *a): return tuple.__new__(cls, a)",
    "own item access": "class P(NamedTuple):\n    x: int\n    y: int\n    def __getitem__(self, i): return 7",
    "own iteration, put there later": "P = namedtuple('P', 'x y')\nP.__iter__ = lambda self: iter((7, 7))",
    "own constructor": "P = namedtuple('P', 'x y')\nnew = P.__new__\nP.__new__ = lambda cls, *a: new(cls, 7, 7)",
    "own field": "P = namedtuple('P', 'x y')\nP.x = property(lambda self: 7)",
    "fields exchanged": "P = namedtuple('P', 'x y')\nP.x, P.y = P.y, P.x",
    "fields under other names": "P = namedtuple('P', 'x y')\nP._fields = ('y', 'x')",
    "names that begin with an underscore": "P = namedtuple('P', ('x', '1'), rename=True)",
    "a metaclass": "class M(type): pass\nQ = namedtuple('Q', 'x y')\nP = M('P', (tuple,), dict(vars(Q)))",
    "more fields than a plan takes": "P = namedtuple('P', [f'x{i}' for i in range(65)], defaults=[0] * 65)",
}
MODULE = """
from collections import namedtuple
from typing import NamedTuple
{made}
VALUE = {value}
@cuda.jit
def g(x):
    x[0] = VALUE
"""


def captured(recorded: Recorded, made: str, value: str) -> Any:
    plan = recorded("g[1, 1](out)", MODULE.format(made=made, value=value))
    assert isinstance(plan, LaunchPlan), plan
    return plan.functions[0].names["VALUE"]


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_named_tuple_and_its_class_are_plain_data(recorded: Recorded, made: str) -> None:
    kind = NamedTupleClassConstant(name="P", fields=("x", "count"))
    assert captured(recorded, made, "P") == kind
    found = captured(recorded, made, "P(1, (2.0, None))")
    assert isinstance(found, NamedTupleConstant)
    assert found.type == kind
    assert [item.kind for item in found.items] == ["int", "tuple"]


def test_defaults_of_a_named_tuple_are_kept(recorded: Recorded) -> None:
    found = captured(recorded, "class P(NamedTuple):\n    x: int\n    y: float = 2.5", "P")
    assert [default.model_dump() for default in found.defaults] == [{"kind": "float", "value": (2.5).hex()}]


def test_named_tuples_nest_as_deep_as_tuples(recorded: Recorded) -> None:
    made = "P = namedtuple('P', 'x', defaults=[1])\nv = 1\nfor _ in range({depth}): v = P(v)"
    text, kinds = captured(recorded, made.format(depth=6), "v"), []
    while text.kind == "namedtuple":
        kinds.append(text.kind)
        (text,) = text.items
    assert len(kinds) == 4
    assert text.kind == "unsupported"


@pytest.mark.parametrize("made", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("value", ["P", "tuple.__new__(P, (1, 2))"])
def test_what_is_more_than_a_named_tuple_is_none(recorded: Recorded, made: str, value: str) -> None:
    found = captured(recorded, made, value)
    assert isinstance(found, UnsupportedConstant)
    assert found.reason == "tuple-class"


def test_a_named_tuple_of_too_few_items_is_none(recorded: Recorded) -> None:
    found = captured(recorded, "P = namedtuple('P', 'x y')", "tuple.__new__(P, (1,))")
    assert isinstance(found, UnsupportedConstant)
