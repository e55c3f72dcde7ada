"""Launches and copies on several streams: what nothing orders is a race, and what anything orders is none."""

# mypy: ignore-errors
from __future__ import annotations

import asyncio
import gc

import numpy as np
import pytest
from numba import cuda

from grader import simulator
from grader.records import Severity

N = 256


@pytest.fixture(scope="module", autouse=True)
def _simulated():
    simulator.install()
    yield
    simulator.uninstall()


@pytest.fixture(autouse=True)
def _nothing_before():
    cuda.synchronize()


@cuda.jit
def fill(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = value


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


@cuda.jit
def count(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, int(x[i]) % bins.size, 1)


@cuda.jit
def put(table, row, column):
    table[row, column] = 1


def races(launches):
    return [f for launch in launches for f in launch.findings if f.kind == "race"]


def errors(launches):
    return [str(f) for launch in launches for f in launch.findings if f.severity is Severity.ERROR]


def arrays(number=2):
    return [cuda.device_array(N, np.float32) for _ in range(number)]


# Between a write on the first stream and a read on the second: what orders the two.
def _event(first, second):
    done = cuda.event()
    done.record(first)
    done.wait(second)


def _event_of_the_host(first, second):
    done = cuda.event()
    done.record(first)
    done.synchronize()


def _polled_event(first, second):
    done = cuda.event()
    done.record(first)
    while not done.query():
        pass


def _through_a_third_stream(first, second):
    third, done, passed_on = cuda.stream(), cuda.event(), cuda.event()
    done.record(first)
    done.wait(third)
    passed_on.record(third)
    passed_on.wait(second)


def _called_back(first, second):
    async def wait():
        await first.async_done()

    asyncio.run(wait())


def _copied_to_pageable_memory(first, second):
    cuda.to_device(np.zeros(4), stream=first).copy_to_host(stream=first)


ORDERED = {
    "an event": _event,
    "an event that the host waits for": _event_of_the_host,
    "an event that the host asks for": _polled_event,
    "a third stream": _through_a_third_stream,
    "the first stream": lambda first, second: first.synchronize(),
    "the device": lambda first, second: cuda.synchronize(),
    "the context": lambda first, second: cuda.current_context().synchronize(),
    "a launch on the default stream": lambda first, second: fill[1, 32](*arrays(1), 0),
    "a launch on the default stream by name": lambda first, second: fill[1, 32, cuda.default_stream()](*arrays(1), 0),
    "a copy that waits": lambda first, second: cuda.to_device(np.zeros(4)),
    "a callback": _called_back,
    "a copy to the host's own memory": _copied_to_pageable_memory,
}


@pytest.mark.parametrize("wait", ORDERED.values(), ids=ORDERED)
def test_what_is_ordered_is_no_race(wait):
    x, out = arrays()
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        fill[1, N, first](x, 3)
        wait(first, second)
        double[1, N, second](x, out)
    assert errors(launches) == []


def _nothing(first, second):
    pass


def _event_the_wrong_way_round(first, second):
    done = cuda.event()
    done.record(second)
    done.wait(first)


def _event_that_was_recorded_too_early(first, second):
    EARLY.wait(second)


def _the_wrong_stream(first, second):
    second.synchronize()


@pytest.mark.parametrize(
    "wait", [_nothing, _event_the_wrong_way_round, _event_that_was_recorded_too_early, _the_wrong_stream]
)
def test_a_launch_that_nothing_orders_behind_another_streams_is_a_race(wait):
    global EARLY  # noqa: PLW0603
    x, out = arrays()
    first, second = cuda.stream(), cuda.stream()
    EARLY = cuda.event()
    EARLY.record(first)
    with simulator.trace() as launches:
        fill[1, N, first](x, 3)
        wait(first, second)
        double[1, N, second](x, out)
    (race,) = races(launches)
    assert race in launches[1].findings
    assert race.severity is Severity.ERROR
    assert (race.array, race.place.text) == ("x", "double[1, N, second](x, out)")
    line = race.place.line - 2
    assert race.what == (
        "Race on x between streams: the launch of double reads x[0], which the launch of fill at line "
        f"{line} writes, and nothing orders the two."
    )
    assert "event.wait(second_stream)" in race.advice


def test_the_first_element_that_both_touch_is_named():
    x = cuda.device_array((4, 64), np.float32)
    first, second = cuda.stream(), cuda.stream()
    rows = x.reshape(N)
    with simulator.trace() as launches:
        fill[1, N, first](rows[130:], 3)
        fill[1, N, second](rows[:140], 4)
    (race,) = races(launches)
    assert "writes x[130], which the launch of fill at line" in race.what
    cuda.synchronize()
    table = cuda.device_array((4, N), np.float32)
    with simulator.trace() as launches:
        fill[1, N, first](table[2], 3)
        put[1, 1, second](table, 2, 7)
    assert "writes table[2, 7], which the launch of fill at line" in races(launches)[0].what


def test_reads_of_the_same_and_writes_of_other_elements_need_no_order():
    x, out, other = arrays(3)
    fill[1, N](x, 1)
    streams = [cuda.stream() for _ in range(4)]
    with simulator.trace() as launches:
        double[1, N, streams[0]](x, out)
        double[1, N, streams[1]](x, other)
        cuda.synchronize()
        for number, stream in enumerate(streams):
            fill[1, N, stream](x[number::4], number)
        cuda.synchronize()
        for number, stream in enumerate(streams):
            fill[1, N, stream](x[64 * number : 64 * number + 64], number)
            double[1, N, stream](x[64 * number : 64 * number + 64], out[64 * number :])
    assert errors(launches) == []


def test_atomic_operations_of_two_streams_go_together_and_reading_their_result_does_not():
    x, bins, out = cuda.to_device(np.arange(N)), cuda.to_device(np.zeros(8, np.int32)), cuda.device_array(8, np.int32)
    first, second, third = (cuda.stream() for _ in range(3))
    with simulator.trace() as launches:
        count[1, N, first](x, bins)
        count[1, N, second](x, bins)
    assert errors(launches) == []
    with simulator.trace() as launches:
        double[1, N, third](bins, out)
    assert [race.array for race in races(launches)] == ["x"]  # as double calls it


def test_a_value_that_was_there_already_may_be_written_at_any_time():
    x, out = arrays()
    first, second = cuda.stream(), cuda.stream()
    fill[1, N](x, 1)
    with simulator.trace() as launches:
        double[1, N, first](x, out)
        fill[1, N, second](x, 1)
    assert errors(launches) == []


def test_one_missing_wait_is_told_once():
    x, out = arrays()
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        fill[1, N, first](x, 3)
        for _ in range(5):
            double[1, N, second](x, out)
    assert len(races(launches)) == 1


def test_each_turn_of_a_loop_over_streams_that_share_a_buffer_races_at_its_own_line():
    x = cuda.device_array(N, np.float32)
    streams = [cuda.stream() for _ in range(3)]
    with simulator.trace() as launches:
        for turn, stream in enumerate(streams):
            fill[1, N, stream](x, turn)
    assert [race.what.count("at the same line writes") for race in races(launches)] == [1, 1]


# ---------------------------------------------------------------------- copies


def test_a_copy_that_does_not_wait_for_a_launch_is_told_with_that_launch():
    x = cuda.device_array(N, np.float32)
    host = cuda.pinned_array(N, np.float32)
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        fill[1, N, first](x, 3)
        x.copy_to_host(host, stream=second)
    (race,) = races(launches[:1])
    assert race.place.text == "x.copy_to_host(host, stream=second)"
    assert race.array == "x"
    assert "the copy to the host reads x[0], which the launch of fill at line" in race.what


def test_a_launch_that_does_not_wait_for_its_input_is_a_race():
    host = cuda.pinned_array(N, np.float32)
    host[:] = 1
    out = cuda.device_array(N, np.float32)
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        x = cuda.to_device(host, stream=first)
        double[1, N, second](x, out)
    (race,) = races(launches)
    assert "the launch of double reads x[0], which the copy to the device at line" in race.what


def test_copies_alone_may_race_too_and_are_told_with_the_next_launch():
    host = cuda.pinned_array(N, np.float32)
    host[:] = 1
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        x = cuda.to_device(host, stream=first)
        x.copy_to_host(host, stream=second)
        fill[1, N](x, 1)
    (race,) = races(launches)
    assert race.array == ""
    assert "Race on memory between streams: the copy to the host reads what the copy to the device at" in race.what


def test_a_pipeline_of_copies_and_launches_on_each_stream_is_right():
    host = cuda.pinned_array(4 * N, np.float32)
    host[:] = np.arange(4 * N)
    streams = [cuda.stream() for _ in range(2)]
    buffers = [arrays() for _ in streams]
    result = cuda.pinned_array(4 * N, np.float32)
    with simulator.trace() as launches:
        for chunk in range(4):
            stream, (x, out) = streams[chunk % 2], buffers[chunk % 2]
            part = slice(chunk * N, chunk * N + N)
            x.copy_to_device(host[part], stream=stream)
            double[1, N, stream](x, out)
            out.copy_to_host(result[part], stream=stream)
        cuda.synchronize()
    np.testing.assert_array_equal(result, 2 * host)
    assert errors(launches) == []


def test_assignments_and_host_arrays_belong_to_their_stream():
    x, out = arrays()
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        x.setitem(slice(None, None, 2), 1, stream=first)
        fill[1, N, second](x[1::2], 1)
        first.synchronize()
        fill[1, N, second](x[::2], 4)
    assert errors(launches) == []
    with simulator.trace() as launches:
        double[1, N, second](x, np.zeros(N, np.float32))  # which waits for the copy back
        fill[1, N, first](x, 1)
    assert errors(launches) == []
    with simulator.trace() as launches:
        x.setitem(slice(None), 7, stream=first)
        double[1, N, second](x, out)
    assert len(races(launches)) == 1


# ---------------------------------------------------------------------- memory and streams that come and go


def test_memory_that_another_array_gets_is_not_blamed_on_the_one_before():
    first, second = cuda.stream(), cuda.stream()
    with simulator.trace() as launches:
        for turn in range(6):
            x = cuda.device_array(N, np.float32)
            fill[1, N, (first, second)[turn % 2]](x, turn)
            del x
            gc.collect()
            cuda.current_context().deallocations.clear()
    assert errors(launches) == []


def test_one_stream_alone_never_races():
    x, out = arrays()
    stream = cuda.stream()
    with simulator.trace() as launches, stream.auto_synchronize():
        fill[1, N, stream](x, 1)
        double[1, N, stream](x, out)
        double[1, N, stream](out, x)
    double[1, N](x, out)
    assert errors(launches) == []
