"""Advice on speed: given where it is due, with its line and numbers, and not for small or well-made launches."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda.random import xoroshiro128p_dtype, xoroshiro128p_uniform_float32

from grader.records import Severity

N = 1 << 14


def advice(result):
    assert all(finding.severity is Severity.ADVICE for finding in result.findings), result.findings
    return {finding.kind: finding for finding in result.findings}


def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


def test_a_well_made_launch_gets_no_advice(launch):
    assert advice(launch(copy, 64, 256, np.zeros(N, np.float32), np.zeros(N, np.float32))) == {}


@pytest.mark.parametrize("n", [1, 31, 33, 1025])
def test_small_sizes_get_no_advice(launch, n):
    assert advice(launch(copy, -(-n // 256), 256, np.zeros(n, np.float32), np.zeros(n, np.float32))) == {}


def by_column(x, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


def by_row(x, out):
    j, i = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j]


def test_access_by_columns_is_strided_and_by_rows_is_not(launch):
    x = np.zeros((128, 128), np.float32)
    found = advice(launch(by_column, (8, 8), (16, 16), x, x.copy()))["strided-access"]
    assert found.place.text == "out[i, j] = x[i, j]"
    assert "16 sectors" in found.what
    assert "where 4 would" in found.what
    assert advice(launch(by_row, (8, 8), (16, 16), x, x.copy())) == {}


def gray(image, out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = (77 * image[y, x, 0] + 150 * image[y, x, 1] + 29 * image[y, x, 2] + 128) // 256


@pytest.mark.parametrize(("height", "width"), [(257, 3), (97, 131), (256, 256)])
def test_bytes_in_blocks_of_half_a_warps_width_get_no_advice(launch, height, width):
    grid = (-(-width // 16), -(-height // 16))
    image, out = np.zeros((height, width, 3), np.uint8), np.zeros((height, width), np.uint8)
    assert advice(launch(gray, grid, (16, 16), image, out)) == {}


def one_thread(x, out):
    if cuda.threadIdx.x == 0:
        for k in range(64):
            out[cuda.blockIdx.x] += x[cuda.blockIdx.x, k]


def test_one_lane_alone_is_not_strided(launch):
    result = launch(one_thread, 64, 32, np.zeros((64, 64), np.float32), np.zeros(64, np.float32))
    assert "strided-access" not in advice(result)


def conflicts(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = x[ty, tx]
    cuda.syncthreads()
    out[cuda.blockIdx.x, ty, tx] = tile[tx, ty]


def test_bank_conflicts_are_told_with_their_turns(launch):
    x = np.zeros((32, 32), np.float32)
    found = advice(launch(conflicts, 4, (32, 32), x, np.zeros((4, 32, 32), np.float32)))
    assert "32 turns" in found["bank-conflicts"].what
    assert found["bank-conflicts"].place.text == "out[cuda.blockIdx.x, ty, tx] = tile[tx, ty]"


def spread(x, out):
    i = cuda.grid(1)
    value = x[i]
    if i % 8 == 0:
        for k in range(100):
            value = value * float32(0.5) + float32(k)
    out[i] = value


def test_lanes_that_part_are_told_of_at_the_branch(launch):
    found = advice(launch(spread, 64, 256, np.zeros(N, np.float32), np.zeros(N, np.float32)))["divergence"]
    assert found.place.text == "if i % 8 == 0:"
    assert "512 of 512" in found.what


def literal(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * 2.5


def start_value(x, out):
    i = cuda.grid(1)
    total = 0.0
    for _ in range(3):
        total += x[i]
    out[i] = total


def by_variable(x, out):
    i = cuda.grid(1)
    scale = x.shape[0] + 0.5
    out[i] = x[i] * scale


def by_integer(x, out):
    i = cuda.grid(1)
    out[i] = x[i] / x.size


def in_float32(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * float32(2.5) + np.float32(1)


def whole_start(x, out):
    i = cuda.grid(1)
    total = 0
    for k in range(3):
        total += x[i] * x[k]
    out[i] = total


def literal_and_whole(x, out):
    i = cuda.grid(1)
    out[i] = 4.0 * i / x.size


def parts(x, out):
    i = cuda.grid(1)
    out[i] = x[i] / (2 * x[i] * 0.5)


def quotient(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * (i / x.size)


@cuda.jit(device=True)
def scaled(value, scale):
    return value * value / (2 * scale * scale)


@cuda.jit(device=True)
def scaled_by(value, scale):
    return scaled(value, scale)


def passed_on(x, out):
    i = cuda.grid(1)
    out[i] = scaled_by(x[i], 0.5)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (whole_start, "gives it the whole number 0"),
        (literal_and_whole, "the literal 4.0 is float64"),
        (parts, "the number 2 is int64"),
        (quotient, "a quotient of whole numbers is float64"),
        (passed_on, "the literal 0.5 is float64"),
        (literal, "the literal 2.5 is float64"),
        (start_value, "total is float64, since line"),
        (by_integer, "int64"),
        (by_variable, "scale is float64"),
    ],
)
def test_float64_arithmetic_on_float32_arrays_names_its_cause(launch, kernel, words):
    result = launch(kernel, 1, 32, np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert {finding.kind for finding in result.findings} == {"float64-arithmetic"}
    assert any(words in finding.what for finding in result.findings)


def by_argument(x, out, factor):
    i = cuda.grid(1)
    out[i] = x[i] * factor


def test_a_float64_argument_of_a_launch_is_named(launch):
    x = np.zeros(32, np.float32)
    (found,) = launch(by_argument, 1, 32, x, x.copy(), 2.5).findings
    assert "the argument factor is float64" in found.what
    assert launch(by_argument, 1, 32, x, x.copy(), np.float32(2.5)).findings == ()


def drawn(states, out):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


def test_float64_within_numbas_own_functions_is_not_the_kernels(launch):
    states = np.ones(32, xoroshiro128p_dtype)
    result = launch(drawn, 1, 32, states, np.zeros(32, np.float32))
    assert result.counters["flops_float64"] > 0
    assert result.findings == ()


@pytest.mark.parametrize(("kernel", "dtype"), [(in_float32, np.float32), (literal, np.float64)])
def test_arithmetic_of_the_arrays_width_gets_no_advice(launch, kernel, dtype):
    assert advice(launch(kernel, 1, 32, np.zeros(32, dtype), np.zeros(32, dtype))) == {}


def long_walk(x, out):
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    out[cuda.grid(1)] = total


def test_a_grid_that_leaves_most_of_a_gpu_idle(launch):
    found = advice(launch(long_walk, 4, 256, np.zeros(1 << 18, np.float32), np.zeros(1024, np.float32)))
    assert "4 of the 40 multiprocessors" in found["idle-gpu"].what


def big_tile(x, out):
    tile = cuda.shared.array(8192, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    out[i] = tile[cuda.threadIdx.x]


def test_blocks_that_leave_no_room_for_others(launch):
    found = advice(launch(big_tile, 64, 128, np.zeros(8192, np.float32), np.zeros(8192, np.float32)))
    assert "32,768 bytes of shared memory" in found["low-occupancy"].what
    assert "25%" in found["low-occupancy"].what


def test_blocks_that_are_no_whole_warps(launch):
    found = advice(launch(copy, 100, 48, np.zeros(4800, np.float32), np.zeros(4800, np.float32)))
    assert "16 of 64 lanes" in found["partial-warps"].what


def count_all(x, out):
    cuda.atomic.add(out, 0, x[cuda.grid(1)])


def test_an_atomic_of_every_thread_on_one_address(launch):
    found = advice(launch(count_all, 64, 256, np.zeros(N, np.float32), np.zeros(1, np.float32)))
    assert "16,384 atomic operations" in found["crowded-atomics"].what


def interleaved(x, out):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0:
            part[t] += part[t + step]
        cuda.syncthreads()
        step *= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def halving(x, out):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def warp_per_row(x, out):
    lane = cuda.threadIdx.x % 32
    warps = cuda.gridsize(1) // 32
    for row in range(cuda.grid(1) // 32, x.shape[0], warps):
        total = float32(0)
        for column in range(lane, x.shape[1], 32):
            total += x[row, column]
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        if lane == 0:
            out[row] = total


def smoothed(x, out):
    tile = cuda.shared.array((18, 18), float32)
    tx, ty = cuda.threadIdx.x + 1, cuda.threadIdx.y + 1
    j, i = cuda.grid(2)
    height, width = x.shape
    inside = i < height and j < width
    tile[ty, tx] = x[i, j] if inside else float32(0)
    if tx == 1:
        tile[ty, 0] = x[i, j - 1] if j > 0 and i < height else float32(0)
    if tx == 16:
        tile[ty, 17] = x[i, j + 1] if j + 1 < width and i < height else float32(0)
    if ty == 1:
        tile[0, tx] = x[i - 1, j] if i > 0 and j < width else float32(0)
    if ty == 16:
        tile[17, tx] = x[i + 1, j] if i + 1 < height and j < width else float32(0)
    cuda.syncthreads()
    if inside:
        out[i, j] = tile[ty - 1, tx] + tile[ty + 1, tx] + tile[ty, tx - 1] + tile[ty, tx + 1]


def hailstones(x, out):
    i = cuda.grid(1)
    if i < out.size:
        n, turns = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            turns += 1
        out[i] = turns


@pytest.mark.parametrize(("threads", "blocks"), [(256, 256), (256, 391), (128, 512)])
def test_a_tree_of_every_second_thread_is_told_at_its_branch(launch, threads, blocks):
    x, out = np.zeros(threads * blocks, np.float32), np.zeros(blocks, np.float32)
    found = advice(launch(interleaved, blocks, threads, x, out))["divergence"]
    assert found.place.text == "if t % (2 * step) == 0:"
    assert "lanes of a warp go one way" in found.what


@pytest.mark.parametrize("threads", [64, 128, 256])
def test_the_last_steps_of_a_tree_are_not_told_of(launch, threads):
    x, out = np.zeros(512 * threads, np.float32), np.zeros(512, np.float32)
    assert "divergence" not in advice(launch(halving, 512, threads, x, out))


def test_the_first_lane_that_writes_for_its_warp_is_not_told_of(launch):
    result = launch(warp_per_row, 64, 256, np.zeros((4096, 64), np.float32), np.zeros(4096, np.float32))
    assert "divergence" not in advice(result)


def packs(result):
    return any("packed" in finding.what for finding in result.findings)


@pytest.mark.parametrize("size", [(256, 256), (250, 333)])
def test_the_edges_of_a_tile_cannot_be_packed(launch, size):
    grid = (-(-size[1] // 16), -(-size[0] // 16))
    assert not packs(launch(smoothed, grid, (16, 16), np.zeros(size, np.float32), np.zeros(size, np.float32)))


def test_what_depends_on_data_cannot_be_packed(launch):
    x, out = np.zeros(1, np.float32), np.zeros(5000, np.int32)
    assert not packs(launch(hailstones, 20, 256, x, out))


def product(a, b, out):
    i, j = cuda.grid(2)
    total = float32(0)
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    out[j, i] = total


def test_of_several_accesses_in_a_line_the_strided_one_is_named(launch):
    a = np.zeros((64, 64), np.float32)
    found = advice(launch(product, (2, 2), (32, 32), a, a.copy(), a.copy()))["strided-access"]
    assert found.place.expression == "a[i, k]"


def moved(particles, step):
    i = cuda.grid(1)
    particles[i].x += particles[i].y * step


def test_strided_fields_of_records_are_laid_to_the_layout(launch):
    particles = np.zeros(4096, np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32)], align=True))
    found = advice(launch(moved, 16, 256, particles, np.float32(1)))["strided-access"]
    assert "give each field an array of its own" in found.advice


def test_rows_that_lie_far_apart_are_told_of_the_last_index(launch):
    x = np.zeros((128, 128), np.float32)
    found = advice(launch(by_column, (8, 8), (16, 16), x, x.copy()))["strided-access"]
    assert "the last index of an array" in found.advice


def counted(x, out):
    bins = cuda.shared.array(256, np.int32)
    bins[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.syncthreads()
    cuda.atomic.add(out, cuda.threadIdx.x, bins[cuda.threadIdx.x])


def every_32nd(x, out):
    row = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    row[t] = x[t]
    cuda.syncthreads()
    out[cuda.blockIdx.x, t] = row[t * 32 % 256 + t // 8]


@pytest.mark.parametrize(
    ("kernel", "out", "words"),
    [
        (counted, np.zeros(256, np.int32), "a copy of the array for each part of a block"),
        (every_32nd, np.zeros((64, 256), np.float32), "neighbouring threads neighbouring elements"),
    ],
)
def test_conflicts_in_an_array_of_one_dimension_are_told_of_no_rows(launch, kernel, out, words):
    x = np.random.default_rng(1).integers(0, 256, N).astype(np.int32)
    found = advice(launch(kernel, 64, 256, x.astype(out.dtype), out))["bank-conflicts"]
    assert words in found.advice
    assert "(32, 33)" not in found.advice
