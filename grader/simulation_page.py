"""The page of ``grader simulate``, for launches that were traced in this process. Runs in anybody's own process.

In: what ``grader.simulator.trace()`` has listed. Out: the page as text.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.gpu_models import MODELS, GpuModel
from grader.reports.simulation import simulation_page
from grader.reports.terminal import page as rendered
from grader.simulator.live.function_texts import function_texts
from grader.simulator.live.groups import launch_groups
from grader.simulator.live.install import installed_gpu
from grader.traces import LaunchTrace


def page(launches: Sequence[LaunchTrace], *, gpu: GpuModel | str = "", width: int = 80) -> str:
    """What these launches showed and what each line of their kernels costs, in lines of at most ``width`` columns.

    ``gpu`` is the model that occupancy is told for, by default the one that is installed.
    """
    model = (MODELS[gpu] if isinstance(gpu, str) else gpu) if gpu else installed_gpu()
    script = launches[0].place.short_file if launches else "nothing traced"
    lines = simulation_page(launch_groups(launches), script, model, width, function_texts(launches))
    return rendered(lines, width=width)
