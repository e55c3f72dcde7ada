"""Views without memory have the shape, strides and offset that NumPy gives to views with memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.recorder import geometry as geo
from grader.recorder.geometry import Geometry

shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def of(array: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> Geometry:
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return Geometry(array.shape, array.strides, offset, array.itemsize)


def same(found: Geometry, expected: Geometry) -> bool:
    """Equal as far as it matters: strides of axes of one element, and offsets of nothing, don't."""
    if found.shape != expected.shape:
        return False
    if found.size == 0:
        return True
    strides = zip(found.shape, found.strides, expected.strides, strict=True)
    return found.offset == expected.offset and all(n == 1 or a == b for n, a, b in strides)


@st.composite
def indexed(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Any, Geometry]:
    """An array, a view of it after some indexing, and the same as geometry."""
    shape = draw(shapes)
    order = draw(st.sampled_from("CF"))
    base = np.zeros(shape, np.int32, order)
    view, geometry = base, geo.contiguous(shape, 4, order)
    if draw(st.booleans()):
        key = draw(hnp.basic_indices(view.shape, allow_newaxis=False))
        view, (geometry, _) = view[key] if key != () else view, geo.index(geometry, key)
    return base, np.asarray(view), order, geometry


@given(indexed(), st.data())
def test_basic_indexing_is_numpys(case: Any, data: st.DataObject) -> None:
    base, view, _, geometry = case
    assume(view.base is base or view is base)
    key = data.draw(hnp.basic_indices(view.shape, allow_newaxis=False))
    expected = view[key]
    found, element = geo.index(geometry, key)
    assert element == (not isinstance(expected, np.ndarray))
    if not element:
        assert same(found, of(expected, base))
        assert found.c_contiguous == expected.flags.c_contiguous
        assert found.f_contiguous == expected.flags.f_contiguous


@given(shapes, shapes, st.sampled_from("CF"))
def test_a_reshape_is_numpys_view_or_an_error(shape: Any, target: Any, order: Any) -> None:
    base = np.zeros(shape, np.int16, order)
    geometry = geo.contiguous(shape, 2, order)
    try:
        found = geo.reshape(geometry, target, order)
    except ValueError:
        assert base.size != np.prod(target, dtype=int)
        return
    assert same(found, of(base.reshape(target, order=order), base))


@given(shapes, st.data())
def test_one_unknown_dimension_is_computed(shape: Any, data: st.DataObject) -> None:
    assume(0 not in shape and shape)
    axis = data.draw(st.integers(0, len(shape) - 1))
    target = tuple(-1 if i == axis else n for i, n in enumerate(shape))
    assert geo.reshape(geo.contiguous(shape, 8), target, "C").shape == shape


@given(shapes, shapes)
def test_broadcasting_is_numpys(shape: Any, target: Any) -> None:
    base = np.zeros(shape, np.int8)
    try:
        expected = np.broadcast_to(base, target)
    except ValueError:
        with pytest.raises(ValueError):
            geo.broadcast(geo.contiguous(shape, 1), target)
        return
    assert same(geo.broadcast(geo.contiguous(shape, 1), target), of(expected, base))


@given(shapes)
def test_squeezing_and_transposing_are_numpys(shape: Any) -> None:
    base = np.zeros(shape, np.float64)
    geometry = geo.contiguous(shape, 8)
    assert same(geo.squeeze(geometry, None), of(base.squeeze(), base))
    assert same(geo.transpose(geometry), of(base.T, base))


@pytest.mark.parametrize("shape", ["3", (1.5,), (None,), [[1]]])
def test_a_shape_of_anything_but_ints_is_a_type_error(shape: Any) -> None:
    with pytest.raises(TypeError, match="made of integers"):
        geo.normal_shape(shape)


def test_a_negative_dimension_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        geo.normal_shape((3, -1))
