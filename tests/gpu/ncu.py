"""What ncu, NVIDIA's kernel profiler, measures of the launches of a script."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from pathlib import Path

# Its metrics, by the names of our counters.
# https://docs.nvidia.com/nsight-compute/ProfilingGuide/, "Metrics Structure".
METRICS = {
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global_atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ),
    "global_atomic_sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
    "shared_load_requests": ("smsp__sass_inst_executed_op_shared_ld.sum",),
    "shared_load_bank_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "shared_store_requests": ("smsp__sass_inst_executed_op_shared_st.sum",),
    "shared_store_bank_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "shared_atomic_requests": ("smsp__sass_inst_executed_op_shared_atom.sum",),
}
TIMEOUT_SECONDS = 300


def is_there() -> bool:
    """Whether this machine has ncu."""
    return shutil.which("ncu") is not None


def profile(script: Path) -> list[dict[str, float]]:
    """The counters of each launch of a Python script, in order. Raises RuntimeError with ncu's words if it fails."""
    names = sorted({name for metrics in METRICS.values() for name in metrics})
    command = ["ncu", "--clock-control", "none", "--csv", "--metrics", ",".join(names), sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    lines = done.stdout.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        raise RuntimeError(f"ncu ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    launches: dict[int, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if row["ID"].isdigit():
            measured = launches.setdefault(int(row["ID"]), {})
            measured[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
    return [
        {counter: sum(measured.get(name, 0.0) for name in metrics) for counter, metrics in METRICS.items()}
        for _, measured in sorted(launches.items())
    ]
