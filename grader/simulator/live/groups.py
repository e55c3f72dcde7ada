"""Launches that showed the same are one group, told once. Runs in anybody's own process; no Numba.

In: the launches of a script, in order, and the text of their functions. Out: ``LaunchGroup`` records, and their JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from grader.traces import FunctionText, LaunchGroup, LaunchTrace

FORMAT = 1


def launch_groups(launches: Sequence[LaunchTrace]) -> tuple[LaunchGroup, ...]:
    """Equal launches together: same kernel, place, geometry, findings and counters. In the order of their first."""
    groups: dict[Any, list[LaunchTrace]] = {}
    for launch in launches:
        key = (
            launch.kernel,
            launch.defined,
            launch.place,
            launch.grid,
            launch.block,
            launch.dynamic_shared_bytes,
            launch.findings,
            launch.problem,
            tuple(sorted(launch.counters.items())),
        )
        groups.setdefault(key, []).append(launch)
    return tuple(LaunchGroup(members[0], len(members)) for members in groups.values())


def as_json(groups: Sequence[LaunchGroup], texts: Sequence[FunctionText]) -> str:
    """``{"format": 1, "launches": […], "functions": […]}``; each launch with ``times``, its lines as a list."""
    functions = [asdict(text) for text in texts]
    document = {"format": FORMAT, "launches": [_plain(group) for group in groups], "functions": functions}
    return json.dumps(document, indent=1) + "\n"


def _plain(group: LaunchGroup) -> dict[str, Any]:
    launch = group.launch
    lines = [{"place": asdict(place), "counters": dict(counted)} for place, counted in launch.lines.items()]
    return {
        "kernel": launch.kernel,
        "defined": asdict(launch.defined),
        "place": asdict(launch.place),
        "times": group.times,
        "grid": launch.grid,
        "block": launch.block,
        "dynamic_shared_bytes": launch.dynamic_shared_bytes,
        "problem": launch.problem,
        "findings": [asdict(finding) for finding in launch.findings],
        "counters": dict(launch.counters),
        "lines": lines,
    }
