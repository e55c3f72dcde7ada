"""Everything that kernels can call of numba.cuda is simulated, or stands here with the reason why it is not."""

# mypy: ignore-errors
from __future__ import annotations

import importlib
import importlib.util
import inspect

import numpy as np
import pytest
from numba import cuda
from numba.cuda import libdevicefuncs, stubs
from numba.cuda.vector_types import vector_types

from grader.errors import NotSimulated

# What a kernel writes, by the name that it asks for. i is an int, x a float32, u a uint32, a and n arrays.
EXPRESSIONS = {
    "threadIdx": "cuda.threadIdx.x + cuda.threadIdx.y + cuda.threadIdx.z",
    "blockIdx": "cuda.blockIdx.x + cuda.blockIdx.y + cuda.blockIdx.z",
    "blockDim": "cuda.blockDim.x + cuda.blockDim.y + cuda.blockDim.z",
    "gridDim": "cuda.gridDim.x + cuda.gridDim.y + cuda.gridDim.z",
    "warpsize": "cuda.warpsize",
    "laneid": "cuda.laneid",
    "grid": "cuda.grid(1)",
    "gridsize": "cuda.gridsize(1)",
    "shared.array": "cuda.shared.array(4, np.float32).size",
    "local.array": "cuda.local.array(4, np.float32).size",
    "const.array_like": "cuda.const.array_like(TABLE)[i]",
    "syncthreads_count": "cuda.syncthreads_count(i)",
    "syncthreads_and": "cuda.syncthreads_and(i)",
    "syncthreads_or": "cuda.syncthreads_or(i)",
    "match_any_sync": "cuda.match_any_sync(15, i)",
    "match_all_sync": "cuda.match_all_sync(15, i)[0]",
    "activemask": "cuda.activemask()",
    "lanemask_lt": "cuda.lanemask_lt()",
    "shfl_sync": "cuda.shfl_sync(15, x, 1)",
    "shfl_up_sync": "cuda.shfl_up_sync(15, x, 1)",
    "shfl_down_sync": "cuda.shfl_down_sync(15, x, 1)",
    "shfl_xor_sync": "cuda.shfl_xor_sync(15, x, 1)",
    "all_sync": "cuda.all_sync(15, True)",
    "any_sync": "cuda.any_sync(15, True)",
    "eq_sync": "cuda.eq_sync(15, True)",
    "ballot_sync": "cuda.ballot_sync(15, True)",
    "shfl_sync_intrinsic": "cuda.shfl_sync_intrinsic(15, 0, x, 1, 31)[0]",
    "vote_sync_intrinsic": "cuda.vote_sync_intrinsic(15, 3, True)[0]",
    "popc": "cuda.popc(u)",
    "brev": "cuda.brev(u)",
    "clz": "cuda.clz(u)",
    "ffs": "cuda.ffs(u)",
    "selp": "cuda.selp(i > 1, x, x)",
    "fma": "cuda.fma(x, x, x)",
    "cbrt": "cuda.cbrt(x)",
    "atomic.compare_and_swap": "cuda.atomic.compare_and_swap(n, 0, u)",
    "atomic.cas": "cuda.atomic.cas(n, i, 0, u)",
    **{f"atomic.{name}": f"cuda.atomic.{name}(n, i, u)" for name in ("add", "sub", "and_", "or_", "xor", "exch")},
    **{f"atomic.{name}": f"cuda.atomic.{name}(n, i, u)" for name in ("inc", "dec", "max", "min", "nanmax", "nanmin")},
    **{name: f"cuda.{name}(a, i)" for name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")},
}
STATEMENTS = {
    "syncthreads": "cuda.syncthreads()",
    "syncwarp": "cuda.syncwarp()",
    "threadfence": "cuda.threadfence()",
    "threadfence_block": "cuda.threadfence_block()",
    "threadfence_system": "cuda.threadfence_system()",
    "nanosleep": "cuda.nanosleep(20)",
    "cg.this_grid": "cuda.cg.this_grid().sync()",
    "literal_unroll": "for t in cuda.literal_unroll((1, 2)):\n        out[i] += t",
    **{name: f"cuda.{name}(a, i, x)" for name in ("stcg", "stcs", "stwb", "stwt")},
}
# What the simulator does not know, and why.
NOT_SIMULATED = {
    **{
        f"libdevice.{name}{suffix}": "NumPy and Python's math have no Bessel functions"
        for name in ("j0", "j1", "jn", "y0", "y1", "yn")
        for suffix in ("", "f")
    },
    "fp16.atomicAdd": "it takes a raw pointer, through which atomic operations are not known",
    "fp16.__half": "a class for C++ bindings: types.float16 and np.float16 convert",
}
# Modules of numba-cuda for number formats that NumPy lacks.
UNKNOWN_MODULES = {"bf16": "NumPy has no bfloat16", "fp8": "NumPy has no 8-bit floats"}
KERNEL_SIDE = {
    *("numba.cuda.stubs", "numba.cuda.intrinsics", "numba.cuda.intrinsic_wrapper", "numba.cuda.cache_hints"),
    "numba.cuda.misc.special",
}
TABLE = np.arange(4.0)


def _functions_of(module_name):
    """The public functions of a module of numba.cuda, where this Numba has it."""
    if importlib.util.find_spec(f"numba.cuda.{module_name}") is None:
        return []
    module = importlib.import_module(f"numba.cuda.{module_name}")
    named = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    return [n for n in named if inspect.isfunction(getattr(module, n)) or n in ("__half",)]


def _walked():
    """Every name that kernels may use, as a path from ``cuda``."""
    names = set()
    for name in dir(cuda):
        value = getattr(cuda, name)
        module = getattr(value, "__module__", None) or type(value).__module__
        if name.startswith("_") or (module not in KERNEL_SIDE) or inspect.ismodule(value):
            continue
        if inspect.isclass(value) and not issubclass(value, stubs.Stub):
            continue
        inner = [n for n in vars(value) if not n.startswith("_")] if inspect.isclass(value) else []
        inner = [n for n in inner if inspect.isclass(vars(value)[n]) or inspect.isroutine(vars(value)[n])]
        if name == "fp16" or value in _vectors():
            continue
        if name in ("atomic", "shared", "local", "const"):
            names |= {f"{name}.{part}" for part in inner}
        else:
            names.add(name)
    return names | {"cg.this_grid"}


def _vectors():
    return [vector.user_facing_object for vector in vector_types.values()]


def _run(launch, lines, **more):
    code = "def kernel(a, n, h, out):\n    i = cuda.grid(1)\n    x, u = a[i], n[i]\n" + "".join(
        f"    {line}\n" for line in lines
    )
    scope = {"cuda": cuda, "np": np, "TABLE": TABLE, **more}
    exec(compile(code, __file__, "exec"), scope)
    arrays = np.linspace(0.1, 0.9, 4, dtype=np.float32), np.arange(4, dtype=np.uint32)
    launch(scope["kernel"], 1, 4, *arrays, np.linspace(0.1, 0.9, 4).astype(np.float16), np.zeros(4))


def test_every_public_name_is_simulated_or_excused():
    known = set(EXPRESSIONS) | set(STATEMENTS) | set(NOT_SIMULATED)
    assert _walked() - known == set()


@pytest.mark.parametrize("name", sorted(_walked() - set(NOT_SIMULATED)))
def test_what_the_namespace_of_cuda_offers_runs(launch, name):
    line = f"out[i] = {EXPRESSIONS[name]}" if name in EXPRESSIONS else STATEMENTS[name]
    _run(launch, [line])


@pytest.mark.parametrize("letter", sorted({name[0] for name in dir(importlib.import_module("numba.cuda.libdevice"))}))
def test_all_of_libdevice_runs(launch, letter):
    libdevice = importlib.import_module("numba.cuda.libdevice")
    lines = []
    for full, (returned, parameters) in libdevicefuncs.functions.items():
        name = full.removeprefix("__nv_")
        if name[0] != letter or f"libdevice.{name}" in NOT_SIMULATED:
            continue
        arguments = ", ".join("i" if "int" in str(p.ty) else "x" for p in parameters if not p.is_ptr)
        several = any(p.is_ptr for p in parameters)
        lines.append(f"out[i] = libdevice.{name}({arguments}){'[0]' if several else ''}")
        assert str(returned)
    if lines:
        _run(launch, lines, libdevice=libdevice)


def test_every_vector_type_and_alias_constructs(launch):
    lines = []
    for vector in vector_types.values():
        stub = vector.user_facing_object
        for name in (stub.__name__, *stub.aliases):
            arguments = ", ".join(["i"] * vector.num_elements)
            lines.append(f"out[i] = cuda.{name}({arguments}).{vector.attr_names[-1]}")
    _run(launch, lines)


def _half_functions():
    if importlib.util.find_spec("numba.cuda.fp16") is None:
        return [n for n in vars(cuda.fp16) if not n.startswith("_")]
    return _functions_of("fp16")


@pytest.mark.parametrize("first", range(6))
def test_all_of_fp16_runs(launch, first):
    lines = []
    for name in _half_functions()[first::6]:
        if f"fp16.{name}" in NOT_SIMULATED:
            continue
        plain = name.removeprefix("__")
        three, two = (
            ("hfma",),
            ("hadd", "hsub", "hmul", "hdiv", "heq", "hne", "hge", "hgt", "hle", "hlt", "hmax", "hmin"),
        )
        count = 3 if plain.startswith(three) else 2 if plain.startswith(two) and plain != "hneg" else 1
        argument = "h[i]" if plain.startswith(("h", "half")) else "x" if plain.startswith(("float", "double")) else "i"
        lines.append(f"out[i] = cuda.fp16.{name}({', '.join([argument] * count)})")
    _run(launch, lines)


def test_random_numbers_are_drawn(launch):
    from numba.cuda import random

    names = [n for n in vars(random) if n.startswith(("xoroshiro128p_uniform", "xoroshiro128p_normal"))]
    assert len(names) == 4

    code = "def kernel(states, out):\n    i = cuda.grid(1)\n" + "".join(
        f"    out[{k}, i] = random.{name}(states, i)\n" for k, name in enumerate(names)
    )
    scope = {"cuda": cuda, "random": random}
    exec(compile(code, __file__, "exec"), scope)
    states = np.zeros(4, random.xoroshiro128p_dtype)
    states["s0"], states["s1"] = np.arange(1, 5, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15), 0xBF58476D1CE4E5B9
    out = np.zeros((len(names), 4))
    launch(scope["kernel"], 1, 4, states, out)
    assert np.isfinite(out).all()
    assert out.any(axis=1).all()


@pytest.mark.parametrize("name", sorted(NOT_SIMULATED))
def test_what_is_excused_says_so_with_its_line(launch, name):
    if not name.startswith("libdevice"):
        pytest.skip(NOT_SIMULATED[name])
    short = name.removeprefix("libdevice.")
    order = "i, " if short.startswith(("jn", "yn")) else ""
    with pytest.raises(NotSimulated, match=rf"the simulator does not know the function {short} \(line 4"):
        _run(
            launch, [f"out[i] = libdevice.{short}({order}x)"], libdevice=importlib.import_module("numba.cuda.libdevice")
        )


@pytest.mark.parametrize("module", sorted(UNKNOWN_MODULES))
def test_formats_that_numpy_lacks_are_not_judged(launch, module):
    if importlib.util.find_spec(f"numba.cuda.{module}") is None or module == "fp8":
        pytest.skip("this Numba has none")
    functions = importlib.import_module(f"numba.cuda.{module}")

    def kernel(out):
        out[0] = functions.bfloat16_to_float32(functions.float32_to_bfloat16(out[0]))

    with pytest.raises(NotSimulated, match=r"the simulator does not know .*\(line \d+"):
        launch(kernel, 1, 1, np.zeros(1, np.float32))
