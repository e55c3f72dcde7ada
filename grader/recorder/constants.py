"""Numbers and arrays as constants of the plan. Runs in the recorder; pure.

Comes in: Python and NumPy objects. Goes out: constants, or None for what is none of these.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from grader import plan_values
from grader.plan_dtypes import plan_dtype


def is_known(dtype: np.dtype[Any]) -> bool:
    """Whether a plan can hold elements of this dtype."""
    try:
        plan_dtype(dtype)
    except ValueError:
        return False
    return True


def scalar_constant(value: Any) -> Any | None:
    """The constant for a bool, int, float, complex, None, NumPy scalar or record; None for anything else."""
    if isinstance(value, np.generic):
        return array_constant(np.asarray(value), scalar=True) if is_known(value.dtype) else None
    kind = type(value)
    if kind is bool:
        return plan_values.BoolConstant(value=value)
    if kind is int and -(2**63) <= value < 2**64:
        return plan_values.IntConstant(value=value)
    if kind is float:
        return plan_values.FloatConstant(value=value.hex())
    if kind is complex:
        return array_constant(np.asarray(value), scalar=True)
    return plan_values.NoneConstant() if value is None else None


def array_constant(array: np.ndarray[Any, Any], *, scalar: bool = False) -> plan_values.ArrayConstant:
    """The constant for a NumPy array or (``scalar``) a NumPy scalar."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return plan_values.ArrayConstant(dtype=plan_dtype(array.dtype), shape=array.shape, scalar=scalar, data=data)
