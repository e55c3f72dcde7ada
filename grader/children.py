"""The recorder and the runner of one judging process. Trusted process.

In: nothing; they start when they are first asked for something. Out: two warm children, which judge, doctor and pytest
use as long as they like, and what the machine's GPU is.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from grader.errors import DeviceFault, Fault, UsageError
from grader.raced_shapes import RacedShapes
from grader.sandbox.levels import SandboxLevel
from grader.sandbox.limits import Limits
from grader.sandbox.run import describe_gpu
from grader.sandbox.warm_child import WarmChild


class Children:
    """The recorder and the runner, started when first needed. Use as a context manager."""

    def __init__(self) -> None:
        self.recorder = WarmChild("grader.recorder")
        self.runner = WarmChild("grader.runner")
        self.raced_shapes = RacedShapes()
        self._gpu: dict[str, Any] | None = None
        self._asked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End both children."""
        self.recorder.close()
        self.runner.close()

    def demand(self, level: SandboxLevel) -> None:
        """From now on start neither behind a weaker wall: where the machine has none of this level, that is a Fault."""
        self.recorder.demand(level)
        self.runner.demand(level)

    def gpu(self) -> dict[str, Any] | None:
        """What the machine's GPU says of itself (name, driver, …), or None. Raises errors.Fault."""
        if not self._asked:
            self._gpu = describe_gpu(self.runner, Limits())
            self._asked = True
        return self._gpu

    def has_no_gpu(self) -> bool:
        """Whether the machine certainly has none: where that cannot be found out, it may have one."""
        try:
            return self.gpu() is None
        except Fault:
            return False

    def gpu_name(self) -> str | None:
        """The GPU's name, or None where there is none that works."""
        try:
            gpu = self.gpu()
        except DeviceFault:
            return None
        return None if gpu is None else str(gpu["name"])


def need_gpu(children: Children, asked_by: str) -> None:
    """Raise UsageError where the machine has no GPU that works; ``asked_by`` is what cannot be done without one."""
    sentence = f"{asked_by} needs a GPU, and Numba can use none here; `grader doctor` says what is missing"
    try:
        name = children.gpu_name()
    except Fault as fault:
        raise UsageError(f"{sentence} ({fault})") from fault
    if name is None:
        raise UsageError(sentence)
