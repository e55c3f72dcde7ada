"""What this machine's GPU was measured to reach, measured once and kept. Trusted process.

In: a warm runner, what the GPU says of itself. Out: ``Peaks``. They are kept in a file of the user's cache, by GPU and
driver; a file that cannot be read or written only costs a second.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from pydantic import TypeAdapter, ValidationError

from grader.roofline import Peaks
from grader.sandbox.launch import WarmChild
from grader.sandbox.limits import Limits
from grader.sandbox.time_runs import measure_peaks

# Bytes and operations per second that a GPU can have. The slowest that Numba supports (a GT 1010 with DDR4) has some
# 4e10 and 8e11, the fastest (B200) 8e12 and 8e13: a tenth and a hundred times of these leave room for what comes.
POSSIBLE = ((4e9, 8e14), (8e10, 8e15))
LARGEST_CACHE = 1 << 34


def peaks_of(child: WarmChild, gpu: Mapping[str, Any], uuid: str, limits: Limits, *, doubted: bool = False) -> Peaks:
    """The peaks of the machine's GPU. Raises errors.Fault where they must be measured and cannot.

    ``doubted``: something was faster, so they are measured again; of two measurements the larger number is the peak.
    """
    file = user_cache_path("warpgrade") / "peaks.json"
    key = f"{gpu['name']} {uuid} driver {gpu.get('driver', '')}"
    known = _read(file)
    if doubted or key not in known:
        now = measure_peaks(child, limits)
        before = known.get(key, now)
        known[key] = Peaks(
            max(now.bytes_per_second, before.bytes_per_second),
            max(now.operations_per_second, before.operations_per_second),
            now.cache_bytes,
        )
        _write(file, known)
    return known[key]


def _read(file: Path) -> dict[str, Peaks]:
    """What is kept, without what no GPU has: a race against such a peak could not be judged."""
    try:
        kept = TypeAdapter(dict[str, Any]).validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return {}
    known: dict[str, Peaks] = {}
    for name, numbers in kept.items():
        with contextlib.suppress(ValidationError):
            peaks = TypeAdapter(Peaks).validate_python(numbers)
            speeds = peaks.bytes_per_second, peaks.operations_per_second
            if all(low <= speed <= high for speed, (low, high) in zip(speeds, POSSIBLE, strict=True)) and (
                0 <= peaks.cache_bytes <= LARGEST_CACHE
            ):
                known[name] = peaks
    return known


def _write(file: Path, peaks: Mapping[str, Peaks]) -> None:
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(TypeAdapter(Mapping[str, Peaks]).dump_python(peaks), indent=1), encoding="utf-8")
        new.replace(file)
