"""What host code has device arrays hold: dtypes, records and arrays, as NumPy reads them. Runs in the recorder; pure.

Comes in: objects of student code. Goes out: NumPy's dtypes and arrays, or NumPy's own TypeError and ValueError.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.np import numpy_support


def dtype_of(given: Any) -> np.dtype[Any]:
    """NumPy's dtype for whatever it takes as one, and for Numba's types of numbers and records."""
    try:
        found: np.dtype[Any] = np.dtype(given)
    except TypeError:
        of_record = isinstance(given, numba.types.Record)
        found = np.dtype(numpy_support.as_dtype(given) if of_record else getattr(given, "name", given))
    return found


def as_records(value: Any, dtype: np.dtype[Any]) -> Any:
    """What an assignment to an array of records puts there, as NumPy has it: a tuple is a record, a number all fields.

    Raises ValueError or TypeError, as NumPy does, where it does not fit.
    """
    if isinstance(value, np.ndarray | np.void):
        return (np.asarray(value).astype(dtype) if value.dtype.names is None else np.asarray(value))[()]
    return np.array(value, dtype)[()]


def repeats(array: np.ndarray[Any, Any]) -> bool:
    """Whether all elements of a contiguous array have the same bytes; looked at in pieces, to spare memory."""
    flat = array.reshape(-1, order="A")
    rows = flat.view(np.uint8).reshape(-1, array.itemsize)
    step = 1 << 20
    return all(bool((rows[i : i + step] == rows[0]).all()) for i in range(0, len(rows), step))
