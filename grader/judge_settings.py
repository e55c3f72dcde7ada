"""How to judge: on which device, within which limits, with which seed. Trusted process.

In: what a command was asked for, and course.yml's numbers. Out: a frozen record for ``judge.Candidate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from grader.device_names import DeviceName
from grader.gpu_models import DEFAULT, GpuModel
from grader.judged_race import Terms
from grader.sandbox.limits import Limits
from grader.sanitizing import SeenCall


@dataclass(frozen=True)
class Settings:
    """How to judge. ``seed`` draws the inputs; ``race`` is what is asked of speed, and ``races_later`` leaves it out.

    ``seen`` is told of each call that is checked or simulated whole, before it is. ``imports``: modules that kernels.py
    may import besides those that any may; None: all.
    """

    device: DeviceName = "auto"
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    gpu: GpuModel = DEFAULT
    race: Terms = field(default_factory=Terms)
    races_later: bool = False
    imports: tuple[str, ...] | None = None
    seen: Callable[[SeenCall], None] | None = None
