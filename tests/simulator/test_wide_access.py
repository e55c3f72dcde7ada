"""``load4`` and ``store4``: four elements in one access, watched and counted as one of 16 bytes."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
import real_lowering
from kernel_bench import errors
from numba import cuda, float32, float64, int32, uint32

from grader.simulator.frontend import KernelError, types
from grader.vector_access import load4, store4


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def copy(x, out):
    i = 4 * cuda.grid(1)
    if i < out.size:
        store4(out, i, load4(x, i))


def test_four_elements_are_read_and_written(launch):
    def kernel(x, out):
        i = 4 * cuda.grid(1)
        a, b, c, d = load4(x, i)
        store4(out, i, (d, c, b + b, a))

    x, out = floats(256), np.zeros(256, np.float32)
    done = launch(kernel, 2, 32, x, out)
    assert not done.findings
    quads, found = x.reshape(-1, 4), out.reshape(-1, 4)
    np.testing.assert_array_equal(found, np.stack([quads[:, 3], quads[:, 2], 2 * quads[:, 1], quads[:, 0]], axis=1))


@pytest.mark.parametrize("kind", [int32, uint32, np.int64, np.uint64])
def test_any_integer_is_an_index_also_in_several_dimensions(launch, kind):
    def kernel(x, out):
        t = kind(cuda.threadIdx.x)
        v = load4(x, (1, kind(t // kind(4)), kind(4) * (t % kind(4))))
        store4(out[0], (kind(3) - t // kind(4), kind(4) * (t % kind(4))), v)

    x, out = floats(2, 4, 16), np.zeros((1, 4, 16), np.float32)
    done = launch(kernel, 1, 16, x, out)
    assert not done.findings
    np.testing.assert_array_equal(out[0], x[1, ::-1])


def test_values_become_float32_whatever_numbers_they_are(launch):
    def kernel(out):
        store4(out, 4 * cuda.threadIdx.x, (1, float64(0.1), True, float32(2.5)))

    out = np.zeros(8, np.float32)
    assert not launch(kernel, 1, 2, out).findings
    np.testing.assert_array_equal(out, np.tile(np.array([1, 0.1, 1, 2.5], np.float32), 2))


def test_special_values_keep_their_bits(launch):
    x = np.array([np.nan, -np.inf, -0.0, 1e-42], np.float32)
    x.view(np.uint32)[0] |= 0x1234
    out = np.zeros(4, np.float32)
    assert not launch(copy, 1, 1, x, out).findings
    assert x.tobytes() == out.tobytes()


def test_a_device_function_and_a_loop_can_use_them(launch):
    @cuda.jit(device=True)
    def total(x, i):
        v = load4(x, i)
        return v[0] + v[1] + v[2] + v[3]

    def kernel(x, out):
        t = cuda.threadIdx.x
        tile = cuda.shared.array((4, 32, 4), float32)
        for k in range(4):
            store4(tile, (k, t, 0), load4(x, (k, 4 * t)))
        cuda.syncthreads()
        result = float32(0)
        for k in range(4):
            result += total(tile[k], (31 - t, 0))
        out[t] = result

    x, out = floats(4, 128), np.zeros(32, np.float32)
    done = launch(kernel, 1, 32, x, out)
    assert not done.findings
    np.testing.assert_allclose(out, x.reshape(4, 32, 4).sum(axis=(0, 2))[::-1], rtol=1e-5, atol=1e-5)
    assert done.counters["shared_load_requests"] == done.counters["shared_store_requests"] == 4
    assert done.counters["shared_load_bank_conflicts"] == done.counters["shared_store_bank_conflicts"] == 0


def test_lanes_may_part_and_all_read_one_place(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        v = load4(x, 4)
        if t % 3 == 1:
            v = load4(x, 4 * (t % 5))
        store4(out, (t, 0), v)

    x, out = floats(20), np.zeros((64, 4), np.float32)
    assert not launch(kernel, 1, 64, x, out).findings
    expected = np.array([x[4 * (t % 5) :][:4] if t % 3 == 1 else x[4:8] for t in range(64)])
    np.testing.assert_array_equal(out, expected)


# ------------------------------------------------------------------ what it costs


def test_a_warp_makes_one_request_of_sixteen_sectors_and_reads_four_elements_per_lane(launch):
    x, out = floats(4096), np.zeros(4096, np.float32)
    counters = launch(copy, 8, 128, x, out).counters
    for kind in ("load", "store"):
        assert counters[f"global_{kind}_requests"] == 32
        assert counters[f"global_{kind}_sectors"] == 512
        assert counters[f"global_{kind}s"] == 4096
        assert counters[f"global_{kind}_bytes"] == 4 * 4096
    assert counters["busiest_thread"] == 8


def test_a_loop_over_it_costs_as_much_each_turn(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        total = float32(0)
        for k in range(16):
            v = load4(x, 4 * (t + 32 * k))
            total += v[0] + v[3]
        out[t] = total

    x, out = floats(2048), np.zeros(32, np.float32)
    done = launch(kernel, 1, 32, x, out)
    quads = x.reshape(16, 32, 4)
    np.testing.assert_allclose(out, (quads[..., 0] + quads[..., 3]).sum(axis=0), rtol=1e-4, atol=1e-4)
    assert done.counters["global_load_requests"] == 16
    assert done.counters["global_load_sectors"] == 256
    assert done.counters["global_loads"] == 2048
    assert done.counters["busiest_thread"] == 65


@pytest.mark.parametrize(("stride", "conflicts"), [(4, 0), (8, 4), (16, 12), (36, 0), (32, 28)])
def test_bank_conflicts_are_counted_by_quarter_warps(launch, stride, conflicts):
    """Eight lanes are served together: 4 × 8 words that lie in 32 banks, or several in one."""

    def kernel(out):
        tile = cuda.shared.array(2048, float32)
        t = cuda.threadIdx.x
        store4(tile, stride * t, (t, t, t, t))
        cuda.syncthreads()
        store4(out, 4 * t, load4(tile, stride * t))

    out = np.zeros(128, np.float32)
    done = launch(kernel, 1, 32, out)
    np.testing.assert_array_equal(out, np.repeat(np.arange(32), 4))
    assert done.counters["shared_load_bank_conflicts"] == conflicts
    assert done.counters["shared_store_bank_conflicts"] == conflicts


def test_neighbours_in_memory_give_no_advice(launch):
    x, out = floats(1 << 16), np.zeros(1 << 16, np.float32)
    assert not launch(copy, 64, 256, x, out).findings


def test_advice_on_bank_conflicts_keeps_rows_aligned(launch):
    def kernel(out):
        tile = cuda.shared.array((256, 32), float32)
        t = cuda.threadIdx.x
        for k in range(8):
            store4(tile, (t, 4 * k), (t, t, t, t))
        store4(out, 4 * cuda.grid(1), load4(tile, (t, 0)))

    done = launch(kernel, 8, 256, np.zeros(8192, np.float32))
    advice = [finding.advice for finding in done.findings if finding.kind == "bank-conflicts"]
    assert advice
    assert all("four elements longer" in words for words in advice)


# ------------------------------------------------------------------ what it must not do


@pytest.mark.parametrize("size", [97, 98, 99])
def test_an_access_whose_last_element_is_outside_is_found_and_left_out(launch, size):
    x, out = floats(size), np.zeros(size, np.float32)
    done = launch(copy, 1, 32, x, out)
    assert errors(done) == ["out-of-bounds", "out-of-bounds"]
    assert f"x[96] to [99] outside its shape ({size},), by thread" in done.findings[0].what
    np.testing.assert_array_equal(out[:96], x[:96])
    assert not out[96:].any()


def test_an_access_over_the_end_of_a_row_is_found(launch):
    def kernel(x, out):
        out[cuda.threadIdx.x] = load4(x, (cuda.threadIdx.x, 8))[0]

    done = launch(kernel, 1, 4, floats(5, 8), np.zeros(4, np.float32))
    assert errors(done) == ["out-of-bounds"]
    assert "x[0, 8] to [0, 11] outside its shape (5, 8)" in done.findings[0].what


def test_no_index_counts_from_the_end(launch):
    def kernel(x, out):
        first = load4(x, -4 * cuda.threadIdx.x)[0]
        out[cuda.threadIdx.x] = first + load4(x, -4)[1]

    done = launch(kernel, 1, 4, floats(16), np.zeros(4, np.float32))
    assert errors(done) == ["out-of-bounds", "out-of-bounds"]
    assert {finding.count for finding in done.findings} == {3, 4}


def test_an_address_that_is_no_multiple_of_16_is_found(launch):
    def kernel(x, out):
        i = 4 * cuda.grid(1)
        if i + 4 < x.size:
            store4(out, i, load4(x, i + 1))

    x, out = floats(128), np.zeros(128, np.float32)
    done = launch(kernel, 1, 32, x, out)
    assert errors(done) == ["misaligned-access"]
    assert "x[1] and the three after it by load4" in done.findings[0].what
    assert done.findings[0].count == 31


def test_rows_that_are_no_multiple_of_4_are_aligned_where_they_are(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        store4(out, (t, 0), load4(x, (t * step, 0)))

    step = 4
    x, out = floats(33, 5), np.zeros((8, 4), np.float32)
    assert not launch(kernel, 1, 8, x, out).findings
    np.testing.assert_array_equal(out, x[:32:4, :4])

    def every_row(x, out):
        t = cuda.threadIdx.x
        store4(out, (t, 0), load4(x, (t, 0)))

    done = launch(every_row, 1, 8, x, out)
    assert errors(done) == ["misaligned-access"]
    assert done.findings[0].count == 6


def test_a_row_that_begins_between_is_known_by_its_address(launch):
    def kernel(x, out):
        row = x[cuda.threadIdx.x]
        store4(out, 4 * cuda.threadIdx.x, load4(row, 3 * cuda.threadIdx.x))

    x, out = floats(4, 13), np.zeros(16, np.float32)
    assert not launch(kernel, 1, 4, x, out).findings
    np.testing.assert_array_equal(out.reshape(4, 4), [x[t, 3 * t :][:4] for t in range(4)])


def test_reading_shared_memory_that_nobody_has_written_is_found(launch):
    def kernel(out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        if t != 7:
            store4(tile, 4 * t, (t, t, t, t))
        else:
            tile[4 * t] = t
        cuda.syncthreads()
        out[t] = load4(tile, 4 * (31 - t))[0]

    done = launch(kernel, 1, 32, np.zeros(32, np.float32))
    assert errors(done) == ["uninitialised-read"]
    assert done.findings[0].count == 1


def test_what_single_elements_and_fours_have_written_is_known_together(launch):
    def kernel(out):
        tile = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        store4(tile, 4 * t, (t, t + 1, t + 2, t + 3))
        for k in range(4):
            tile[128 + 32 * k + t] = k
        cuda.syncthreads()
        a = load4(tile, 252 - 4 * t)
        out[t] = a[0] + tile[127 - t]

    out = np.zeros(32, np.float32)
    assert not launch(kernel, 1, 32, out).findings


@pytest.mark.parametrize("reader", ["four", "single"])
@pytest.mark.parametrize("writer", ["four", "single"])
@pytest.mark.parametrize("barrier", [True, False])
def test_races_are_found_between_fours_and_single_elements(launch, reader, writer, barrier):
    def kernel(out):
        tile = cuda.shared.array(512, float32)
        t = cuda.threadIdx.x
        if writer == "four":
            store4(tile, 4 * t, (t, t, t, t))
        else:
            for k in range(4):
                tile[128 * k + t] = t
        if barrier:
            cuda.syncthreads()
        if reader == "four":
            out[t] = load4(tile, 4 * (127 - t))[2]
        else:
            out[t] = tile[511 - t]

    done = launch(kernel, 1, 128, np.zeros(128, np.float32))
    if barrier:
        assert errors(done) == []
    else:  # threads that read too early find nothing written, or a race
        assert "race" in " ".join(errors(done))


def test_blocks_that_write_one_place_of_global_memory_are_found(launch):
    def kernel(out):
        i = 4 * cuda.threadIdx.x
        b = cuda.blockIdx.x
        store4(out, i, (b, b, b, b))

    assert "race" in " ".join(errors(launch(kernel, 2, 32, np.zeros(128, np.float32))))


def test_a_sum_in_fours_of_another_thread_is_a_race_in_global_memory(launch):
    def kernel(x):
        t = cuda.grid(1)
        v = load4(x, 4 * ((t + 1) % 64))
        store4(x, 4 * t, (v[0] + 1, v[1], v[2], v[3]))

    assert "race" in " ".join(errors(launch(kernel, 1, 64, floats(256))))


# ------------------------------------------------------------------ as Numba compiles it


def _through_shared_memory(x, out):
    tile = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    store4(tile, (1, 4 * t), load4(x, int32(4) * int32(t)))
    cuda.syncthreads()
    store4(out, (t, 0), load4(tile[1], uint32(4 * t)))


def test_each_is_one_aligned_vector_instruction():
    vectors = types.float32[::1], types.float32[:, ::1]
    text = real_lowering.llvm(_through_shared_memory, vectors)
    loads = [line for line in text.splitlines() if "= load <4 x float>" in line]
    stores = [line for line in text.splitlines() if "store <4 x float>" in line]
    assert len(loads) == len(stores) == 2
    assert all(line.split("!")[0].strip().endswith("align 16") for line in loads + stores)


# ------------------------------------------------------------------ what Numba refuses


def _load_of_doubles(x, out):
    out[0] = load4(x, 0)[0]


def _load_of_a_view(x, out):
    out[0] = load4(x[:, 4:], (0, 0))[0]


def _index_of_another_length(x, out):
    out[0] = load4(x, 0)[0]


def _index_of_a_float(x, out):
    out[0] = load4(x, (0, 1.5))[0]


def _three_values(x, out):
    store4(x, (0, 0), (1.0, 2.0, 3.0))


def _no_tuple(x, out):
    store4(x, (0, 0), 1.0)


def _complex_values(x, out):
    store4(x, (0, 0), (1j, 1j, 1j, 1j))


@pytest.mark.parametrize(
    ("kernel", "x", "said"),
    [
        (_load_of_doubles, np.zeros(8), "load4 takes a float32 array, not array(float64, 1d, C)"),
        (_load_of_a_view, np.zeros((8, 8), np.float32), "load4 takes a C-contiguous array"),
        (_index_of_another_length, np.zeros((8, 8), np.float32), "one integer per dimension"),
        (_index_of_a_float, np.zeros((8, 8), np.float32), "one integer per dimension"),
        (_three_values, np.zeros((8, 8), np.float32), "a tuple of four numbers"),
        (_no_tuple, np.zeros((8, 8), np.float32), "a tuple of four numbers"),
        (_complex_values, np.zeros((8, 8), np.float32), "a tuple of four numbers"),
    ],
)
def test_what_they_do_not_take_is_said(launch, kernel, x, said):
    with pytest.raises(KernelError) as caught:
        launch(kernel, 1, 1, x, np.zeros(1, np.float32))
    assert said in str(caught.value)
    dtype = types.float64[::1] if x.dtype == np.float64 else types.float32[:, ::1]
    assert said in real_lowering.refusal(kernel, (dtype, types.float32[::1]))
