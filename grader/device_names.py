"""What a person calls the devices that kernels run on, and ways to compile for them: names alone.

Any process may import it. In and out: nothing but the names.
"""

from __future__ import annotations

from typing import Literal, get_args

# "auto": results are judged on the simulator, everywhere alike; what is timed runs on a GPU where there is one.
DeviceName = Literal["auto", "cuda", "simulated"]
# What compiled kernels know of the lines that they come from: what their author
# asked for; lines, as near as an optimiser leaves them; or all, with nothing optimised.
LineInfo = Literal["", "optimised", "debug"]
DEVICE_NAMES: tuple[str, ...] = get_args(DeviceName)
