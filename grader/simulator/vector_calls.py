"""CUDA's vector types, ``cuda.float4`` and its like: constructors and components. Runs in the runner.

In: calls of typed IR. Out: steps of a body.

A vector is a tuple of its components. Constructors take numbers and shorter vectors, as CUDA C++ Programming Guide,
"Built-in Vector Types", names them and Numba extends them.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.cuda import vector_types

from grader.simulator.body import Body
from grader.simulator.registry import DEVICE_CALLS


def is_vector(numba_type: Any) -> bool:
    """Whether values of this type are vectors."""
    return isinstance(numba_type, vector_types.VectorType)


def get_component(body: Body, target: Any, value: Any, name: str) -> None:
    """``target = value.x``."""
    position = body.type_of(value).attr_names.index(name)
    body.compute(body.register(target.name), operator.itemgetter(position), (body.register(value.name),))


def _construct(body: Body, target: Any, expr: Any, signature: Any) -> None:
    operands = tuple(
        body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
        for arg, wanted in zip(expr.args, signature.args, strict=True)
    )

    def components(*values: Any) -> tuple[Any, ...]:
        return tuple(item for value in values for item in (value if isinstance(value, tuple) else (value,)))

    body.compute(body.register(target.name), components, operands)


for _vector in vector_types.vector_types.values():
    DEVICE_CALLS[_vector.user_facing_object] = _construct
