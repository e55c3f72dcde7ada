"""What one instruction of the lanes of some warps costs: sectors of global memory, bank conflicts of shared.

Pure; runs in the runner. In: where lanes' elements begin. Out: how many sectors or bank conflicts.

Global memory moves sectors of 32 bytes: a request costs as many as its lanes touch. Shared memory has 32 banks of 4
bytes: words of one bank are served one after another, equal words together (CUDA C++ Best Practices Guide, "Coalesced
Access to Global Memory", "Shared Memory and Memory Banks"). Elements of 8 bytes are served by half warps. A complex
number is two accesses, a record one for each field. ``tests/gpu`` holds these counts against those of a GPU.

``first`` is where each lane's element begins, in bytes; ``warps`` and ``lanes`` say whose it is; int64, one per lane.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.gpu_models import SECTOR_BYTES

SECTOR_SHIFT = SECTOR_BYTES.bit_length() - 1
BANK_BYTES = 4
BANK_SHIFT = BANK_BYTES.bit_length() - 1
BANKS = 32
# Four elements of 4 bytes in one access, ``load4`` and ``store4`` of ``grader.vector_access``: served by quarter warps.
WIDE: np.dtype[Any] = np.dtype("V16")
# Above all sectors and words of a space, so that a warp's number and a sector make one key.
_WARP_SHIFT = 40


def phase_of(space: str, first: Any) -> int:
    """Where in a sector or bank the first byte is: a shift by whole sectors, or by whole banks, costs nothing."""
    return int(first) & ((SECTOR_BYTES if space == "global" else BANK_BYTES) - 1)


@cache
def parts_of(dtype: np.dtype[Any]) -> tuple[tuple[int, int], ...]:
    """Offset and bytes of what is read or written by one instruction each: halves of complex numbers, fields."""
    if dtype.kind == "c":
        half = dtype.itemsize // 2
        return (0, half), (half, half)
    if dtype.fields is not None:
        inside = ((offset, parts_of(field)) for field, offset, *_ in dtype.fields.values())
        return tuple((start + offset, size) for start, parts in inside for offset, size in parts)
    if dtype.subdtype is not None:
        item, shape = dtype.subdtype
        count = int(np.prod(shape))
        return tuple((n * item.itemsize + offset, size) for n in range(count) for offset, size in parts_of(item))
    return ((0, dtype.itemsize),)


def elements_in(dtype: np.dtype[Any], unit: int = 0) -> int:
    """How many elements of a buffer one access reads or writes, as a number of ``dtype``.

    ``unit``: the bytes of a buffer's own element, or 0. A view of another dtype does not make them fewer.
    """
    if dtype == WIDE:
        return dtype.itemsize // 4
    return max(dtype.itemsize // unit, 1) if unit and dtype.fields is None else 1


def distinct(keys: npt.NDArray[Any]) -> int:
    """How many different keys there are."""
    if keys.size and (keys[1:] < keys[:-1]).any():
        keys = np.sort(keys)
    return int(np.count_nonzero(keys[1:] != keys[:-1])) + bool(keys.size)


def sectors_of(first: npt.NDArray[np.int64], itemsize: int, warps: npt.NDArray[np.int64]) -> int:
    """Different pairs of a warp and a sector that its lanes touch, with elements that begin at these bytes."""
    keys = (warps << _WARP_SHIFT) + (first >> SECTOR_SHIFT)
    # An element that starts at a multiple of its size, a power of two, lies in one sector.
    if SECTOR_BYTES % itemsize or (first & (itemsize - 1)).any():
        last = (warps << _WARP_SHIFT) + ((first + (itemsize - 1)) >> SECTOR_SHIFT)
        keys = np.concatenate([keys, last])
    return distinct(keys)


def bank_conflicts_of(
    first: npt.NDArray[np.int64], itemsize: int, warps: npt.NDArray[np.int64], lanes: npt.NDArray[np.int64]
) -> int:
    """Turns that requests need beyond their first, summed over requests (or their halves, quarters)."""
    word = first >> BANK_SHIFT
    parts = max(1, itemsize >> BANK_SHIFT)  # words of one element
    group = warps if parts == 1 else warps * parts + lanes * parts // BANKS
    if parts > 1:
        word = (word[:, None] + np.arange(parts)).reshape(-1)
        group = np.repeat(group, parts)
    keys = (group << _WARP_SHIFT) + word
    if (keys[1:] < keys[:-1]).any():
        keys = np.sort(keys)
    new = np.ones(keys.size, bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    keys = keys[new]
    groups, words = keys >> _WARP_SHIFT, keys & (BANKS - 1)
    groups -= groups[0]
    turns = np.bincount(groups * BANKS + words, minlength=(int(groups[-1]) + 1) * BANKS)
    return int(np.maximum(turns.reshape(-1, BANKS).max(axis=1) - 1, 0).sum())
