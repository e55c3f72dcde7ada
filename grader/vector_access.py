"""Four neighbouring float32 elements in one 16-byte access, for kernels: ``load4``, ``store4``. Runs in the runner.

In: a float32 array in global or shared memory and the index of the first of the four elements. Out: their values, or
memory changed. Numba has no such access of its own; a submission may import these two names, and nothing else, from
``grader``, a script of one's own may do so anywhere:

    from grader.vector_access import load4, store4

    @cuda.jit
    def double(x, out):
        i = 4 * cuda.grid(1)
        if i + 3 < out.size:
            a, b, c, d = load4(x, i)
            store4(out, i, (2 * a, 2 * b, 2 * c, 2 * d))

A warp then moves 512 bytes with one instruction, where it takes four with ``x[i]``.

The array is C-contiguous (a view that is not, ``x[:, :n]``, is a TypingError). The index is an integer for an array
of one dimension, else a tuple of one integer per dimension. It names the first element; the other three follow it in
the last dimension, so all four must be inside of the last dimension. Unlike in ``x[i]``, an index below zero does not
count from the end: it is outside. The first element's address must be a multiple of 16 bytes (PTX ISA, "Vector data
types"): arrays begin at one, so in one dimension the index must be a multiple of 4, and in more dimensions the length
of a row, too. A GPU checks neither bounds nor, until it stops there, alignment; the simulator reports both as errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba.cuda.compiler as numba_compiler
from llvmlite import ir
from numba.core import errors as core_errors
from numba.cuda import extending

try:  # numba-cuda
    from numba.cuda import cgutils
    from numba.cuda.core import errors as cuda_errors
    from numba.cuda.np.arrayobj import make_array

    TypingError: Any = cuda_errors.TypingError
except ImportError:  # Numba's built-in target
    from numba.core import cgutils
    from numba.np.arrayobj import make_array

    TypingError = core_errors.TypingError

intrinsic: Callable[[Callable[..., Any]], Any] = extending.intrinsic
types: Any = numba_compiler.types
signature_of: Any = numba_compiler.typing.signature

LANES = 4  # elements of one access
BYTES = 16
_FOUR = types.UniTuple(types.float32, LANES)
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


@intrinsic
def load4(typingctx: Any, array: Any, index: Any) -> Any:
    """``array[index]`` and the three elements after it, as a tuple of four float32, in one access of 16 bytes.

    ``array`` is float32, C-contiguous, in global or shared memory; ``index`` an integer or one per dimension, at a
    multiple of 16 bytes. Raises TypingError for any other array, for an index of another length or of floats.
    """
    positions = _positions("load4", array, index)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, signature.args, args), align=BYTES)
        items = [builder.extract_element(value, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
        return context.make_tuple(builder, signature.return_type, items)

    return signature_of(_FOUR, array, positions), codegen


@intrinsic
def store4(typingctx: Any, array: Any, index: Any, values: Any) -> Any:
    """``array[index]`` and the three elements after it become the four ``values``, in one access of 16 bytes.

    ``array`` and ``index`` are as for ``load4``; ``values`` is a tuple of four numbers, which become float32. Raises
    TypingError for anything else.
    """
    positions = _positions("store4", array, index)
    numbers = isinstance(values, types.BaseTuple) and all(isinstance(t, types.Number | types.Boolean) for t in values)
    if not numbers or len(values) != LANES or any(isinstance(t, types.Complex) for t in values):
        raise TypingError(f"store4 takes a tuple of four numbers, not {values}")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = ir.Constant(_VECTOR, ir.Undefined)
        for lane, item in enumerate(cgutils.unpack_tuple(builder, args[2], LANES)):
            value = builder.insert_element(value, item, ir.Constant(ir.IntType(32), lane))
        builder.store(value, _pointer(context, builder, signature.args, args), align=BYTES)
        return context.get_dummy_value()

    return signature_of(types.void, array, positions, _FOUR), codegen


def _positions(name: str, array: Any, index: Any) -> Any:
    """The type that an index is taken as: signed 64-bit integers. Raises TypingError for what cannot be accessed."""
    if not isinstance(array, types.Array) or array.dtype != types.float32:
        raise TypingError(f"{name} takes a float32 array, not {array}")
    if array.layout != "C" or not array.ndim:
        raise TypingError(f"{name} takes a C-contiguous array, not {array}: index the whole array, or a row of it")
    items = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
    if len(items) != array.ndim or not all(isinstance(item, types.Integer) for item in items):
        raise TypingError(f"{name} takes one integer per dimension of {array} as an index, not {index}")
    return types.UniTuple(types.int64, len(items)) if isinstance(index, types.BaseTuple) else types.int64


def _pointer(context: Any, builder: Any, arg_types: Any, args: Any) -> Any:
    """The address of the first element, as one of a vector of four."""
    array_type, index_type = arg_types[:2]
    array = make_array(array_type)(context, builder, value=args[0])
    whole = isinstance(index_type, types.BaseTuple)
    items = cgutils.unpack_tuple(builder, args[1], len(index_type)) if whole else [args[1]]
    pointer = cgutils.get_item_pointer(context, builder, array_type, array, items)
    return builder.bitcast(pointer, _VECTOR.as_pointer(getattr(pointer.type, "addrspace", 0)))


# What kernels.py may import from here, by the path under which the runner finds it again.
OFFERED = {f"{__name__}.{name}": offered for name, offered in (("load4", load4), ("store4", store4))}
