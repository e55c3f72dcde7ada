"""What ``grader doctor`` says of a GPU that it has been told of."""

from __future__ import annotations

import pytest

from grader.clocks import GpuState
from grader.doctor import speed_here


@pytest.mark.parametrize(
    ("state", "ok", "note"),
    [
        (GpuState(total_bytes=16 << 30, free_bytes=15 << 30, others=0), True, "15.0 of 16.0 GiB are free"),
        (GpuState(total_bytes=16 << 30, free_bytes=15 << 30), True, "pip install nvidia-ml-py"),
        (GpuState(others=0, is_partition=None), True, "a part of a GPU (MIG)"),
        (GpuState(others=0, reaches_host=None), True, "can reach the host's memory"),
        (GpuState(others=0, reaches_host=True), None, "uvm_disable_hmm"),
        (GpuState(others=2), None, "not measured while 2 others compute on it"),
        (GpuState(is_partition=True, others=0), None, "MIG"),
        (GpuState(others=0, slowed_by=("its temperature (hardware)",)), None, "its temperature (hardware)"),
    ],
)
def test_the_doctor_says_whether_speed_can_be_measured(state: GpuState, ok: bool | None, note: str) -> None:
    row = speed_here(state)
    assert row.ok is ok
    assert note in row.note
