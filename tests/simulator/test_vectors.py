"""CUDA's vector types: constructors from numbers and vectors, components, in variables, loops and functions."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda import vector_types

from grader.records import Severity


def test_vectors_are_made_of_numbers_and_vectors(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        pair = cuda.float2(x[i], 2)
        triple = cuda.float3(pair, i)
        four = cuda.float4(1.5, triple.x, pair)
        other = cuda.float4(pair, pair)
        copy = cuda.float4(four)
        out[0, i] = pair.x + pair.y
        out[1, i] = triple.x * 100 + triple.y * 10 + triple.z
        out[2, i] = four.x + four.y * 10 + four.z * 100 + four.w * 1000
        out[3, i] = other.z - other.w
        out[4, i] = copy.w

    x = np.arange(8, dtype=np.float32)
    out = np.zeros((5, 8))
    assert launch(kernel, 1, 8, x, out).finished
    np.testing.assert_array_equal(out[0], x + 2)
    np.testing.assert_array_equal(out[1], x * 100 + 20 + np.arange(8))
    np.testing.assert_array_equal(out[2], 1.5 + x * 110 + 2000)
    np.testing.assert_array_equal(out[3], x - 2)
    np.testing.assert_array_equal(out[4], np.full(8, 2.0))


def test_vectors_that_differ_by_branch_and_turn(launch):
    @cuda.jit(device=True)
    def added(a, b):
        return cuda.float2(a.x + b.x, a.y + b.y)

    def kernel(out):
        i = cuda.grid(1)
        total = cuda.float2(0, 0)
        for k in range(i % 5):
            step = cuda.float2(k, 1) if k % 2 else cuda.float2(10, i)
            total = added(total, step)
        out[0, i] = total.x
        out[1, i] = total.y

    out = np.zeros((2, 16))
    launch(kernel, 1, 16, out)
    for i in range(16):
        steps = [(k, 1) if k % 2 else (10, i) for k in range(i % 5)]
        assert out[:, i].tolist() == [sum(s[0] for s in steps), sum(s[1] for s in steps)]


def test_components_have_the_vectors_dtype(launch):
    def kernel(x, out):
        small = cuda.uchar2(x[0], 300)
        whole = cuda.int2(x[1], x[2])
        out[0], out[1], out[2], out[3] = small.x, small.y, whole.x, whole.y

    out = np.zeros(4)
    launch(kernel, 1, 1, np.array([255.5, 2.9, -2.9]), out)
    assert out.tolist() == [255, 44, 2, -2]


@pytest.mark.parametrize("name", sorted(vector_types.vector_types))
def test_every_vector_type_holds_its_components(launch, name):
    vector = vector_types.vector_types[name].user_facing_object
    count = vector_types.vector_types[name].num_elements
    parts = "xyzw"[:count]

    code = f"def kernel(out):\n    v = vector({', '.join('cuda.grid(1) + ' + str(k) for k in range(count))})\n"
    code += "".join(f"    out[{k}, cuda.grid(1)] = v.{part}\n" for k, part in enumerate(parts))
    scope = {"cuda": cuda, "vector": vector}
    exec(compile(code, __file__, "exec"), scope)
    out = np.zeros((count, 4))
    launch(scope["kernel"], 1, 4, out)
    np.testing.assert_array_equal(out, np.arange(4) + np.arange(count)[:, None])


def test_a_cache_hint_changes_no_value(launch):
    if not hasattr(cuda, "ldcg"):
        pytest.skip("Numba's built-in target has no cache hints")

    def kernel(x, image, out):
        i = cuda.grid(1)
        s = cuda.ldca(x, i) + cuda.ldcg(x, i) + cuda.ldcs(x, i) + cuda.ldlu(x, i) + cuda.ldcv(x, i)
        cuda.stcg(out, i, s)
        cuda.stcs(image, (i % 2, i // 2), float32(s))
        cuda.stwb(x, i, 7)
        cuda.stwt(x, i, cuda.ldcg(image, (i % 2, i // 2)) + 1)

    x = np.arange(8, dtype=np.float32)
    image, out = np.zeros((2, 4), np.float32), np.zeros(8)
    result = launch(kernel, 1, 8, x, image, out)
    np.testing.assert_array_equal(out, 5 * np.arange(8))
    np.testing.assert_array_equal(image.T.reshape(-1), out)
    np.testing.assert_array_equal(x, out + 1)
    assert result.counters["global_loads"] == 48


def test_a_cache_hint_does_not_hide_an_access_outside(launch):
    if not hasattr(cuda, "ldcg"):
        pytest.skip("Numba's built-in target has no cache hints")

    def kernel(x, out):
        i = cuda.grid(1)
        cuda.stcg(out, i, cuda.ldcg(x, i + 1))

    kinds = [f.kind for f in launch(kernel, 1, 8, np.zeros(8), np.zeros(8)).findings if f.severity is Severity.ERROR]
    assert kinds == ["out-of-bounds"]
