"""How strong the wall around a child is: the levels, and what a job is told of them. Facts; both sides of the wall.

In: nothing. Out: names in their order, and a frozen record that travels as JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

# limits: a process of its own, with limits on time, memory, files and output; all that a job started is killed.
# restricted: no network, no file but Python's own, nothing written, no other process reached or started, no privilege.
# isolated: as well in namespaces of its own: what it may not use is not there.
SandboxLevel = Literal["limits", "restricted", "isolated"]
LEVELS: tuple[SandboxLevel, ...] = get_args(SandboxLevel)


def reaches(level: SandboxLevel, demanded: SandboxLevel) -> bool:
    """Whether ``level`` is no weaker than ``demanded``."""
    return LEVELS.index(level) >= LEVELS.index(demanded)


@dataclass(frozen=True)
class Confinement:
    """What a job does to itself before it reads its request.

    ``readable``: the only files and folders that it may open from then on, by Landlock; None: Landlock is not used.
    ``system_calls``: whether it gives up, by seccomp, all system calls but those of computing.
    ``gpu``: a GPU's device files, which it may use all the same, with what CUDA needs to do so: threads, above all.
    """

    readable: tuple[str, ...] | None = None
    system_calls: bool = False
    gpu: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As plain data, for the control socket."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of ``as_json``."""
        readable = data["readable"]
        return cls(None if readable is None else tuple(readable), bool(data["system_calls"]), tuple(data["gpu"]))
