"""Counters are those of the kernel as written, and a technique check says what was expected and found."""

from __future__ import annotations

import contextlib

import pytest

from grader.judge import CheckFailed, NotMeasured
from grader.records import LineCounters, Place
from grader.technique import Run, SampledRun

KERNEL = """
@cuda.jit
def kernel(x, factor, out, scratch):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    if i < out.size:
        out[i] = factor * tile[t]
        cuda.atomic.add(scratch, 0, 1)

def scale(x, factor, out, bumped):
    scratch = cuda.device_array(3, np.int32)
    scratch[:] = 0
    kernel[(x.size + 63) // 64, 64](x, factor, out, scratch)
"""


def test_counters_are_sums_over_all_threads(candidate):
    run = candidate(KERNEL).simulate("scale", n=1000)
    found = {name: number for name, number in run.items() if number and not name.endswith("_steps")}
    assert found == {
        # 1,000 threads are 31 full warps and one of 8 lanes; 8 elements of 4 bytes to a sector.
        "global_load_requests": 32,
        "global_load_sectors": 125,
        "global_load_bytes": 4000,
        "global_store_requests": 32,
        "global_store_sectors": 125,
        "global_store_bytes": 4000,
        "global_atomic_requests": 32,
        "global_atomic_sectors": 32,
        "global_atomic_bytes": 4000,
        "global_atomics_on_one_address": 1000,
        "shared_load_requests": 32,
        "shared_store_requests": 32,
        "branches": 64,
        "divergent_branches": 2,
        "flops_float32": 1000,
        "sectors_per_load_request": 125 / 32,
        "sectors_per_store_request": 125 / 32,
        "sectors_per_32_loads": 4,
        "sectors_per_32_stores": 4,
        "launches": 1,
        "working_threads": 1000,
        "working_blocks": 16,
        "busiest_thread": 3,
        "busiest_thread_shared": 2,
        "loads_of_x": 1000,
        "stores_of_out": 1000,
        "threads": 1024,
        "blocks": 16,
        "global_loads": 1000,
        "global_stores": 1000,
        "global_atomics": 1000,
        "shared_loads": 1000,
        "shared_stores": 1024,
        "barriers": 1024,
        "shared_bytes": 256,
        "scratch_bytes": 12,
        "outputs": 1000,
        "global_loads_per_output": 1,
        "global_stores_per_output": 1,
        "global_atomics_per_block": 62.5,
    }


def test_a_requirement_that_holds_is_silent(candidate):
    run = candidate(KERNEL).simulate("scale", n=100)
    run.require("global_loads_per_output", at_most=1, at_least=1)


@pytest.mark.parametrize(("bounds", "expected"), [({"at_most": 0}, "at most 0"), ({"at_least": 51}, "at least 51")])
def test_a_requirement_that_fails_teaches(candidate, bounds, expected):
    run = candidate(KERNEL).simulate("scale", n=100)
    with pytest.raises(CheckFailed) as failed:
        run.require("global_atomics_per_block", **bounds, advice="Do it once.")
    failure = failed.value.failure
    assert expected in failure.expected
    assert failure.found == "50"
    assert failure.advice == "Do it once."
    assert "n=100" in failure.where


@pytest.mark.parametrize(
    ("counter", "found", "bounds", "what"),
    [
        (
            "working_threads",
            16,
            {"at_least": 499.5},
            "there are too few threads that access global memory (16, at least 500).",
        ),
        ("global_loads", 20_480, {"at_most": 2500.5}, "too many reads from global memory (20,480, at most 2,500)."),
        ("loads_of_x", 123_456_789, {"at_most": 1e6}, "too many reads of x (123,456,789, at most 1,000,000)."),
        ("global_loads_per_output", 62.5, {"at_most": 2.25}, "per output element (62.5, at most 2.25)."),
        ("global_loads_per_output", 3.0, {"at_most": 2.5}, "per output element (3, at most 2.5)."),
        ("global_loads_per_output", 2 + 1e-6, {"at_most": 2}, "per output element (2.000001, at most 2)."),
        ("global_loads_per_output", 12_345.678, {"at_most": 2}, "per output element (12,345.7, at most 2)."),
    ],
)
def test_a_failure_says_what_is_too_many_or_too_few_in_plain_numbers(counter, found, bounds, what):
    with pytest.raises(CheckFailed) as failed:
        Run("f()", {counter: found}).require(counter, **bounds)
    assert failed.value.failure.what.endswith(what)
    assert failed.value.failure.what.startswith("The result is right, but there are too ")


HALF = "most of them at kernels.py:2  half()"


@pytest.mark.parametrize(
    ("counter", "counts", "told"),
    [
        ("global_loads", {1: 2, 2: 5, 3: 3}, HALF),
        ("global_loads", {1: 3, 2: 4, 3: 3}, ""),
        ("global_loads", {1: 0, 2: 0}, ""),
        ("global_loads_per_output", {1: 2, 2: 5, 3: 3}, HALF),
        ("loads_of_x", {1: 1, 2: 9}, HALF),
        ("loads_of_x", {1: 2, 2: 14, 3: 4}, ""),
        ("loads_of_x", {1: 0, 2: 15, 3: 0}, HALF),
    ],
)
def test_a_failure_names_the_line_that_half_or_more_of_what_is_too_many_comes_from(counter, counts, told):
    """Ten of what is counted; a line's reads of other arrays than x are not known, but how many there are."""
    lines = tuple(LineCounters(Place(line, "half()"), {"global_loads": n}) for line, n in counts.items())
    with pytest.raises(CheckFailed) as failed:
        Run("f()", {counter: 10}, (), lines).require(counter, at_most=1)
    assert failed.value.failure.where == (f"f(), {told}" if told else "f()")


def test_a_failure_names_no_line_for_what_is_too_few():
    lines = (LineCounters(Place(2, "half()"), {"global_loads": 9}),)
    with pytest.raises(CheckFailed) as failed:
        Run("f()", {"global_loads": 10}, (), lines).require("global_loads", at_least=11)
    assert failed.value.failure.where == "f()"


def test_lines_are_those_of_all_launches_of_one_call(candidate):
    twice = KERNEL + "    kernel[(x.size + 63) // 64, 64](x, factor, out, scratch)\n"
    for _ in range(2):
        run = candidate(twice).simulate("scale", n=100)
        stores = {line.place.text: line.counters.get("global_stores", 0) for line in run.lines}
        assert {text: number for text, number in stores.items() if number} == {"out[i] = factor * tile[t]": 200}
    with pytest.raises(CheckFailed) as failed:
        run.require("global_stores_per_output", at_most=1)
    assert failed.value.failure.where.endswith("most of them at kernels.py:13  out[i] = factor * tile[t]")


def test_an_unknown_counter_is_the_authors_mistake(candidate):
    with pytest.raises(AttributeError, match="global_loads"):
        candidate(KERNEL).simulate("scale", n=10).require("loads", at_most=1)


def test_a_technique_is_judged_only_when_the_result_is_right(candidate):
    with pytest.raises(CheckFailed) as failed:
        candidate(KERNEL.replace("factor * tile", "2 * tile")).simulate("scale", n=100)
    assert failed.value.failure.kind == "wrong-values"


ONE_EACH = """
    @cuda.jit
    def kernel(x, factor, out, shift):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = factor * x[i] + shift

    def scale(x, factor, out, bumped):
        kernel[{grid}, {block}](x, factor, out, float32(bumped))
"""
HONEST_FOR_SMALL_SIZES = """
    @cuda.jit
    def kernel(x, factor, out, shift):
        i = cuda.grid(1)
        if i < out.size:
            times = 1 if out.size < 100_000 else 5
            value = float32(0)
            for _ in range(times):
                value = factor * x[i] + shift
            out[i] = value

    def scale(x, factor, out, bumped):
        kernel[(x.size + 127) // 128, 128](x, factor, out, float32(bumped))
"""


def test_a_kernel_that_behaves_where_it_is_checked_is_seen_where_it_is_raced(candidate):
    judged = candidate(HONEST_FOR_SMALL_SIZES)
    assert judged.simulate("scale", n=5000).loads_of_x == 5000
    raced = judged.simulate("scale", n=1 << 24, blocks=8)
    assert raced.loads_of_x == 5 << 24
    with pytest.raises(NotMeasured, match=r"somebody has to look.*too many reads of x"):
        raced.require("loads_of_x", at_most=1 << 24)
    with pytest.raises(CheckFailed, match="too many"):  # known without any sample
        raced.require("threads", at_most=1 << 23)


def test_a_grid_that_sticks_out_is_not_blamed_for_what_a_sample_of_its_blocks_counts(candidate):
    # 87,382 blocks of 192 threads for 2^24 elements: as many times what the sample has loaded is 2^24 + 128.
    raced = candidate(ONE_EACH.format(grid="(x.size + 191) // 192", block=192)).simulate("scale", n=1 << 24, blocks=8)
    assert raced.loads_of_x > 1 << 24
    raced.require("loads_of_x", at_most=1 << 24)


@pytest.mark.parametrize("estimate", [1.3, 2.0, 100.0])
def test_nobody_fails_for_an_estimate_however_far_off(estimate):
    # A grid of which a third works is estimated at three times its work where a sample meets working blocks alone.
    run = SampledRun("f()", {"loads_of_x": 1000 * estimate, "working_threads": 1000 / estimate})
    for counter, bounds in (("loads_of_x", {"at_most": 1000}), ("working_threads", {"at_least": 1000})):
        with pytest.raises(NotMeasured, match="somebody has to look"):
            run.require(counter, **bounds)


def test_a_grid_with_idle_blocks_is_not_failed(candidate):
    raced = candidate(ONE_EACH.format(grid="6 * (x.size // 128)", block=128)).simulate("scale", n=1 << 24, blocks=2)
    for bounds in ({"at_most": 1 << 24}, {"at_least": 1 << 24}):
        with contextlib.suppress(NotMeasured):
            raced.require("loads_of_x", **bounds)


def test_blocks_that_draw_their_work_do_everybodys_in_a_sample_and_are_left_to_a_person(candidate):
    raced = candidate(
        """
        @cuda.jit
        def kernel(x, factor, out, shift, ticket):
            mine = cuda.shared.array(1, np.int64)
            while True:
                if cuda.threadIdx.x == 0:
                    mine[0] = cuda.atomic.add(ticket, 0, 128)
                cuda.syncthreads()
                i = mine[0] + cuda.threadIdx.x
                cuda.syncthreads()
                if i >= out.size:
                    break
                out[i] = factor * x[i] + shift

        def scale(x, factor, out, bumped):
            ticket = cuda.device_array(1, np.int64)
            ticket[:] = 0
            kernel[64, 128](x, factor, out, float32(bumped), ticket)
        """
    ).simulate("scale", n=128 * 200, blocks=4)
    with pytest.raises(NotMeasured, match="too many reads of x"):
        raced.require("loads_of_x", at_most=128 * 200)


def test_blocks_that_wait_for_others_outside_of_the_sample_blame_nobody(candidate):
    judged = candidate(
        """
        @cuda.jit
        def kernel(x, factor, out, shift, flags):
            b = cuda.blockIdx.x
            i = cuda.grid(1)
            if cuda.threadIdx.x == 0 and b > 0:
                while cuda.atomic.add(flags, b - 1, 0) == 0:
                    pass
            cuda.syncthreads()
            if i < out.size:
                out[i] = factor * x[i] + shift
            cuda.threadfence()
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                cuda.atomic.add(flags, b, 1)

        def scale(x, factor, out, bumped):
            blocks = (x.size + 31) // 32
            flags = cuda.device_array(blocks, np.int32)
            flags[:] = 0
            kernel[blocks, 32](x, factor, out, float32(bumped), flags)
        """
    )
    judged.check("scale", n=300)
    with pytest.raises(NotMeasured, match="by themselves"):
        judged.simulate("scale", n=6400, blocks=8)


# Each reads both halves of x once and writes them to out, as pairs of numbers.
PAIRS = {
    "a view of the host's": """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]

def copy(x, out):
    kernel[8, 64](x.view(np.complex64), out.view(np.complex64))
""",
    "a view of the kernel's": """
@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    pairs = x.view(np.int64)
    if 2 * i < out.size:
        out.view(np.int64)[i] = pairs[i]

def copy(x, out):
    kernel[8, 64](x, out)
""",
    "a record": """
PAIR = np.dtype([("both", np.float64)])

@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i]["both"] = x[i]["both"]

def copy(x, out):
    kernel[8, 64](x.view(PAIR), out.view(PAIR))
""",
    "scratch memory that was filled from a wider view": """
@cuda.jit
def kernel(pairs, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pairs[i]

def copy(x, out):
    first = cuda.device_array(x.size // 2, np.complex64)
    pairs = cuda.device_array(x.size // 2, np.complex64)
    first.copy_to_device(x.view(np.complex64))
    pairs.copy_to_device(first)
    kernel[8, 64](pairs, out.view(np.complex64))
""",
    "scratch memory that was filled as numbers": """
@cuda.jit
def kernel(pairs, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pairs[i]

def copy(x, out):
    pairs = cuda.device_array(x.size // 2, np.complex64)
    pairs.view(np.float32).copy_to_device(x)
    kernel[8, 64](pairs, out.view(np.complex64))
""",
}


@pytest.mark.parametrize("how", PAIRS)
def test_a_wider_view_does_not_make_the_elements_of_an_array_fewer(candidate, how):
    run = candidate(PAIRS[how]).simulate("copy", n=1000)
    assert (run.global_loads, run.global_stores) == (1000, 1000)
    assert (run.global_load_bytes, run.global_store_bytes) == (4000, 4000)


def test_a_complex_number_of_memory_that_never_was_anything_else_is_one(candidate):
    run = candidate("""
@cuda.jit
def kernel(x, z):
    i = cuda.grid(1)
    if i < x.size:
        z[i] = x[i]

@cuda.jit
def back(z, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = z[i].real

def copy(x, out):
    z = cuda.device_array(x.size, np.complex64)
    kernel[16, 64](x, z)
    back[16, 64](z, out)
""").simulate("copy", n=1000)
    assert (run.global_loads, run.global_stores) == (2000, 2000)


def test_parts_of_a_pool_of_bytes_are_what_each_is_taken_for(candidate):
    run = candidate("""
@cuda.jit
def clear(pool):
    i = cuda.grid(1)
    if i < pool.size:
        pool[i] = 0

@cuda.jit
def kernel(x, numbers, bytes):
    i = cuda.grid(1)
    if i < x.size:
        numbers[i] = x[i]
        bytes[i] = 1

@cuda.jit
def back(numbers, bytes, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = numbers[i] if bytes[i] else float32(0)

def copy(x, out):
    pool = cuda.device_array(5 * x.size, np.uint8)
    pool[:] = 7
    clear[79, 64](pool)
    numbers, bytes = pool[:4 * x.size].view(np.float32), pool[4 * x.size:]
    kernel[16, 64](x, numbers, bytes)
    back[16, 64](numbers, bytes, out)
""").simulate("copy", n=1000)
    assert (run.global_loads, run.global_stores) == (3000, 5000 + 3000)
