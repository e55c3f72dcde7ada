"""What a test or a notebook is told of launches: records to print and to assert on, and the command's page."""

# mypy: ignore-errors
from __future__ import annotations

import inspect

import numpy as np
import pytest
from numba import cuda

from grader import simulator
from grader.counters import COUNTERS, LARGEST, Counted
from grader.simulation_page import page
from grader.simulator.scheduler import Scheduler


@pytest.fixture
def launches():
    simulator.install(launch_seconds=0.3)
    with simulator.trace() as traced:
        yield traced
    simulator.uninstall()


@cuda.jit
def shift(a, out):
    i = cuda.grid(1)
    out[i] = a[i + 1]


@cuda.jit
def halve(values):
    i = cuda.grid(1)
    while values[i] > i:
        values[i] -= 0


def launched(kernel, *shapes, threads=32):
    kernel[1, threads](*(cuda.to_device(np.ones(shape, np.float32)) for shape in shapes))


def test_a_known_counter_of_which_there_is_nothing_is_zero(launches):
    launched(shift, 33, 32)
    (launch,) = launches
    counted = (launch.counters, *launch.lines.values())
    assert counted[1:]
    for counters in counted:
        assert [counters[name] >= 0 for name in (*COUNTERS, *LARGEST)]
    assert (launch.counters["barriers"], launch.counters["global_stores"]) == (0, 32)
    assert launch.counters["shared_bank_conflicts"] == 0


def test_bank_conflicts_of_all_kinds_are_one_counter_too():
    kinds = {"shared_load_bank_conflicts": 3, "shared_atomic_bank_conflicts": 4}
    assert Counted(kinds)["shared_bank_conflicts"] == 7


def test_a_counter_that_there_is_not_is_a_key_error_that_names_the_nearest(launches):
    launched(shift, 33, 32)
    with pytest.raises(KeyError, match="did you mean shared_load_bank_conflicts"):
        launches[0].counters["shared_loads_bank_conflicts"]
    assert "loads_of_nobody" not in launches[0].counters


def test_the_sentence_comes_first_where_a_finding_is_shown_in_short(launches):
    launched(shift, 32, 32)
    (error,) = launches[0].errors
    assert repr(launches[0].errors).startswith("(<error at test_told_in_python.py:")
    assert error.what[:40] in repr(launches[0].errors)[:120]
    assert repr(launches).startswith("[<shift[(1, 1, 1), (32, 1, 1)] at test_told_in_python.py:")
    assert error.what in repr(launches[0])
    assert "Counted" not in repr(launches[0])


def test_records_are_printed_in_80_columns(launches):
    launched(shift, 32, 32)
    (launch,) = launches
    for text in (str(launch), str(launch.errors[0])):
        assert max(map(len, text.splitlines())) <= 80
        assert " ".join(launch.errors[0].what.split()) in " ".join(text.split())
        assert launch.errors[0].advice.split(".")[0] in " ".join(text.split())


def test_a_launch_with_nothing_to_remark_says_so(launches):
    launched(shift, 33, 32)
    assert str(launches[0]).endswith("nothing to remark") == (not launches[0].findings)


def test_the_commands_page_is_there_in_python(launches):
    launched(shift, 32, 32)
    text = page(launches)
    assert "test_told_in_python.py on a simulated Tesla T4: 1 launch of 1 kernel; 1 error" in text
    assert "global memory written   32 elements" in text
    assert "shift (test_told_in_python.py): what its lines cost" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "no kernel was launched" in page([])


def test_a_launch_out_of_time_blames_nobody_and_names_a_thread_a_line_and_a_remedy(launches):
    with pytest.raises(Exception, match="did not end within"):
        launched(halve, 32, threads=1)
    assert launches[0].problem
    assert not launches[0].errors  # a right kernel may need longer, too
    told = launches[0].findings[-1]
    assert (told.kind, told.place.text) == ("time-limit", "while values[i] > i:")
    assert told.threads == (((0, 0, 0), (0, 0, 0)),)
    assert "Thread 0 of block 0" in told.what
    assert "condition" in told.advice


def test_endless_recursion_is_not_told_as_a_lack_of_time(launches):
    @cuda.jit("int64(int64)", device=True)
    def deeper(n):
        if n < 0:
            return n
        return deeper(n + 1)

    @cuda.jit
    def kernel(out):
        out[0] = deeper(1)

    with pytest.raises(Exception, match="itself without end"):
        launched(kernel, 1, threads=1)
    assert launches[0].errors[-1].kind == "recursion"


@pytest.mark.parametrize(("threads", "shape", "what"), [(2048, 2048, "2048 threads"), (0, 1, "at least 1")])
def test_a_refused_launch_counts_as_an_error_at_its_line(launches, threads, shape, what):
    with pytest.raises(Exception, match="block"):
        launched(halve, shape, threads=threads)
    (error,) = launches[0].errors
    assert error.kind == "launch-refused"
    assert what in error.what
    assert error.place.text.startswith("kernel[1, threads]")
    assert error.advice
    assert "none ended well, 1 error" in " ".join(page(launches).split())


def test_an_interrupted_launch_is_told_with_its_loop_and_what_was_found(launches, monkeypatch):
    ticks = iter([None] * 20)

    def tick(machine, pending):
        if next(ticks, "over") == "over":
            raise KeyboardInterrupt

    monkeypatch.setattr(Scheduler, "_tick", tick)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        launched(halve, 1, threads=4)
    assert type(interrupted.value) is KeyboardInterrupt
    told = page(launches)
    assert "halve was interrupted. Thread 0 of block 0 was at test_told_in_python.py:" in told
    assert "while values[i] > i:" in told
    assert [finding.kind for finding in launches[0].errors] == ["out-of-bounds"]


def test_a_copy_of_what_no_launch_wrote_is_told_by_the_scripts_name_for_it(launches):
    out = cuda.device_array((2, 8), np.float32)
    out.copy_to_host()
    launched(shift, 33, 32)
    (finding,) = [each for each in launches[0].findings if each.kind == "unwritten-elements"]
    assert "16 of 16 elements of out that are copied to the host here were never written, out[0, 0]" in finding.what


def test_one_operation_is_one(launches):
    @cuda.jit
    def scale(x):
        x[0] = x[0] * 2.5

    launched(scale, 1, threads=1)
    (finding,) = [each for each in launches[0].findings if each.kind == "float64-arithmetic"]
    assert "computes in float64, 1 operation, though" in finding.what


def test_what_the_module_offers_is_what_a_reader_is_shown():
    assert dir(simulator) == ["install", "trace", "uninstall"]
    assert inspect.signature(simulator.install).parameters["gpu"].default == "t4"
