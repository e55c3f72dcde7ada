"""Does what was raced use the technique, too? Counters of some blocks of a call that is too large to simulate.

Trusted process. In: the plan that was raced, inputs of its sizes, a warm runner. Out: a ``SampledRun``, or NotMeasured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from grader.gpu_lock import Busy, gpu_lock, key_of
from grader.gpu_models import GpuModel
from grader.plan import LaunchPlan
from grader.problem import Inputs
from grader.sandbox.limits import Limits
from grader.sandbox.run import RUNS_BESIDE_GPU, Sample, run
from grader.sandbox.warm_child import WarmChild
from grader.technique import NotMeasured, Run, sampled_run_of
from grader.unwritten import fills_for


def sample_call(
    child: WarmChild,
    source: bytes,
    plan: LaunchPlan,
    inputs: Inputs,
    text: str,
    blocks: int,
    model: GpuModel,
    limits: Limits,
    rng: np.random.Generator,
    gpu: Mapping[str, Any] | None,
) -> Run:
    """Counters of at most ``blocks`` blocks of each launch, chosen by ``rng``, that stand for all.

    Where the call was raced, on ``gpu``, blocks run from what memory holds there: what they read of others is so.
    Raises NotMeasured where they cannot run by themselves, errors.Fault.
    """
    fills = fills_for(inputs, rng)[:1] * (1 if gpu is None else RUNS_BESIDE_GPU)
    sample = Sample(blocks, int(rng.integers(1 << 32)), gpu is not None)
    try:
        with contextlib.nullcontext() if gpu is None else gpu_lock(key_of(gpu)):
            outcomes = run(child, source, plan, inputs, fills, model, "simulated", limits, sample)
    except Busy as why:
        raise NotMeasured(str(why)) from None
    problem = outcomes[0].problem
    if problem is not None:
        raise NotMeasured(
            "whether what was timed uses the technique could not be seen, since some blocks of it could not be "
            f"simulated by themselves. {problem.what}"
        )
    first, *others = (sampled_run_of(text, inputs, plan, outcome) for outcome in outcomes)
    return replace(first, others=tuple(others))
