"""What a device says of time and of itself. Any process.

Made in the runner, validated in the trusted process; what a race's times are worth depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """How long some operations took, in nanoseconds.

    ``device_ns`` by the device's own clock, from before the first to after the last; ``queued_ns`` on the host until
    all had been asked for; ``wall_ns`` on the host until all were done, with ``before_ns`` of other work of the device.
    """

    device_ns: int
    queued_ns: int
    wall_ns: int
    before_ns: int


# What holds a GPU at lower clocks than its highest and is no fault of anything, with the name of its figure.
HELD_BY = {
    "held_by_power": "its power limit",
    "held_by_set_clocks": "clocks that someone set",
    "held_by_another_gpu": "another GPU that it keeps in step with",
}


@dataclass(frozen=True)
class GpuState:
    """A GPU now: memory in bytes, clocks in MHz, temperature in °C. None for what its driver or library does not say.

    ``is_partition``: one of several into which a GPU is divided (MIG), which share what they are timed on.
    ``reaches_host``: kernels can read and write ordinary memory of the host, by any address of it (CUDA's "pageable
    memory access", by HMM or ATS). ``others`` counts the processes of others that compute on it. ``slowed_by`` names
    why it runs slower than it could, where that is heat or a fault of power; ``held_by`` what is no fault, of
    ``HELD_BY``: at full load its power limit.
    """

    uuid: str = ""
    total_bytes: int | None = None
    free_bytes: int | None = None
    is_partition: bool | None = None
    reaches_host: bool | None = None
    others: int | None = None
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    celsius: int | None = None
    slowed_by: tuple[str, ...] = ()
    held_by: tuple[str, ...] = ()

    def unfit(self, *, host_in_reach: bool = False) -> str:
        """Why no fair time can be taken on it, or "". ``host_in_reach``: kernels that reach the host are trusted."""
        if self.is_partition:
            return "the GPU is divided into parts (MIG), which share its memory and its caches"
        if self.reaches_host and not host_in_reach:
            return (
                "kernels can reach the host's memory, where other runs' inputs and the clock are (on most machines "
                "that is HMM: the option uvm_disable_hmm=1 of the kernel module nvidia_uvm switches it off, and "
                "host_in_reach: allow in course.yml trusts kernels with it)"
            )
        if self.others:
            return "another process computes on it" if self.others == 1 else f"{self.others} others compute on it"
        if self.slowed_by:
            return f"the GPU is slowed down: {', '.join(self.slowed_by)}"
        return ""
