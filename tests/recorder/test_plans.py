"""What host code asks for is what the plan says, in its order."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from grader.gpu_models import DEFAULT
from grader.plan import Copy, Fill, Launch, LaunchPlan, Synchronize
from grader.plan_functions import Function
from grader.plan_memory import View
from grader.problem import Inputs, Output
from grader.records import Failure
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.warm_child import WarmChild

Recorded = Callable[..., LaunchPlan | Failure]
LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)
LAUNCH = "kernel[4, 256](a, out)"


def planned(answer: LaunchPlan | Failure) -> LaunchPlan:
    assert isinstance(answer, LaunchPlan), answer
    return answer


def launches(plan: LaunchPlan) -> list[Launch]:
    return [operation for operation in plan.operations if isinstance(operation, Launch)]


def function(plan: LaunchPlan, qualname: str) -> Function:
    return next(f for f in plan.functions if f.qualname.rpartition(".")[2] == qualname)


def dumped(part: Any) -> dict[str, Any]:
    return part.model_dump()  # type: ignore[no-any-return]


def view(plan: LaunchPlan, argument: Any) -> tuple[str, tuple[int, ...], tuple[int, ...], int]:
    assert isinstance(argument, View)
    return plan.buffers[argument.buffer].name, argument.shape, argument.strides, argument.offset


# ---------------------------------------------------------------- launches


def test_arguments_of_the_call_are_buffers_in_their_order_even_if_unused(recorded: Recorded) -> None:
    plan = planned(recorded(LAUNCH))
    assert [(b.name, b.origin, b.nbytes) for b in plan.buffers] == [
        ("a", "argument", 4000),
        ("m", "argument", 4000),
        ("out", "argument", 4000),
    ]
    launch = launches(plan)[0]
    assert [view(plan, argument) for argument in launch.arguments] == [
        ("a", (1000,), (4,), 0),
        ("out", (1000,), (4,), 0),
    ]
    assert launch.line == 17


@pytest.mark.parametrize(
    ("brackets", "grid", "block"),
    [
        ("4, 256", (4, 1, 1), (256, 1, 1)),
        ("(4,), (8, 8)", (4, 1, 1), (8, 8, 1)),
        ("(1, 2, 3), [4, 5, 6]", (1, 2, 3), (4, 5, 6)),
        ("np.int64(4), (np.int32(8), 2)", (4, 1, 1), (8, 2, 1)),
        ("math.ceil(a.size / 256), 256", (4, 1, 1), (256, 1, 1)),
        ("(a.size + 255) // 256, 256", (4, 1, 1), (256, 1, 1)),
        ("True, 1024 * 1024", (1, 1, 1), (1 << 20, 1, 1)),
        ("0, 0", (0, 1, 1), (0, 1, 1)),
    ],
)
def test_grid_and_block_are_written_down_as_given(
    recorded: Recorded, brackets: str, grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    launch = launches(planned(recorded(f"kernel[{brackets}](a, out)")))[0]
    assert (launch.grid, launch.block) == (grid, block)


def test_stream_and_shared_bytes_are_written_down(recorded: Recorded) -> None:
    plan = planned(recorded("first, second = cuda.stream(), cuda.stream()\nkernel[1, 32, second, 4 * 32](a, out)"))
    assert (launches(plan)[0].stream, launches(plan)[0].shared_bytes) == (2, 128)


def test_forall_covers_every_task(recorded: Recorded) -> None:
    plan = planned(recorded("kernel.forall(1000, tpb=96)(a, out)\nkernel.forall(0)(a, out)\nkernel.forall(1)(a, out)"))
    first, second = launches(plan)
    assert (first.grid, first.block) == ((11, 1, 1), (96, 1, 1))
    assert second.grid[0] * second.block[0] >= 1


def test_a_configured_kernel_can_be_kept_and_launched_twice(recorded: Recorded) -> None:
    plan = planned(recorded("run = kernel[4, 256]\nrun(a, out)\nrun(out, a)"))
    assert len(launches(plan)) == 2
    assert len(plan.functions) == 1


def test_scalars_and_tuples_reach_the_plan_with_their_types(recorded: Recorded) -> None:
    body = "g[1, 1](1, True, 2.5, None, np.float32(1.5), np.uint8(3), s, n, (1, 2.0), (a, s), 1j, 2**63, -1e400, out)"
    plan = planned(recorded(body, "@cuda.jit\ndef g(*args): pass\n"))
    found = [dumped(argument) for argument in launches(plan)[0].arguments]
    assert found[0] == {"kind": "int", "value": 1}
    assert found[1] == {"kind": "bool", "value": True}
    assert found[2] == {"kind": "float", "value": (2.5).hex()}
    assert found[3] == {"kind": "none"}
    assert (found[4]["dtype"], found[4]["scalar"], base64.b64decode(found[4]["data"])) == (
        *("<f4", True),
        np.float32(1.5).tobytes(),
    )
    assert (found[5]["dtype"], base64.b64decode(found[5]["data"])) == ("|u1", b"\3")
    assert found[6] == {"kind": "data", "name": "s"}
    assert found[7] == {"kind": "int", "value": 7}
    assert [item["kind"] for item in found[8]["items"]] == ["int", "float"]
    assert [item["kind"] for item in found[9]["items"]] == ["view", "data"]
    assert found[10]["dtype"] == "<c16"
    assert found[11] == {"kind": "int", "value": 2**63}
    assert found[12] == {"kind": "float", "value": "-inf"}


# ---------------------------------------------------------------- memory


def test_scratch_arrays_are_named_after_their_variable(recorded: Recorded) -> None:
    body = f"""
        tmp = cuda.device_array((3, 5), np.float64)
        partial: object = cuda.device_array_like(m)
        for _ in range(2):
            tmp = cuda.device_array(7, dtype=numba.int16)
        kernel[1, 1](cuda.device_array(1), tmp)
        {LAUNCH}
    """
    plan = planned(recorded(body))
    assert [(b.name, b.nbytes, b.line, b.data) for b in plan.buffers[3:]] == [
        *(("tmp", 120, 17, None), ("partial", 4000, 18, None)),
        *(("tmp_2", 14, 20, None), ("tmp_3", 14, 20, None), ("scratch", 8, 21, None)),
    ]


def test_order_f_and_like_arrays_have_their_strides(recorded: Recorded) -> None:
    body = "x = cuda.device_array((3, 5), np.float32, order='F')\nkernel[1, 1](x, cuda.device_array_like(x))"
    plan = planned(recorded(body))
    assert [view(plan, v)[1:] for v in launches(plan)[0].arguments] == [((3, 5), (4, 12), 0)] * 2


def test_an_upload_travels_with_its_bytes(recorded: Recorded) -> None:
    body = f"""
        table = cuda.to_device(np.arange(6, dtype=np.int16).reshape(2, 3))
        same = cuda.to_device(table)
        turned = cuda.to_device(np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)))
        listed = cuda.to_device([1.5, 2.5])
        kernel[1, 1](same, turned)
        {LAUNCH}
    """
    plan = planned(recorded(body))
    contents = {b.name: base64.b64decode(b.data) for b in plan.buffers if b.data is not None}
    assert contents == {
        "table": np.arange(6, dtype=np.int16).tobytes(),
        "turned": np.arange(6, dtype=np.uint8).reshape(2, 3).tobytes(order="F"),
        "listed": np.array([1.5, 2.5]).tobytes(),
    }
    assert view(plan, launches(plan)[0].arguments[1]) == ("turned", (2, 3), (1, 2), 0)


def test_a_large_upload_of_one_value_is_a_fill(recorded: Recorded) -> None:
    plan = planned(recorded(f"z = cuda.to_device(np.full(10_000_000, -2, np.float32))\n{LAUNCH}"))
    assert plan.buffers[3].data is None
    fill = plan.operations[0]
    assert isinstance(fill, Fill)
    assert view(plan, fill.target)[1] == (10_000_000,)
    assert base64.b64decode(dumped(fill.value)["data"]) == np.float32(-2).tobytes()


def test_negative_zero_and_nan_do_not_count_as_one_value(recorded: Recorded) -> None:
    body = f"x = np.zeros(20_000)\nx[5] = -0.0\ny = cuda.to_device(x)\nz = cuda.to_device(x * np.nan)\n{LAUNCH}"
    plan = planned(recorded(body))
    contents = np.zeros(20_000)
    contents[5] = -0.0
    assert plan.buffers[3].data is not None
    assert base64.b64decode(plan.buffers[3].data) == contents.tobytes()


def test_fills_and_copies_are_written_down(recorded: Recorded) -> None:
    body = f"""
        out[:] = 0
        out[10:20] = 1.5
        out[3] = s
        m[1] = np.float32(2)
        out[:500] = a[500:]
        out.copy_to_device(a)
        m[:, 0] = np.arange(20)
        out[:] = a[:1]
        m.reshape(1000)[::2] = True
        {LAUNCH}
    """
    plan = planned(recorded(body))
    found = plan.operations[:-1]
    values = [dumped(f.value) for f in found if isinstance(f, Fill)]
    assert values[0] == {"kind": "int", "value": 0}
    assert values[1] == {"kind": "float", "value": (1.5).hex()}
    assert values[2] == {"kind": "data", "name": "s"}
    assert values[3]["dtype"] == "<f4"
    assert values[4] == {"kind": "bool", "value": True}
    targets = [view(plan, f.target) for f in found if isinstance(f, Fill)]
    assert targets == [
        ("out", (1000,), (4,), 0),
        ("out", (10,), (4,), 40),
        ("out", (), (), 12),
        ("m", (50,), (4,), 200),
        ("m", (500,), (8,), 0),
    ]
    copies = [(view(plan, c.source), view(plan, c.target)) for c in found if isinstance(c, Copy)]
    assert copies[0] == (("a", (500,), (4,), 2000), ("out", (500,), (4,), 0))
    assert copies[1] == (("a", (1000,), (4,), 0), ("out", (1000,), (4,), 0))
    assert copies[2][1] == ("m", (20,), (200,), 0)
    assert copies[3] == (("a", (1000,), (0,), 0), ("out", (1000,), (4,), 0))
    uploaded = next(b.data for b in plan.buffers if b.data is not None)
    assert base64.b64decode(uploaded) == np.arange(20, dtype=np.float32).tobytes()


def test_a_transpose_is_a_copy_as_in_numba(recorded: Recorded) -> None:
    plan = planned(recorded(f"t = m.T\nkernel[1, 1](t, out)\nassert m.transpose((0, 1)) is m\n{LAUNCH}"))
    copy = plan.operations[0]
    assert isinstance(copy, Copy)
    assert view(plan, copy.source) == ("m", (50, 20), (4, 200), 0)
    assert view(plan, copy.target) == ("t", (50, 20), (80, 4), 0)


def test_views_keep_what_numba_shows_of_an_array(recorded: Recorded) -> None:
    body = f"""
        v = m[2:5, ::7]
        assert (v.shape, v.strides, v.ndim, v.size) == ((3, 8), (200, 28), 2, 24)
        assert (len(v), v.itemsize, v.nbytes) == (3, 4, 96)
        assert v.dtype == np.float32 and not v.is_c_contiguous() and not v.is_f_contiguous()
        assert m.flags["C_CONTIGUOUS"] and not m.flags["F_CONTIGUOUS"] and m[0].flags["F_CONTIGUOUS"]
        assert m[-1].shape == (50,) and m[..., 3].shape == (20,) and m[1, ...].shape == (50,)
        assert m.ravel().shape == (1000,) and m.reshape(2, -1).shape == (2, 500)
        assert m.reshape((10, 100)).shape == (10, 100)
        assert m.reshape(1, 1000).squeeze().shape == (1000,) and m.view(np.uint8).shape == (20, 200)
        assert m.view(np.int32).dtype == np.int32 and [p.size for p in a.split(300)] == [300, 300, 300, 100]
        assert [row.shape for row in m] == [(50,)] * 20
        assert np.shape(m) == (20, 50) and np.ndim(m) == 2 and np.size(m) == 1000
        assert np.zeros_like(m).shape == (20, 50) and np.empty_like(a).dtype == np.float32
        assert a is not None and {{a: 1}}[a] == 1 and "device array" in repr(a) and "a" in f"{{a}}"
        assert s.dtype == np.float32 and isinstance(n, int) and "not known" in str(s)
        assert isinstance(a, cuda.cudadrv.devicearray.DeviceNDArray)
        assert cuda.is_cuda_array(a) and not cuda.is_cuda_array(np.zeros(1))
        assert a.bind(cuda.stream()).stream.number == 1
        kernel[1, 1](a[::-1], m[1:, 2:])
        {LAUNCH}
    """
    plan = planned(recorded(body))
    first = launches(plan)[0]
    assert [view(plan, v) for v in first.arguments] == [
        ("a", (1000,), (-4,), 3996),
        ("m", (19, 48), (200, 4), 208),
    ]


# ---------------------------------------------------------------- streams and device


def test_synchronisations_are_written_down(recorded: Recorded) -> None:
    body = f"""
        s1, s2 = cuda.stream(), cuda.stream()
        cuda.synchronize()
        s2.synchronize()
        with s1.auto_synchronize():
            kernel[1, 1, s1](a, out)
        event = cuda.event()
        event.record(s1)
        event.wait(s2)
        event.synchronize()
        assert event.query()
        cuda.default_stream().synchronize()
        cuda.current_context().synchronize()
        kernel[1, 1, cuda.default_stream()](a, out)
        {LAUNCH}
    """
    plan = planned(recorded(body))
    found = [o.stream if isinstance(o, Synchronize) else f"on {o.stream}" for o in plan.operations]
    assert found == [None, 2, "on 1", 1, 1, 1, 0, None, "on 0", "on 0"]


def test_the_device_is_the_gpu_model(recorded: Recorded) -> None:
    body = f"""
        device = cuda.get_current_device()
        assert device.name == {DEFAULT.name!r} and device.compute_capability == {DEFAULT.compute_capability}
        assert device.WARP_SIZE == {DEFAULT.warp_size} and device.MULTIPROCESSOR_COUNT == {DEFAULT.multiprocessors}
        assert device.MAX_THREADS_PER_BLOCK == {DEFAULT.max_threads_per_block}
        assert device.MAX_SHARED_MEMORY_PER_BLOCK == {DEFAULT.max_shared_bytes_per_block}
        assert (device.MAX_GRID_DIM_X, device.MAX_BLOCK_DIM_Z) == ({DEFAULT.max_grid[0]}, {DEFAULT.max_block[2]})
        assert cuda.is_available() and cuda.detect() and len(cuda.gpus) == len(cuda.list_devices()) == 1
        assert cuda.current_context().get_memory_info()[1] == {DEFAULT.memory_bytes}
        assert cuda.current_context().device.name == device.name
        with cuda.gpus[0], cuda.defer_cleanup(), cuda.pinned(np.zeros(3)):
            {LAUNCH}
        host = cuda.pinned_array(5, np.float32)
        host[:] = range(5)
        cuda.to_device(host)
    """
    plan = planned(recorded(body))
    assert plan.buffers[-1].data is not None


# ---------------------------------------------------------------- functions and what they captured


def unsupported(type_name: str, reason: str = "") -> dict[str, str]:
    return {"kind": "unsupported", "type_name": type_name, "reason": reason}


CAPTURES = {
    "1": {"kind": "int", "value": 1},
    "True": {"kind": "bool", "value": True},
    "2.5": {"kind": "float", "value": "0x1.4000000000000p+1"},
    "float('nan')": {"kind": "float", "value": "nan"},
    "-float('inf')": {"kind": "float", "value": "-inf"},
    "None": {"kind": "none"},
    "'text'": {"kind": "str", "value": "text"},
    "np.dtype('f4')": {"kind": "dtype", "dtype": "<f4"},
    "(1, (2.0, None))": {
        "kind": "tuple",
        "items": (
            {"kind": "int", "value": 1},
            {"kind": "tuple", "items": ({"kind": "float", "value": "0x1.0000000000000p+1"}, {"kind": "none"})},
        ),
    },
    "np.float32(1)": {"kind": "array", "dtype": "<f4", "shape": (), "scalar": True, "data": "AACAPw=="},
    "np.array([[1, 2]], np.int8)": {"kind": "array", "dtype": "|i1", "shape": (1, 2), "scalar": False, "data": "AQI="},
    "np.array([[1], [2]], np.int8).T": {
        **{"kind": "array", "dtype": "|i1", "shape": (1, 2), "scalar": False, "data": "AQI="}
    },
    "math": {"kind": "name", "path": "math"},
    "cuda": {"kind": "name", "path": "numba.cuda"},
    "numba": {"kind": "name", "path": "numba"},
    "np": {"kind": "name", "path": "numpy"},
    "math.sqrt": {"kind": "name", "path": "math.sqrt"},
    "np.sqrt": {"kind": "name", "path": "numpy.sqrt"},
    "np.float32": {"kind": "name", "path": "numpy.float32"},
    "np.intc": {"kind": "name", "path": "numpy.int32"},
    "numba.float32": {"kind": "name", "path": "numba.float32"},
    "numba.types.int64": {"kind": "name", "path": "numba.int64"},
    "numba.types": {"kind": "name", "path": "numba.types"},
    "float": {"kind": "name", "path": "builtins.float"},
    "__import__('operator').add": {"kind": "name", "path": "operator.add"},
    "cuda.grid": {"kind": "name", "path": "numba.cuda.grid"},
    "cuda.shared.array": {"kind": "name", "path": "numba.cuda.shared.array"},
    "cuda.atomic": {"kind": "name", "path": "numba.cuda.atomic"},
    "cuda.threadIdx": {"kind": "name", "path": "numba.cuda.threadIdx"},
    "cuda.libdevice.sqrtf": {"kind": "name", "path": "numba.cuda.libdevice.sqrtf"},
    "load4": {"kind": "name", "path": "grader.vector_access.load4"},
    "vector_access.store4": {"kind": "name", "path": "grader.vector_access.store4"},
    "vector_access": unsupported("ProvidedModule", "module"),
    "device_function": {"kind": "function", "index": 1},
    "object()": unsupported("object"),
    "[1, 2]": unsupported("list"),
    "{}": unsupported("dict"),
    "2**70": unsupported("int"),
    "np.array(['a'])": unsupported("ndarray"),
    "sys": unsupported("module", "module"),
    "sys.path": unsupported("list"),
    "'\\ud800'": unsupported("str"),
    "type('\\xe9' * 999, (), {})()": unsupported("\xe9" * 200),
}


BEFORE = "import sys\nfrom grader import vector_access\nfrom grader.vector_access import load4\n"


@pytest.mark.parametrize("expression", CAPTURES)
@pytest.mark.parametrize("where", ["names", "closure", "defaults"])
def test_what_a_kernel_captured_is_plain_data(recorded: Recorded, expression: str, where: str) -> None:
    texts = {
        "names": f"VALUE = {expression}\n@cuda.jit\ndef g(x):\n    x[0] = VALUE\n",
        "closure": "def make(VALUE):\n    @cuda.jit\n    def g(x):\n        x[0] = VALUE\n    return g\n"
        f"g = make({expression})\n",
        "defaults": f"@cuda.jit\ndef g(x, VALUE={expression}): pass\n",
    }
    plan = planned(recorded(f"g[1, 1](out)\n{LAUNCH}", BEFORE + texts[where]))
    captured = getattr(function(plan, "g"), where)
    found = captured[0] if where == "defaults" else captured["VALUE"]
    assert dumped(found) == CAPTURES[expression]


def test_functions_are_found_through_each_other_and_written_once(recorded: Recorded) -> None:
    module = """
        SCALE = 3
        @njit
        def half(x): return x / 2
        @cuda.jit(device=True, inline="always")
        def scaled(x): return half(x) * SCALE
        def plain(x): return scaled(x)
        @cuda.jit(device=True)
        def ping(x): return pong(x)
        @cuda.jit(device=True)
        def pong(x): return ping(x)
        def make(k):
            def decorate(fn):
                return cuda.jit(fastmath=True, max_registers=32)(fn)
            @decorate
            def made(x, out):
                helper = lambda v: plain(v) + k + later
                out[0] = helper(x[0]) + ping(undefined) + half(1)
            return made
        first, second = make(1), make(2.0)
        later = 5
    """
    plan = planned(recorded("first[1, 1](a, out)\nsecond[1, 1](a, out)\nfirst[1, 1](a, out)", module))
    assert [f.qualname for f in plan.functions].count("make.<locals>.made") == 2
    assert len(plan.functions) == 7
    roles = {f.qualname: f.role for f in plan.functions}
    assert roles["half"] == "njit"
    assert roles["scaled"] == roles["ping"] == roles["pong"] == "device"
    assert roles["plain"] == "plain"
    made = function(plan, "made")
    assert set(made.names) == {"plain", "later", "ping", "half"}
    assert dumped(made.closure["k"]) == {"kind": "int", "value": 1}
    assert (made.options.fastmath, made.options.max_registers) == (True, 32)
    assert function(plan, "scaled").options.inline == "always"
    assert [launch.kernel for launch in launches(plan)] == [0, launches(plan)[1].kernel, 0]
    assert dumped(function(plan, "ping").names["pong"])["index"] == plan.functions.index(function(plan, "pong"))


def test_a_functions_code_is_numbered_in_a_walk_over_the_text(recorder: WarmChild, inputs: Inputs) -> None:
    text = """
from numba import cuda
def f(a, m, s, n, out):
    unused = [lambda: 1 for _ in range(2)]
    class Inner:
        @staticmethod
        @cuda.jit
        def k(x): x[0] = 1
    Inner.k[1, 1](out)
"""
    plans = record(recorder, text.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    assert isinstance(plans, tuple)
    found = plans[0].functions[0]
    walked: list[Any] = []

    def walk(code: Any) -> None:
        walked.append(code)
        for constant in code.co_consts:
            if hasattr(constant, "co_consts"):
                walk(constant)

    walk(compile(text, "kernels.py", "exec", dont_inherit=True))
    code = walked[found.code]
    assert (found.qualname, found.line) == (code.co_qualname, code.co_firstlineno)
    assert found.qualname == "f.<locals>.Inner.k"


SIGNATURES = {
    "'void(float32[:], float32[::1])'": [[("<f4", 1, "A"), ("<f4", 1, "C")]],
    "'(float64[:, ::1], int32)'": [[("<f8", 2, "C"), ("<i4", None, "A")]],
    "(numba.float32[::1, :], numba.boolean)": [[("<f4", 2, "F"), ("|b1", None, "A")]],
    "numba.void(numba.int64, numba.uint8)": [[("<i8", None, "A"), ("|u1", None, "A")]],
    "['void(int32, int32)', 'void(float32, float32)']": [
        *([("<i4", None, "A")] * 2, [("<f4", None, "A")] * 2),
    ],
}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_signatures_are_written_down(recorded: Recorded, signature: str) -> None:
    module = f"@cuda.jit({signature})\ndef g(x, y): pass\n"
    plan = planned(recorded(f"g[1, 1](1, 2)\n{LAUNCH}", module))
    found = [[(t.dtype, t.ndim, t.layout) for t in types] for types in function(plan, "g").signatures]
    assert found == SIGNATURES[signature]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", {}),
        ("()", {}),
        ("(cache=True, lto=False, boundscheck=False)", {}),
        ("(debug=True, opt=False, lineinfo=True)", {"debug": True, "opt": False, "lineinfo": True}),
        ("(fastmath=True)", {"fastmath": True}),
        ("(fastmath={'contract'})", {"fastmath": True}),
        ("(launch_bounds=256)", {"launch_bounds": (256,)}),
        ("(launch_bounds=[256, 2])", {"launch_bounds": (256, 2)}),
        ("(inline=True)", {"inline": "always"}),
        ("(inline='never', forceinline=True)", {"inline": "never", "forceinline": True}),
        ("(max_registers=np.int64(40), link=[])", {"max_registers": 40}),
    ],
)
def test_options_of_jit_are_written_down(recorded: Recorded, options: str, expected: dict[str, Any]) -> None:
    plan = planned(recorded(f"g[1, 1](out)\n{LAUNCH}", f"@cuda.jit{options}\ndef g(x): pass\n"))
    assert function(plan, "g").options.model_dump(exclude_none=True) == expected


IMPORTS = {
    "from numba": "from numba import cuda as c\n@c.jit\ndef k(o): o[c.grid(1)] = 1",
    "import as": "import numba.cuda as c\n@c.jit\ndef k(o): o[c.grid(1)] = 1",
    "import dotted": "import numba.cuda\n@numba.cuda.jit\ndef k(o): o[numba.cuda.grid(1)] = 1",
    "through numba": "import numba\n@numba.cuda.jit\ndef k(o): o[numba.cuda.grid(1)] = 1",
    "names": "from numba.cuda import jit, grid, shared\n@jit\ndef k(o): o[grid(1)] = 1",
    "star": "from numba.cuda import *\nfrom numba.cuda import jit, grid\n@jit\ndef k(o): o[grid(1)] = 1",
    "importlib": "import importlib\nc = importlib.import_module('numba.cuda')\n@c.jit\ndef k(o): o[c.grid(1)] = 1",
    "submodules": "from numba.cuda.libdevice import sqrtf\nimport numba.cuda.libdevice as ld\nfrom numba import cuda\n"
    "assert ld.sqrtf is not None and cuda.libdevice is not None\n@cuda.jit\ndef k(o): o[0] = sqrtf(1.0)",
}


@pytest.mark.parametrize("text", IMPORTS.values(), ids=IMPORTS.keys())
@pytest.mark.parametrize("inside", [False, True])
def test_every_way_to_import_numba_cuda_gives_the_stand_in(
    recorder: WarmChild, inputs: Inputs, text: str, inside: bool
) -> None:
    text = text.replace("from numba.cuda import *\n", "" if inside else "from numba.cuda import *\n")
    if inside:
        body = "".join(f"    {line}\n" for line in text.splitlines())
        whole = f"def f(a, m, s, n, out):\n{body}    k[1, 1](out)\n"
    else:
        whole = f"{text}\ndef f(a, m, s, n, out):\n    k[1, 1](out)\n"
    plans = record(recorder, whole.encode(), [Call("f", inputs)], DEFAULT, LIMITS)
    assert isinstance(plans, tuple), plans
    captured = [*plans[0].functions[0].names.values(), *plans[0].functions[0].closure.values()]
    assert {dumped(c)["path"] for c in captured} & {
        *("numba.cuda", "numba", "numba.cuda.grid", "numba.cuda.libdevice.sqrtf")
    }


def test_every_name_of_the_real_numba_cuda_is_there_and_others_are_not(recorded: Recorded) -> None:
    listing = "import numba.cuda as c; print(*[n for n in dir(c) if not n.startswith('_')])"
    command = [sys.executable, "-W", "ignore", "-c", listing]
    real = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(real) > 100
    body = f"""
        missing = [name for name in {real!r} if not hasattr(cuda, name)]
        assert not missing, missing
        for path in ("shared.array", "local.array", "const.array_like", "atomic.compare_and_swap", "atomic.add",
                     "blockIdx.x", "laneid", "shfl_down_sync", "ballot_sync", "libdevice.fma_rn"):
            thing = cuda
            for part in path.split("."):
                thing = getattr(thing, part)
            assert thing.path == f"numba.cuda.{{path}}"
        for name in ("grids", "shared_array", "__nothing__"):
            assert not hasattr(cuda, name)
        assert not hasattr(cuda.atomic, "multiply")
        assert cuda.types is numba.types
        {LAUNCH}
    """
    planned(recorded(body))


# ---------------------------------------------------------------- several calls


def test_several_calls_run_in_one_process_and_get_a_plan_each(recorder: WarmChild) -> None:
    text = """
from numba import cuda
import numpy as np
TABLE = cuda.to_device(np.arange(3.0))
counts = []
@cuda.jit
def k(t, x, out, n): out[0] = t[0]
def f(x, out):
    counts.append(1)
    k[x.size, len(counts)](TABLE, x, out, 0)
def g(out):
    k[1, 7](TABLE, scratch(), out, 1)
cache = []
def scratch():
    if not cache:
        cache.append(cuda.device_array(5))
    return cache[0]
"""
    calls = [
        Call("f", {"x": np.zeros(2), "out": Output((1,), np.float64)}),
        Call("g", {"out": Output((2,), np.float64)}),
        Call("f", {"x": np.zeros(3), "out": Output((1,), np.float64)}),
        Call("g", {"out": Output((3,), np.float64)}),
    ]
    plans = record(recorder, text.encode(), calls, DEFAULT, LIMITS)
    assert isinstance(plans, tuple), plans
    assert [(p.entry, launches(p)[0].grid[0], launches(p)[0].block[0]) for p in plans] == [
        *(("f", 2, 1), ("g", 1, 7), ("f", 3, 2), ("g", 1, 7)),
    ]
    for plan in plans:
        assert base64.b64decode(plan.buffers[0].data or "") == np.arange(3.0).tobytes()
    assert [b.nbytes for b in plans[3].buffers] == [24, 24, 40]


def test_an_argument_of_an_earlier_call_is_refused(recorder: WarmChild) -> None:
    text = """
from numba import cuda
kept = []
@cuda.jit
def k(x, out): out[0] = x[0]
def f(x, out):
    kept.append(x)
    k[1, 1](kept[0], out)
"""
    calls = [Call("f", {"x": np.zeros(n), "out": Output((1,), np.float64)}) for n in (2, 3)]
    failure = record(recorder, text.encode(), calls, DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert failure.kind == "stale-array"
    assert failure.where == "kernels.py:8  k[1, 1](kept[0], out)"


def test_a_kernel_launched_at_import_is_in_every_plan_but_is_no_launch_of_the_call(recorder: WarmChild) -> None:
    text = """
from numba import cuda
table = cuda.device_array(4)
@cuda.jit
def fill(x): x[0] = 1
fill[1, 1](table)
def f(out):
    if out.size > 1:
        fill[2, 1](out)
"""
    calls = [Call("f", {"out": Output((2,), np.float64)})]
    plans = record(recorder, text.encode(), calls * 2, DEFAULT, LIMITS)
    assert isinstance(plans, tuple)
    assert [[launch.grid[0] for launch in launches(plan)] for plan in plans] == [[1, 2], [1, 2]]
    failure = record(recorder, text.encode(), [Call("f", {"out": Output((1,), np.float64)})], DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert failure.kind == "no-launch"


def test_nothing_to_do_needs_no_launch(recorder: WarmChild) -> None:
    plans = record(recorder, b"def f(out): pass", [Call("f", {"out": Output((0,), "f4")})], DEFAULT, LIMITS)
    assert isinstance(plans, tuple)


def test_a_returned_value_beside_a_launch_is_noted(recorded: Recorded) -> None:
    assert planned(recorded(f"{LAUNCH}\nreturn out")).returned_value
    assert not planned(recorded(LAUNCH)).returned_value


def test_a_byte_order_mark_does_not_matter(recorder: WarmChild) -> None:
    text = "\ufeff# é\nfrom numba import cuda\n@cuda.jit\ndef k(o): o[0] = 1\ndef f(out): k[1, 1](out)\n"
    plans = record(recorder, text.encode(), [Call("f", {"out": Output((1,), "f4")})], DEFAULT, LIMITS)
    assert isinstance(plans, tuple)
    assert plans[0].functions[0].line == 3
