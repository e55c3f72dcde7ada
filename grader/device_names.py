"""What a person calls the devices that kernels run on. Any process may import it; in and out: names alone."""

from __future__ import annotations

from typing import Literal, get_args

# "auto" is a GPU where there is one.
DeviceName = Literal["auto", "cuda", "simulated"]
DEVICE_NAMES: tuple[str, ...] = get_args(DeviceName)
