"""Records: their fields, nested ones, copies, odd sizes and addresses, and what is watched of them."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda, float32

from grader.simulator.frontend import KernelError
from grader.simulator.numba_types import from_dtype

PARTICLE = np.dtype([("x", np.float32), ("v", np.float32, (3,)), ("id", np.int64), ("alive", np.bool_)], align=True)
CELL = np.dtype([("count", np.int32), ("first", PARTICLE), ("weight", np.complex64)], align=True)
PACKED = np.dtype([("b", np.float32), ("a", np.uint8)])  # 5 bytes: every second record lies at an odd address
PAIR = np.dtype([("u", np.float32), ("v", np.float32)])
PARTICLE_TYPE = from_dtype(PARTICLE)
PACKED_TYPE, PAIR_TYPE = from_dtype(PACKED), from_dtype(PAIR)


def _random(dtype, shape, seed=1):
    """Records with random fields and zeroed padding."""
    rng = np.random.default_rng(seed)
    made = np.zeros(shape, dtype)
    for name in dtype.names:
        field, at = dtype.fields[name][0], made[name]
        if field.names:
            at[...] = _random(field, shape, seed + 1)
        elif field.base.kind == "c":
            at[...] = rng.random(at.shape) + 1j * rng.random(at.shape)
        else:
            at[...] = (rng.random(at.shape) * 100).astype(field.base)
    return made


def test_fields_are_read_and_written_by_name_key_and_array(launch):
    def kernel(p, out):
        i = cuda.grid(1)
        out[0, i] = p[i].x + p[i]["id"]
        out[1, i] = p.x[i] * p["id"][i] + p[i].alive
        mine = p[i]
        out[2, i] = mine.v[0] + mine["v"][2] + p.v[i, 1]
        mine.x = 2 * mine.x
        p[i]["id"] = 7 + i
        mine.v[1] = i
        p.alive[i] = i % 2

    p, out = _random(PARTICLE, 32), np.zeros((3, 32))
    before = p.copy()
    result = launch(kernel, 1, 32, p, out)
    i = np.arange(32)
    np.testing.assert_array_equal(out[0], before["x"].astype(np.float64) + before["id"])
    np.testing.assert_array_equal(out[1], before["x"].astype(np.float64) * before["id"] + before["alive"])
    np.testing.assert_array_equal(out[2], before["v"][:, 0] + before["v"][:, 2] + before["v"][:, 1])
    np.testing.assert_array_equal(p["x"], 2 * before["x"])
    np.testing.assert_array_equal(p["id"], 7 + i)
    np.testing.assert_array_equal(p["v"][:, 1], i)
    np.testing.assert_array_equal(p["alive"], i % 2 == 1)
    assert errors(result) == []


def test_a_record_is_a_reference_and_assigning_it_copies(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        mine = a[i]
        b[i] = mine
        mine.x = -1.0
        out[i] = a[i].x + b[i].x
        c = b[i] if i % 2 else a[i]
        c.id = 99

    a, b, out = _random(PARTICLE, 16), _random(PARTICLE, 16, 5), np.zeros(16)
    before = a.copy()
    result = launch(kernel, 1, 16, a, b, out)
    even = np.arange(16) % 2 == 0
    for name in ("v", "alive"):
        np.testing.assert_array_equal(b[name], before[name])
    np.testing.assert_array_equal(b["x"], before["x"])
    np.testing.assert_array_equal(a["x"], -1)
    np.testing.assert_array_equal(out, (before["x"] - 1).astype(np.float64))
    np.testing.assert_array_equal(a["id"], np.where(even, 99, before["id"]))
    np.testing.assert_array_equal(b["id"], np.where(even, before["id"], 99))
    assert errors(result) == []


def test_nested_records_and_arrays_in_records(launch):
    def kernel(c, out):
        i = cuda.grid(1)
        out[i] = c[i].first.x + c[i].weight.imag + c[i].first.v[i % 3]
        total = float32(0)
        for value in c[i].first.v:
            total += value
        c[i].first.x = total
        c[i].weight = c[i].weight * 2
        c[i].count = len(c[i].first.v)
        c[(i + 1) % c.size].first.id = i

    c, out = _random(CELL, 24), np.zeros(24)
    before = c.copy()
    result = launch(kernel, 1, 24, c, out)
    i = np.arange(24)
    first, weight = before["first"], before["weight"]
    np.testing.assert_array_equal(out, first["x"] + weight.imag + first["v"][i, i % 3])
    np.testing.assert_allclose(c["first"]["x"], first["v"].sum(1), rtol=1e-6)
    np.testing.assert_array_equal(c["weight"], weight * 2)
    np.testing.assert_array_equal(c["first"]["id"], (i - 1) % 24)
    assert (c["count"] == 3).all()
    assert errors(result) == []


def test_whole_nested_records_and_nested_arrays_are_assigned(launch):
    def kernel(c, p):
        i = cuda.grid(1)
        c[i].first = p[i]
        p[i].v = c[(i + 1) % 8].first.v

    c, p = _random(CELL, 8), np.zeros(8, PARTICLE)
    p["x"], p["id"] = 3, np.arange(8)
    result = launch(kernel, 1, 8, c[:], p)
    np.testing.assert_array_equal(c["first"]["x"], 3)
    np.testing.assert_array_equal(c["first"]["id"], np.arange(8))
    assert "race" in errors(result)  # the neighbour's nested array is read while it is replaced


def test_shared_and_local_arrays_of_records(launch):
    def kernel(p, out):
        s = cuda.shared.array(32, PARTICLE_TYPE)
        mine = cuda.local.array(2, PARTICLE_TYPE)
        i = cuda.threadIdx.x
        s[i] = p[i]
        mine[0].x = i
        cuda.syncthreads()
        mine[1] = s[31 - i]
        out[i] = mine[0].x * 1000 + mine[1].x + mine[1].v[2]

    p, out = _random(PARTICLE, 32), np.zeros(32)
    result = launch(kernel, 1, 32, p, out)
    assert result.findings == ()
    mirrored = p[::-1]
    expected = np.arange(32) * 1000 + mirrored["x"].astype(np.float64) + mirrored["v"][:, 2]
    np.testing.assert_allclose(out, expected)


def test_records_of_five_bytes_at_odd_addresses(launch):
    def kernel(p, out):
        s = cuda.shared.array(32, PACKED_TYPE)
        i = cuda.threadIdx.x
        s[i].a = p[i].a
        s[i].b = p[i].b * 2
        cuda.syncthreads()
        p[i] = s[(i + 1) % 32]
        out[i] = s[i].a

    p, out = _random(PACKED, 32), np.zeros(32)
    before = p.copy()
    result = launch(kernel, 1, 32, p, out)
    assert result.findings == ()
    np.testing.assert_array_equal(out, before["a"])
    np.testing.assert_array_equal(p["b"], 2 * np.roll(before["b"], -1))
    np.testing.assert_array_equal(p["a"], np.roll(before["a"], -1))


def test_an_unaligned_field_is_the_kernels_mistake(launch):
    unaligned = np.zeros(4, np.dtype([("a", np.uint8), ("b", np.float32)]))

    def one(p):
        p[0].b = 1

    def each(p):
        p.b[cuda.grid(1)] = 1

    with pytest.raises(KernelError, match="align=True"):
        launch(one, 1, 4, unaligned)
    assert errors(launch(each, 1, 4, unaligned)) == ["misaligned-access"]


def test_races_are_told_apart_by_field(launch):
    def different(p):
        i = cuda.threadIdx.x
        if i % 2:
            p[i // 2].u = i
        else:
            p[i // 2].v = i

    def same(p):
        i = cuda.threadIdx.x
        p[i // 2].u = i

    def whole(p):
        i = cuda.threadIdx.x
        p[i].v = p[(i + 1) % 64].u
        if i == 0:
            p[3] = p[4]

    p = np.zeros(64, PAIR)
    assert launch(different, 1, 64, p).findings == ()
    assert errors(launch(same, 1, 64, p)) == ["race"]
    found = launch(whole, 1, 64, p).findings
    assert {(f.kind, f.array) for f in found} >= {("race", "p")}


def test_races_of_fields_between_blocks_and_in_packed_records(launch):
    def different(p):
        if cuda.threadIdx.x == 0:
            i = cuda.blockIdx.x
            if i % 2:
                p[i // 2].a = i
            else:
                p[i // 2].b = i

    def same(p):
        p[cuda.blockIdx.x // 2].a = cuda.blockIdx.x

    assert launch(different, 16, 32, np.zeros(8, PACKED)).findings == ()
    assert errors(launch(same, 16, 1, np.zeros(8, PACKED))) == ["race"]


def test_a_field_that_nobody_wrote_is_uninitialised_and_its_neighbour_is_not(launch):
    def right(out):
        s = cuda.shared.array(32, PAIR_TYPE)
        i = cuda.threadIdx.x
        s[i].u = i
        mine = cuda.local.array(1, PAIR_TYPE)
        mine[0] = s[i]  # copies v without looking at it
        out[i] = mine[0].u

    def wrong(out):
        s = cuda.shared.array(32, PAIR_TYPE)
        i = cuda.threadIdx.x
        s[i].u = i
        mine = cuda.local.array(1, PAIR_TYPE)
        mine[0] = s[i]
        out[i] = mine[0].v

    def nothing(out):
        s = cuda.shared.array(32, PAIR_TYPE)
        i = cuda.threadIdx.x
        mine = cuda.local.array(1, PAIR_TYPE)
        mine[0] = s[i]
        out[i] = i

    out = np.zeros(32)
    assert launch(right, 1, 32, out).findings == ()
    assert out.tolist() == list(range(32))
    result = launch(wrong, 1, 32, out)
    assert [(f.kind, f.array, f.count) for f in result.findings] == [("uninitialised-read", "mine.v", 32)]
    assert errors(launch(nothing, 1, 32, out)) == ["uninitialised-read"]


def test_a_record_outside_is_reported_and_nothing_is_written(launch):
    def kernel(p, out):
        i = cuda.grid(1)
        p[i].u = 1
        out[i] = p[i + 1].v

    def copy(p, out):
        i = cuda.grid(1)
        p[i + 1] = p[i]

    p, out = _random(PAIR, 20), np.zeros(32)
    result = launch(kernel, 1, 32, p, out)
    assert [(f.kind, f.array, f.count) for f in result.findings] == [
        ("out-of-bounds", "p.u", 12),
        ("out-of-bounds", "p.v", 13),
    ]
    assert "p[20] outside its shape (20,)" in result.findings[0].what
    assert (p["u"] == 1).all()
    assert "out-of-bounds" in errors(launch(copy, 1, 20, p, out))


def test_atomics_on_a_field(launch):
    def kernel(p, old):
        i = cuda.grid(1)
        cuda.atomic.add(p.u, i % 4, 1)
        old[i] = cuda.atomic.max(p["v"], i % 4, i)

    p, old = np.zeros(4, PAIR), np.zeros(256)
    result = launch(kernel, 8, 32, p, old)
    assert errors(result) == []
    np.testing.assert_array_equal(p["u"], 64)
    np.testing.assert_array_equal(p["v"], [252, 253, 254, 255])
    assert sorted(old[::4])[:2] == [0, 0]


def test_a_record_is_a_kernels_argument_and_comes_back(launch):
    def kernel(settings, out):
        i = cuda.grid(1)
        out[i] = settings.u * i
        if i == 0:
            settings.v = 5

    def race(settings, out):
        settings.v = cuda.grid(1)

    settings, out = np.zeros(1, PAIR)[0], np.zeros(64)
    settings["u"] = 2.5
    assert launch(kernel, 2, 32, settings, out).findings == ()
    np.testing.assert_array_equal(out, 2.5 * np.arange(64))
    assert settings["v"] == 5
    assert errors(launch(race, 2, 32, settings, out)) == ["race"]


def test_records_pass_through_device_functions_loops_tuples_and_slices(launch):
    @cuda.jit(device=True)
    def length(p):
        return math.sqrt(p.u * p.u + p.v * p.v)

    @cuda.jit(device=True)
    def nearer(p, q):
        return p if length(p) < length(q) else q

    def kernel(p, out):
        i = cuda.grid(1)
        best = p[0]
        for q in p:
            best = nearer(best, q)
        out[0, i] = length(best)
        first, second = p[:2]
        out[1, i] = first.u + second.v
        pair = (p[i], i)
        out[2, i] = pair[0].u + pair[1]
        out[3, i] = p[2:][i % 4].v

    p, out = _random(PAIR, 16), np.zeros((4, 16))
    result = launch(kernel, 1, 16, p, out)
    assert errors(result) == []
    i = np.arange(16)
    np.testing.assert_allclose(out[0], np.hypot(p["u"], p["v"]).min(), rtol=1e-6)
    np.testing.assert_allclose(out[1], p["u"][0] + p["v"][1])
    np.testing.assert_allclose(out[2], p["u"] + i)
    np.testing.assert_array_equal(out[3], p["v"][2 + i % 4])


def test_two_dimensional_arrays_of_records_and_captured_ones(launch):
    table = _random(PAIR, (3, 4), 3)

    def kernel(p, out):
        i, j = cuda.grid(2)
        if i < p.shape[0] and j < p.shape[1]:
            captured = cuda.const.array_like(table)
            out[i, j] = p[i, j].u + table[i, j].v + captured[i, j]["u"]

    p, out = _random(PAIR, (3, 4)), np.zeros((3, 4), np.float32)
    launch(kernel, (1, 1), (4, 4), p, out)
    np.testing.assert_allclose(out, p["u"] + table["v"] + table["u"], rtol=1e-6)


def test_numbas_own_record_types_are_known(launch):
    record = numba.types.Record.make_c_struct([("a", numba.types.int8), ("b", numba.types.float64)])
    assert record.size == 16

    def kernel(out):
        s = cuda.shared.array(4, record)
        i = cuda.threadIdx.x
        s[i].b = i / 2
        s[i].a = i
        out[i] = s[i].b + s[i].a

    out = np.zeros(4)
    assert launch(kernel, 1, 4, out).findings == ()
    assert out.tolist() == [0, 1.5, 3, 4.5]
