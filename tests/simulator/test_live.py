"""The simulator in the place of a GPU, for scripts as people write them: results, findings, Numba's own objects."""

# mypy: ignore-errors
from __future__ import annotations

import gc
import importlib
import math
import os
import subprocess
import sys
import threading
import weakref
from types import ModuleType, SimpleNamespace

import numba
import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda.cudadrv.driver import CudaAPIError, CudaDriverError

from grader import simulator
from grader.errors import NotSimulated, UsageError
from grader.records import Severity
from grader.simulator.frontend import numba_errors
from grader.simulator.numba_types import from_dtype
from grader.vector_access import load4, store4

FACTOR = 2


@pytest.fixture(autouse=True)
def _simulated():
    simulator.install()
    yield
    simulator.uninstall()


@pytest.fixture
def launches():
    with simulator.trace() as traced:
        yield traced


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def increment(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] += 1


@cuda.jit
def doubled_in_fours(x, out):
    i = 4 * cuda.grid(1)
    if i < out.size:
        a, b, c, d = load4(x, i)
        store4(out, i, (a + a, b + b, c + c, d + d))


def kinds(launch, severity=None):
    return [finding.kind for finding in launch.findings if severity is None or finding.severity is severity]


def mistakes(launches):
    """Everything but advice on speed, which small sizes provoke."""
    return [str(f) for launch in launches for f in launch.findings if f.severity is not Severity.ADVICE]


# ---------------------------------------------------------------------- scripts as people write them


def test_a_vector_addition_gives_its_sums_and_one_record(launches):
    n = 1000
    a = np.arange(n, dtype=np.float32)
    d_a, d_b, d_out = cuda.to_device(a), cuda.to_device(2 * a), cuda.device_array_like(a)
    add[(n + 127) // 128, 128](d_a, d_b, d_out)
    np.testing.assert_array_equal(d_out.copy_to_host(), 3 * a)
    (launch,) = launches
    assert (launch.kernel, launch.grid, launch.block) == ("add", (8, 1, 1), (128, 1, 1))
    assert launch.place.file == __file__
    assert "add[(n + 127) // 128, 128]" in launch.place.text
    assert launch.counters["loads_of_a"] == n
    assert launch.counters["stores_of_out"] == n
    assert mistakes(launches) == []


def test_a_tiled_matmul_is_right_and_without_a_finding(launches):
    tile = 8

    @cuda.jit
    def matmul(a, b, c):
        s_a = cuda.shared.array((tile, tile), float32)
        s_b = cuda.shared.array((tile, tile), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for step in range((a.shape[1] + tile - 1) // tile):
            s_a[ty, tx] = 0
            s_b[ty, tx] = 0
            if y < a.shape[0] and step * tile + tx < a.shape[1]:
                s_a[ty, tx] = a[y, step * tile + tx]
            if x < b.shape[1] and step * tile + ty < b.shape[0]:
                s_b[ty, tx] = b[step * tile + ty, x]
            cuda.syncthreads()
            for k in range(tile):
                total += s_a[ty, k] * s_b[k, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    rng = np.random.default_rng(1)
    a, b = rng.random((20, 30), np.float32), rng.random((30, 17), np.float32)
    c = cuda.device_array((20, 17), np.float32)
    matmul[(3, 3), (tile, tile)](cuda.to_device(a), cuda.to_device(b), c)
    np.testing.assert_allclose(c.copy_to_host(), a @ b, rtol=1e-5)
    assert mistakes(launches) == []


def test_a_missing_barrier_is_an_error_with_its_line(launches):
    @cuda.jit
    def reverse(values):
        s = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        s[i] = values[i]
        values[i] = s[63 - i]

    reverse[1, 64](cuda.to_device(np.arange(64, dtype=np.float32)))
    (finding,) = [f for f in launches[0].findings if f.severity is Severity.ERROR]
    assert finding.place.text == "values[i] = s[63 - i]"
    assert finding.place.short_file == "test_live.py"
    assert "syncthreads" in str(finding)


def test_host_arrays_go_both_ways_with_a_warning(launches):
    a = np.arange(10.0)
    out = np.zeros(10)
    add[1, 32](a, a, out)
    np.testing.assert_array_equal(out, 2 * a)
    (finding,) = [f for f in launches[0].findings if f.kind == "host-array"]
    assert finding.severity is Severity.WARNING
    assert finding.place == launches[0].place
    assert "a, b, out" in finding.what


def test_hints_say_which_way_host_arrays_go():
    a, out = np.arange(4.0), np.full(4, 7.0)
    add[1, 4](cuda.In(a), cuda.In(a), cuda.Out(out))
    np.testing.assert_array_equal(out, 2 * a)
    before = a.copy()
    increment[1, 4](cuda.In(a))
    np.testing.assert_array_equal(a, before)
    increment[1, 4](cuda.InOut(a))
    np.testing.assert_array_equal(a, before + 1)


def test_what_out_does_not_copy_in_is_garbage(launches):
    increment[1, 4](cuda.Out(np.zeros(4)))
    assert "uninitialised-read" in kinds(launches[0], Severity.ERROR)


def test_memory_of_device_array_is_garbage_until_written(launches):
    values = cuda.device_array(8)
    increment[1, 8](values)
    assert kinds(launches[0], Severity.ERROR) == ["uninitialised-read"]
    values[:] = 0
    increment[1, 8](values)
    assert kinds(launches[1], Severity.ERROR) == []


def test_memory_that_a_kernel_has_written_can_be_read_by_the_next_one(launches):
    a = cuda.to_device(np.arange(8.0))
    out = cuda.device_array(8)
    add[1, 8](a, a, out)
    increment[1, 8](out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.arange(8.0) + 1)
    assert mistakes(launches) == []


def test_streams_and_events_work_in_order(launches):
    stream, start, end = cuda.stream(), cuda.event(), cuda.event()
    host = cuda.pinned_array(100)
    host[:] = 1
    with stream.auto_synchronize():
        values = cuda.to_device(host, stream=stream)
        start.record(stream)
        increment[1, 128, stream](values)
        end.record(stream)
        values.copy_to_host(host, stream=stream)
    end.synchronize()
    assert cuda.event_elapsed_time(start, end) > 0
    assert start.query()
    np.testing.assert_array_equal(host, 2)
    assert mistakes(launches) == []


def test_a_stream_calls_back_when_it_is_asked():
    stream, called = cuda.stream(), []
    stream.add_callback(lambda stream, status, arg: called.append((status, arg)), "argument")
    stream.synchronize()
    assert called == [(0, "argument")]


def test_forall_launches_as_many_threads_as_tasks(launches):
    values = cuda.to_device(np.zeros(1500))
    increment.forall(1500)(values)
    np.testing.assert_array_equal(values.copy_to_host(), 1)
    x, y, z = launches[0].grid
    assert (x * launches[0].block[0] >= 1500, y, z) == (True, 1, 1)


def test_numbas_own_reduction_runs_without_a_finding(launches):
    total = cuda.reduce(lambda a, b: a + b)
    values = np.arange(1234, dtype=np.float64)
    assert total(cuda.to_device(values)) == values.sum()
    assert total(values) == values.sum()
    assert {launch.kernel for launch in launches} == {"gpu_reduce_block_strided"}
    assert [str(f) for launch in launches for f in launch.findings if f.kind != "host-array"] == []


def test_numbas_random_states_live_on_the_simulated_gpu(launches):
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

    @cuda.jit
    def draw(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)

    states = create_xoroshiro128p_states(64, seed=1)
    out = cuda.device_array(64, np.float32)
    draw[1, 64](states, out)
    drawn = out.copy_to_host()
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert len(set(drawn)) > 60
    assert mistakes(launches) == []


def test_closures_over_configuration_objects_and_factories(launches):
    config = SimpleNamespace(block=32, scale=3)

    def make(scale, function):
        @cuda.jit
        def kernel(values):
            i = cuda.grid(1)
            if i < values.size:
                values[i] = function(values[i]) * scale

        return kernel

    double = cuda.jit(device=True)(lambda x: 2 * x)
    for scale in (config.scale, 5):
        values = cuda.to_device(np.ones(40))
        make(scale, double)[2, config.block](values)
        np.testing.assert_array_equal(values.copy_to_host(), 2 * scale)
    assert mistakes(launches) == []


@numba.njit
def squared(x):
    return x * x


def test_njit_functions_can_be_called_from_kernels(launches):
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        values[i] = squared(values[i])

    values = cuda.to_device(np.arange(4.0))
    kernel[1, 4](values)
    np.testing.assert_array_equal(values.copy_to_host(), np.arange(4.0) ** 2)
    assert mistakes(launches) == []
    assert squared(3.0) == 9.0  # and the CPU's code is still the CPU's


def test_imports_inside_functions_and_aliases_of_the_module(launches):
    import numba.cuda as nc
    from numba.cuda import grid

    def run(values):
        from numba import cuda as inner

        @inner.jit
        def kernel(out):
            i = grid(1)
            if i < nc.gridsize(1):
                out[i] = math.sqrt(out[i])

        device = nc.to_device(values)
        kernel[1, values.size](device)
        inner.synchronize()
        return device.copy_to_host()

    np.testing.assert_array_equal(run(np.array([1.0, 4.0, 9.0])), [1, 2, 3])
    assert mistakes(launches) == []


def test_declared_signatures_compile_at_once_and_convert_arguments(launches):
    @cuda.jit("void(float32[:], float32)")
    def scale(values, factor):
        values[cuda.grid(1)] *= factor

    @cuda.jit("float64(float32)", device=True)
    def half(x):
        return x / 2

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = half(float32(3))

    assert len(scale.overloads) == 1
    values = cuda.to_device(np.ones(4, np.float32))
    scale[1, 4](values, 3)
    np.testing.assert_array_equal(values.copy_to_host(), 3)
    with pytest.raises(TypeError, match="declared for"):
        scale[1, 4](np.ones(4), 3)
    out = cuda.device_array(4)
    kernel[1, 4](out)
    np.testing.assert_array_equal(out.copy_to_host(), 1.5)


def test_every_option_of_jit_is_taken(launches):
    for options in (
        {"fastmath": True},
        {"max_registers": 32},
        {"lineinfo": True},
        {"debug": True, "opt": False},
        {"opt": False},
        {"cache": True},
        {"inline": "always", "device": True},
        {"launch_bounds": (128, 2)},
        {"shared_memory_carveout": 50},
    ):

        def kernel(values):
            values[cuda.grid(1)] += 1

        decorated = cuda.jit(**options)(kernel)
        if not options.get("device"):
            values = cuda.to_device(np.zeros(4))
            decorated[1, 4](values)
            np.testing.assert_array_equal(values.copy_to_host(), 1)
    assert mistakes(launches) == []


def test_dynamic_shared_memory_is_a_part_of_the_configuration(launches):
    @cuda.jit
    def kernel(values):
        s = cuda.shared.array(0, float32)
        i = cuda.threadIdx.x
        s[i] = values[i]
        cuda.syncthreads()
        values[i] = s[31 - i]

    values = cuda.to_device(np.arange(32, dtype=np.float32))
    kernel[1, 32, 0, 32 * 4](values)
    np.testing.assert_array_equal(values.copy_to_host(), np.arange(32)[::-1])
    assert launches[0].dynamic_shared_bytes == 128
    assert mistakes(launches) == []


def test_mapped_and_managed_memory_is_the_hosts_too(launches):
    mapped, managed = cuda.mapped_array(8), cuda.managed_array(8, np.int32)
    mapped[:], managed[:] = 1, 5
    increment[1, 8](mapped)
    increment[1, 8](managed)
    cuda.synchronize()
    np.testing.assert_array_equal(mapped, 2)
    np.testing.assert_array_equal(managed, 6)
    host = np.zeros(8)
    with cuda.mapped(host) as device:
        increment[1, 8](device)
    np.testing.assert_array_equal(host, 1)
    with cuda.pinned(host):
        cuda.to_device(host)
    assert mistakes(launches) == []


# ---------------------------------------------------------------------- devices, contexts


def test_guards_for_several_gpus(launches):
    simulator.install("a100", devices=2)
    with simulator.trace() as launches:
        assert cuda.is_available()
        assert len(cuda.gpus) == len(cuda.list_devices()) == 2
        results = []
        for number in range(len(cuda.gpus)):
            with cuda.gpus[number]:
                assert cuda.get_current_device().id == number
                values = cuda.to_device(np.full(4, float(number)))
                increment[1, 4](values)
                results.append(values.copy_to_host())
    np.testing.assert_array_equal(results, [[1] * 4, [2] * 4])
    assert len(launches) == 2
    device = cuda.select_device(1)
    assert device.compute_capability == (8, 0)
    assert device.MULTIPROCESSOR_COUNT == 108


def test_one_gpu_is_what_there_is():
    assert len(cuda.gpus) == 1
    with pytest.raises(IndexError):
        cuda.gpus[1]
    device = cuda.get_current_device()
    assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK) == (32, 1024)
    with pytest.raises(AttributeError):
        device.NO_SUCH_ATTRIBUTE  # noqa: B018


def test_detect_lists_the_model(capsys):
    assert cuda.detect()
    assert "Tesla T4" in capsys.readouterr().out


def test_memory_info_says_what_is_left():
    free, total = cuda.current_context().get_memory_info()
    held = cuda.device_array(1 << 20, np.uint8)
    assert cuda.current_context().get_memory_info()[0] <= free - (1 << 20)
    assert total > 1 << 30
    assert held.nbytes == 1 << 20


def test_more_memory_than_the_gpu_has_is_refused_as_by_the_driver():
    _, total = cuda.current_context().get_memory_info()
    with pytest.raises(CudaAPIError, match="bytes were asked for"):
        cuda.device_array(total + 1, np.uint8)


# ---------------------------------------------------------------------- device arrays


def test_device_arrays_are_numbas_own():
    host = np.arange(24.0).reshape(4, 6)
    device = cuda.to_device(host)
    assert type(device).__name__ == "DeviceNDArray"
    assert device[1, 2] == 8
    np.testing.assert_array_equal(device[1:3, ::2].copy_to_host(), host[1:3, ::2])
    np.testing.assert_array_equal(device.T.copy_to_host(), host.T)
    np.testing.assert_array_equal(device.reshape(8, 3).copy_to_host(), host.reshape(8, 3))
    np.testing.assert_array_equal(device.ravel().copy_to_host(), host.ravel())
    np.testing.assert_array_equal(device.view(np.int64).copy_to_host(), host.view(np.int64))
    np.testing.assert_array_equal(device.reshape(1, 24).squeeze().copy_to_host(), host.ravel())
    assert [part.size for part in device.ravel().split(10)] == [10, 10, 4]
    assert device.is_c_contiguous()
    assert len(device) == 4
    device[0] = 7
    device[2, 3:5] = np.array([1, 2])
    host[0], host[2, 3:5] = 7, [1, 2]
    np.testing.assert_array_equal(device.copy_to_host(), host)
    other = np.empty_like(host)
    device.copy_to_host(other)
    device.copy_to_device(other + 1)
    np.testing.assert_array_equal(device.copy_to_host(), host + 1)
    with pytest.raises(ValueError, match="incompatible shape"):
        device.copy_to_device(np.zeros(3))
    with pytest.raises(TypeError, match="incompatible dtype"):
        device.copy_to_device(np.zeros((4, 6), np.float32))


def test_the_array_interface_leads_to_the_same_memory(launches):
    device = cuda.to_device(np.zeros(8))
    holder = SimpleNamespace(__cuda_array_interface__=device.__cuda_array_interface__)
    assert cuda.is_cuda_array(holder)
    increment[1, 8](cuda.as_cuda_array(holder))
    increment[1, 8](holder)
    np.testing.assert_array_equal(device.copy_to_host(), 2)
    assert mistakes(launches) == []


def test_slices_of_one_array_can_be_arguments_side_by_side(launches):
    values = cuda.to_device(np.arange(8.0))
    add[1, 4](values[:4], values[4:], values[::2])
    np.testing.assert_array_equal(values.copy_to_host()[::2], [4, 6, 8, 10])


def test_dropped_arrays_give_their_memory_back():
    values = cuda.to_device(np.zeros(1000))
    session = importlib.import_module("grader.simulator.live.install").Installed.current.session
    increment[8, 128](values)
    with cuda.defer_cleanup():
        pass
    free = session.heap.free_bytes
    for _ in range(300):
        other = cuda.device_array_like(values)
        other[:] = 1
        add[8, 128](values, values, other)
        add[8, 128](np.ones(1000), values, other)
    del other
    gc.collect()
    # Numba frees late, a few at a time.
    assert session.heap.free_bytes > free - 40 * 8192


def test_an_array_of_a_simulator_before_is_dropped_without_harm_to_the_arrays_of_this_one():
    live = importlib.import_module("grader.simulator.live.install")
    for _ in range(3):
        old = [cuda.device_array(1000) for _ in range(30)]
        addresses = {array.__cuda_array_interface__["data"][0] for array in old}
        simulator.uninstall()
        simulator.install()
        new = [cuda.to_device(np.full(1000, number)) for number in range(40)]
        assert not addresses & {array.__cuda_array_interface__["data"][0] for array in new}
        free = live.Installed.current.session.heap.free_bytes
        del old
        gc.collect()
        cuda.current_context().deallocations.clear()
        assert live.Installed.current.session.heap.free_bytes == free
        assert [array.copy_to_host()[0] for array in new] == list(range(40))
        del new
        gc.collect()


def test_memory_that_is_used_again_is_garbage_again(launches):
    for _ in range(30):
        values = cuda.device_array(8)
        values[:] = 1
        del values
    values = cuda.device_array(8)
    increment[1, 8](values)
    assert kinds(launches[0], Severity.ERROR) == ["uninitialised-read"]


def test_threads_may_launch_at_the_same_time():
    results = {}

    def work(number):
        values = cuda.to_device(np.full(64, float(number)))
        for _ in range(5):
            increment[1, 64](values)
        results[number] = values.copy_to_host()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: set(values) for number, values in results.items()} == {n: {n + 5.0} for n in range(4)}


# ---------------------------------------------------------------------- what a GPU refuses, what changes


def test_a_refused_launch_is_the_drivers_error_and_a_record(launches):
    with pytest.raises(CudaAPIError, match="at most 1024"):
        increment[1, 2048](cuda.to_device(np.zeros(4)))
    assert "A GPU refuses this launch" in launches[0].problem


def test_swapped_grid_and_block_are_named(launches):
    with pytest.raises(CudaAPIError, match="swapped"):
        increment[32, 4096](cuda.to_device(np.zeros(4)))


def test_launch_bounds_are_kept():
    bounded = cuda.jit(launch_bounds=64)(increment.py_func)
    with pytest.raises(CudaAPIError, match="launch_bounds"):
        bounded[1, 128](cuda.to_device(np.zeros(4)))


def test_a_2d_kernel_launched_in_1d_is_a_warning(launches):
    @cuda.jit
    def fill(out):
        x, y = cuda.grid(2)
        if x < out.shape[0] and y < out.shape[1]:
            out[x, y] = 1

    fill[1, 32](cuda.device_array((8, 8)))
    (finding,) = [f for f in launches[0].findings if f.kind == "dimensions"]
    assert finding.severity is Severity.WARNING
    assert "y is always 0" in finding.what
    fill[1, (8, 8)](cuda.device_array((8, 8)))
    fill[1, 32](cuda.device_array((8, 1)))
    assert kinds(launches[1], Severity.WARNING) == kinds(launches[2], Severity.WARNING) == []


def test_numbas_typing_error_reaches_the_script(launches):
    @cuda.jit
    def kernel(values):
        values[0] = missing + 1  # noqa: F821

    with pytest.raises(Exception, match="missing") as raised:
        kernel[1, 1](cuda.to_device(np.zeros(1)))
    assert type(raised.value).__name__ == "TypingError"


def test_what_the_simulator_does_not_know_is_said_at_the_launch(launches):
    linked = cuda.jit(link=["nothing.cu"])(increment.py_func)
    with pytest.raises(NotSimulated, match="link"):
        linked[1, 1](cuda.to_device(np.zeros(1)))


def test_a_launch_that_does_not_end_is_the_drivers_time_out():
    simulator.install(launch_seconds=0.5)

    @cuda.jit
    def spin(values):
        while values[0] >= 0:
            values[0] += 1

    with simulator.trace() as launches, pytest.raises(CudaAPIError, match="did not end") as raised:
        spin[1, 2](cuda.to_device(np.zeros(1)))
    line = spin.py_func.__code__.co_firstlineno + 2
    assert f"test_live.py:{line}  while values[0] >= 0:" in str(raised.value)
    assert "did not end" in launches[0].problem
    assert {finding.kind for finding in launches[0].findings} == {"race", "time-limit"}  # of which one may say why


def test_each_launch_of_a_rejected_kernel_is_traced_and_raises_numbas_own_error(launches):
    @cuda.jit
    def kernel(values):
        values[missing] = 1  # noqa: F821

    values = cuda.to_device(np.zeros(8))
    for _ in range(2):
        with pytest.raises(Exception, match="'missing' is not defined"):
            kernel[(2, 3), 4](values)
    assert [(launch.kernel, launch.grid, launch.block) for launch in launches] == [("kernel", (2, 3, 1), (4, 1, 1))] * 2
    assert [launch.place.text for launch in launches] == ["kernel[(2, 3), 4](values)"] * 2
    (finding,) = launches[1].findings
    assert (finding.kind, finding.severity) == ("kernel-rejected", Severity.ERROR)
    assert finding.place.text.startswith("values[missing] = 1")


def test_what_numba_cannot_compile_is_refused_where_a_signature_is_declared(launches):
    record = from_dtype(np.dtype([("a", np.int32), ("b", np.float64)]))
    with pytest.raises(numba_errors(), match="type float64 is not aligned"):

        @cuda.jit((record[:],))
        def kernel(a):
            a[0].a = a[0].b

    (rejected,) = launches
    assert rejected.problem == "Numba cannot compile kernel."


def test_a_division_by_zero_reaches_the_script_under_debug(launches):
    @cuda.jit(debug=True, opt=False)
    def kernel(a, out):
        out[0] = 1 / a[0]

    with pytest.raises(ZeroDivisionError, match="division by zero"):
        kernel[1, 1](cuda.to_device(np.zeros(1)), cuda.device_array(1))
    assert kinds(launches[0], Severity.ERROR) == ["raised"]


def test_code_that_is_linked_is_traced_as_not_known(launches):
    @cuda.jit(link=["somewhere.cu"])
    def kernel(values):
        values[0] = 1

    with pytest.raises(NotSimulated, match="linked"):
        kernel[1, 32](cuda.to_device(np.zeros(8)))
    assert [(launch.block, launch.findings) for launch in launches] == [((32, 1, 1), ())]
    assert "linked" in launches[0].problem


def test_a_changed_global_is_a_warning_and_the_old_value_stays(launches, monkeypatch):
    @cuda.jit
    def scale(values):
        values[cuda.grid(1)] *= FACTOR

    values = cuda.to_device(np.ones(4))
    scale[1, 4](values)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 10)
    scale[1, 4](values)
    np.testing.assert_array_equal(values.copy_to_host(), 4)
    assert kinds(launches[0], Severity.WARNING) == []
    (finding,) = [f for f in launches[1].findings if f.kind == "captured-global-changed"]
    assert finding.place.text == "values[cuda.grid(1)] *= FACTOR"
    again = cuda.jit(scale.py_func)
    again[1, 4](values)
    np.testing.assert_array_equal(values.copy_to_host(), 40)
    assert kinds(launches[2], Severity.WARNING) == []


def test_a_changed_closure_variable_of_a_device_function_is_a_warning(launches):
    offset = 1

    @cuda.jit(device=True)
    def shifted(x):
        return x + offset

    @cuda.jit
    def kernel(values):
        values[cuda.grid(1)] = shifted(values[cuda.grid(1)])

    values = cuda.to_device(np.zeros(2))
    kernel[1, 2](values)
    offset = 5
    kernel[1, 2](values)
    np.testing.assert_array_equal(values.copy_to_host(), 2)
    assert kinds(launches[1], Severity.WARNING) == ["captured-global-changed"]


def test_an_attribute_with_the_name_of_a_changed_global_is_no_captured_value(launches):
    scope = {"cuda": cuda, "x": 1, "shape": 2, "add": 3}
    source = """
@cuda.jit
def k(a):
    if cuda.threadIdx.x < a.shape[0]:
        cuda.atomic.add(a, cuda.threadIdx.x, 1)
"""
    exec(source, scope)
    values = cuda.to_device(np.zeros(8, np.int32))
    scope["k"][1, 8](values)
    scope |= {"x": np.zeros(32), "shape": (1, 2), "add": 4.0}
    scope["k"][1, 8](values)
    assert launches[1].findings == ()
    assert values.copy_to_host().tolist() == [2] * 8


def test_an_attribute_of_a_module_is_captured_where_it_is_read_from_the_module_only(launches):
    settings = ModuleType("settings")
    settings.scale, settings.x = 2, 1
    scope = {"cuda": cuda, "settings": settings}
    exec(
        "@cuda.jit\ndef k(a):\n    i = cuda.threadIdx.x\n    a[i] = settings.scale\n",
        scope,
    )
    values = cuda.to_device(np.zeros(8, np.int32))
    scope["k"][1, 8](values)
    settings.x = 5
    scope["k"][1, 8](values)
    settings.scale = 3
    scope["k"][1, 8](values)
    assert "captured-global-changed" not in kinds(launches[1])
    (finding,) = [f for f in launches[2].findings if f.kind == "captured-global-changed"]
    assert (finding.array, finding.place.line) == ("settings.scale", 4)


def test_a_captured_array_keeps_its_contents_and_a_captured_device_array_its_address(launches):
    table, on_device = np.arange(4.0), cuda.to_device(np.arange(4.0))

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = table[i] + 10 * on_device[i]

    out = cuda.device_array(4)
    kernel[1, 4](out)
    table[:] = 9
    on_device[:] = 1
    kernel[1, 4](out)
    np.testing.assert_array_equal(out.copy_to_host(), np.arange(4) + 10)
    assert kinds(launches[1], Severity.WARNING) == ["captured-global-changed"]


def test_an_array_of_another_dtype_than_declared_is_read_by_its_bytes_with_a_warning(launches):
    @cuda.jit("void(int32[:])")
    def negate(values):
        values[cuda.grid(1)] = -values[cuda.grid(1)]

    values = np.arange(4, dtype=np.uint32)
    negate[1, 4](values)
    np.testing.assert_array_equal(values.view(np.int32), [0, -1, -2, -3])
    assert "declared-dtype" in kinds(launches[0], Severity.WARNING)


# ---------------------------------------------------------------------- in and out


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_forks_from_one_with_a_gpu_has_none():
    array = cuda.to_device(np.zeros(1))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            array.copy_to_host()
        except CudaDriverError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"CUDA initialized before forking"


def test_uninstall_leaves_numba_as_it_was():
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import devices, driver

    simulator.uninstall()
    before = {
        (holder, name): value
        for holder in (driver.driver, driver.Device, driver, dispatcher, dispatcher.CUDADispatcher, devices._runtime)
        for name, value in vars(holder).items()
    }
    simulator.install()
    increment[1, 1](cuda.to_device(np.zeros(1)))
    simulator.uninstall()
    after = {(holder, name): value for holder, _ in before for name, value in vars(holder).items()}
    changed = {name for (holder, name), value in after.items() if before.get((holder, name)) is not value}
    kept = {"cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuStreamDestroy", "cuEventDestroy"}
    assert changed <= kept | {"_logger"}
    assert not increment.overloads


def test_arrays_may_outlive_the_simulator(capsys):
    values, stream, event = cuda.to_device(np.zeros(8)), cuda.stream(), cuda.event()
    pinned, mapped = cuda.pinned_array(4), cuda.mapped_array(4)
    gone = weakref.ref(values)
    simulator.uninstall()
    del values, stream, event, pinned, mapped
    gc.collect()
    assert gone() is None
    assert capsys.readouterr().err == ""


def test_arrays_of_an_earlier_gpu_are_named_as_such():
    values = cuda.to_device(np.zeros(8))
    simulator.install()
    with pytest.raises(CudaAPIError, match="before the simulator was installed"):
        increment[1, 8](values)


def test_an_unknown_model_is_refused_by_name():
    with pytest.raises(UsageError, match="t4"):
        simulator.install("geforce256")


@pytest.mark.parametrize("call", ["simulator.install()", "simulator.trace()"])
def test_beside_numbas_own_simulator_it_says_what_to_do(call):
    code = (
        f"from grader import errors, simulator\ntry:\n    {call}\nexcept errors.UsageError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "NUMBA_ENABLE_CUDASIM" in done.stdout


@pytest.mark.parametrize("eager", [True, False])
def test_a_launch_with_too_few_arguments_says_how_many_it_takes(launches, eager):
    def add(x, y, out):
        out[0] = x[0] + y[0]

    x = cuda.to_device(np.zeros(1))
    kernel = cuda.jit("void(float64[::1], float64[::1], float64[::1])")(add) if eager else cuda.jit(add)
    with pytest.raises(TypeError, match="takes 3 arguments"):
        kernel[1, 1](x, x)


def test_traces_nest_and_end():
    values = cuda.to_device(np.zeros(1))
    with simulator.trace() as outer:
        increment[1, 1](values)
        with simulator.trace() as inner:
            increment[1, 1](values)
    increment[1, 1](values)
    assert (len(outer), len(inner)) == (2, 1)


def test_kernels_from_exec_and_other_modules_have_their_place(launches, tmp_path, monkeypatch):
    (tmp_path / "helpers_of_a_script.py").write_text(
        "from numba import cuda\n\n\n@cuda.jit(device=True)\ndef first(values):\n    return values[100]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    helpers = importlib.import_module("helpers_of_a_script")

    @cuda.jit
    def kernel(values):
        values[0] = helpers.first(values)

    kernel[1, 1](cuda.to_device(np.zeros(4)))
    (finding,) = [f for f in launches[0].findings if f.severity is Severity.ERROR]
    assert str(finding.place).startswith("helpers_of_a_script.py:6  return values[100]")
    scope = {"cuda": cuda}
    exec("@cuda.jit\ndef made(values):\n    values[9] = 1\n", scope)
    scope["made"][1, 1](cuda.to_device(np.zeros(4)))
    (finding,) = [f for f in launches[1].findings if f.severity is Severity.ERROR]
    assert finding.place.line == 3


def test_elements_that_a_launch_left_out_are_told_until_another_writes_them():
    @cuda.jit
    def part(out, first, last):
        i = cuda.grid(1)
        if first <= i and i < last:
            out[i] = i

    out = cuda.device_array(100, np.float32)
    with simulator.trace() as launches:
        part[4, 32](out, 0, 97)
        part[4, 32](out, 97, 100)
    kinds = [[finding.kind for finding in launch.findings] for launch in launches]
    assert kinds == [["unwritten-elements"], []]
    told = launches[0].findings[0]
    assert told.severity == "advice"
    assert told.what.startswith("3 of 100 elements of out have not been written by now, out[97] is the first.")
    assert out.copy_to_host().tolist() == list(range(100))


@pytest.mark.parametrize(("value", "what"), [([1.0, 2.0], "list"), ({1.0}, "set"), ("x", "text")])
@pytest.mark.parametrize("used", [True, False])
def test_an_argument_that_no_launch_can_hand_over_is_a_rejection_with_a_remedy(launches, value, what, used):
    @cuda.jit
    def uses(values, out):
        for each in values:
            out[0] = each

    @cuda.jit
    def leaves(values, out):
        out[0] = 1

    kernel, out = uses if used else leaves, cuda.to_device(np.zeros(1))
    with pytest.raises(Exception, match=f"takes no {what}"):
        kernel[1, 32](value, out)
    (finding,) = launches[0].findings
    assert f"takes no {what} as an argument, and values is one" in finding.what
    assert "array" in finding.advice


@pytest.mark.parametrize("n", [4096, 4097])
def test_four_elements_at_a_time_in_a_script(launches, n):
    x = np.random.default_rng(1).standard_normal(n).astype(np.float32)
    out = cuda.device_array(n, np.float32)
    doubled_in_fours[-(-n // 1024), 256](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host()[:4096], 2 * x[:4096])
    (launch,) = launches
    assert kinds(launch, Severity.ERROR) == (["out-of-bounds"] * 2 if n % 4 else [])
