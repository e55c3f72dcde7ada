"""Device arrays without contents. Runs in the recorder.

In: what host code does to an array. Out: other arrays, and operations of the plan.

They know shape and dtype and nothing else (``contentless``). Writing (fills, copies) is written down. Behaves as
Numba's ``DeviceNDArray`` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.recorder import geometry as geo
from grader.recorder.contentless import Contentless, refuse_to_read
from grader.recorder.geometry import Geometry
from grader.recorder.recording import Memory

if TYPE_CHECKING:
    from grader.recorder.context import Context

# NumPy functions that look at shape and dtype only.
_SHAPE_FUNCTIONS = (
    "shape",
    "ndim",
    "size",
    "empty_like",
    "zeros_like",
    "ones_like",
    "full_like",
    "result_type",
)


class DeviceArray(Contentless):
    """An array in device memory, or a view of one."""

    def __init__(
        self, context: Context, memory: Memory, geometry: Geometry, dtype: np.dtype[Any], stream: Any = 0
    ) -> None:
        self._context = context
        self._memory = memory
        self._geometry = geometry
        self._called = f"the device array {memory.name}"
        self.dtype = dtype
        self.stream = stream

    # ---------------------------------------------------------------- what is known

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements per dimension."""
        return self._geometry.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes per dimension."""
        return self._geometry.strides

    @property
    def ndim(self) -> int:
        """How many dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements."""
        return self._geometry.size

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    alloc_size = nbytes

    @property
    def flags(self) -> dict[str, bool]:
        """Contiguity, as Numba shows it."""
        return {"C_CONTIGUOUS": self.is_c_contiguous(), "F_CONTIGUOUS": self.is_f_contiguous()}

    def is_c_contiguous(self) -> bool:
        """Whether elements follow each other, last index fastest."""
        return self._geometry.c_contiguous

    def is_f_contiguous(self) -> bool:
        """Whether elements follow each other, first index fastest."""
        return self._geometry.f_contiguous

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        name = self._memory.name
        return f"<device array {name!r}, shape {self.shape}, {self.dtype}, contents not known to the host>"

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function.__name__ not in _SHAPE_FUNCTIONS:
            self._refuse_reading(f"numpy.{function.__name__}")
        # In its place, something with this shape and dtype that occupies one element.
        shown = [np.broadcast_to(np.zeros((), a.dtype), a.shape) if isinstance(a, DeviceArray) else a for a in args]
        return function(*shown, **kwargs)

    # ---------------------------------------------------------------- views

    def _with(self, geometry: Geometry, dtype: np.dtype[Any] | None = None, stream: Any = None) -> DeviceArray:
        return DeviceArray(
            self._context,
            self._memory,
            geometry,
            dtype or self.dtype,
            self.stream if stream is None else stream,
        )

    def bind(self, stream: Any = 0) -> DeviceArray:
        """The same array with ``stream`` as its default."""
        return self._with(self._geometry, stream=stream)

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """A view of another shape; never copies."""
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = tuple(shape[0])
        return self._with(geo.reshape(self._geometry, shape, order))

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceArray:
        """A one-dimensional view; never copies."""
        return self._with(geo.reshape(self._geometry, (self.size,), order), stream=stream or None)

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceArray:
        """A view without axes of size one."""
        return self._with(geo.squeeze(self._geometry, axis), stream=stream or None)

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as another dtype."""
        wanted = self._context.checked_dtype(dtype)
        return self._with(geo.retype(self._geometry, wanted.itemsize), wanted)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceArray]:
        """One-dimensional views of ``section`` elements each, the last one shorter."""
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.itemsize:
            raise ValueError("only support unit stride")
        for begin in range(0, self.size, section):
            yield self._with(geo.index(self._geometry, slice(begin, begin + section))[0], stream=stream or None)

    def transpose(self, axes: Any = None) -> DeviceArray:
        """A transposed copy: Numba's device arrays copy here, where NumPy makes a view."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and sorted(axes) != [0, 1]:
            raise ValueError(f"invalid axes list {axes!r}")
        result = self._context.allocate(self.shape[::-1], self.dtype)
        self._context.copy(self._with(geo.transpose(self._geometry)), result)
        return result

    @property
    def T(self) -> DeviceArray:
        """A transposed copy."""
        return self.transpose()

    def __getitem__(self, key: Any) -> DeviceArray:
        if isinstance(key, Contentless):
            key._refuse_reading("as an index")
        if isinstance(key, str) or (isinstance(key, list) and key and all(isinstance(name, str) for name in key)):
            return self._of_fields(key)
        geometry, element = geo.index(self._geometry, key)
        if element:
            self._refuse_reading(f"element {key!r}")
        return self._with(geometry)

    def _of_fields(self, key: str | list[str]) -> DeviceArray:
        """A field of an array of records, or records of some of its fields: a view, as in NumPy."""
        missing = [name for name in ([key] if isinstance(key, str) else key) if name not in (self.dtype.names or ())]
        if missing:
            fields = (
                f"its fields are {', '.join(self.dtype.names)}" if self.dtype.names else f"it is one of {self.dtype}"
            )
            raise ValueError(f"no field {missing[0]!r} in {self._called}: {fields}")
        if isinstance(key, list):
            return self._with(self._geometry, self.dtype[key])
        assert self.dtype.fields is not None
        field, offset = self.dtype.fields[key][:2]
        return self._with(geo.field(self._geometry, offset, field.base.itemsize, field.shape), field.base)

    def getitem(self, item: Any, stream: Any = 0) -> DeviceArray:
        """``self[item]``."""
        return self[item]

    # ---------------------------------------------------------------- writing

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setitem(key, value)

    def setitem(self, key: Any, value: Any, stream: Any = 0) -> None:
        """``self[key] = value`` with a scalar, a device array or a host array; broadcasts."""
        if isinstance(key, Contentless):
            key._refuse_reading("as an index")
        fields = isinstance(key, str | list)
        target = self[key] if fields else self._with(geo.index(self._geometry, key)[0])
        self._context.assign(target, value, stream or self.stream)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy a device array, or the contents of a host array, into this array. Shapes and dtypes must agree."""
        self._context.copy_whole(self, ary, stream or self.stream)

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 1:
            self._refuse_reading("iteration over its elements")
        return (self[i] for i in range(len(self)))

    copy_to_host = refuse_to_read("copy_to_host")
    item = tolist = tobytes = tofile = get_ipc_handle = refuse_to_read("its elements")
    device_ctypes_pointer = gpu_data = device_pointer = property(refuse_to_read("its address"))
