"""The functions of kernels.py that launches need: where their code is, how it was decorated, what it captured.

Any process may import it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from grader.plan_constants import Captured, Constant
from grader.plan_dtypes import DType
from grader.plan_limits import MAX_ARGUMENTS, MAX_DIMENSIONS, Index, Line, Part


class TypeOf(Part):
    """One type of an explicit signature: a scalar (``ndim`` None) or an array with its layout."""

    dtype: DType
    ndim: Annotated[int, Field(ge=0, le=MAX_DIMENSIONS)] | None = None
    layout: Literal["A", "C", "F"] = "A"


class JitOptions(Part):
    """The options of ``@cuda.jit`` that a submission may set; others are refused by the recorder."""

    debug: bool | None = None
    opt: bool | None = None
    lineinfo: bool | None = None
    fastmath: bool | None = None
    inline: Literal["always", "never"] | None = None
    forceinline: bool | None = None
    max_registers: Annotated[int, Field(ge=1, le=255)] | None = None
    launch_bounds: tuple[Annotated[int, Field(ge=1, le=1024)], ...] | None = None


class Function(Part):
    """One function of kernels.py that a launch needs: where its code is, and what it captured.

    ``code`` is the index of its code object in a pre-order walk over the code objects of the compiled text
    (the module's is 0); ``qualname`` and ``line`` must agree with it. ``role`` says how it was decorated:
    a kernel or device function (``cuda.jit``), an ``njit`` function, or not at all (``plain``).
    """

    code: Index
    qualname: Annotated[str, Field(min_length=1, max_length=500)]
    line: Line
    role: Literal["kernel", "device", "njit", "plain"]
    options: JitOptions = JitOptions()
    signatures: Annotated[tuple[tuple[TypeOf, ...], ...], Field(max_length=16)] = ()
    defaults: Annotated[tuple[Constant, ...], Field(max_length=MAX_ARGUMENTS)] = ()
    names: Captured = Field(default_factory=dict)
    closure: Captured = Field(default_factory=dict)
