"""What a GPU is found to be doing, by a management library and a driver that are none."""

# mypy: ignore-errors
from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
from numba import cuda

from grader.clocks import GpuState
from grader.devices.gpu_state import gpu_state
from grader.doctor import speed_here

from .fake_nvml import FakeNvml, Gpu

ME = os.getpid()
PCI = {"PCI_DOMAIN_ID": 0, "PCI_BUS_ID": 0x3B, "PCI_DEVICE_ID": 0}


@pytest.fixture
def state_of(monkeypatch):
    """``state_of(Gpu(…), …)``: the state of the GPU that CUDA names so, among those that the library knows."""

    def state(*known, uuid="GPU-1111", pageable=0, pci=PCI, library=True):
        gpu = SimpleNamespace(uuid=uuid, PAGEABLE_MEMORY_ACCESS=pageable, **pci)
        monkeypatch.setattr(cuda, "get_current_device", lambda: gpu)
        monkeypatch.setattr(
            cuda, "current_context", lambda: SimpleNamespace(get_memory_info=lambda: (15 << 30, 16 << 30))
        )
        monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(*known) if library else None)
        said = gpu_state()
        return GpuState(**said)

    return state


def test_a_whole_gpu_of_ones_own_is_fit(state_of):
    state = state_of(Gpu(pids=(ME,)))
    assert state.unfit() == ""
    assert (state.is_partition, state.others, state.sm_mhz, state.memory_mhz, state.celsius) == (
        False,
        0,
        1980,
        2619,
        41,
    )


def test_a_part_of_a_gpu_is_noticed_though_the_driver_names_it_like_a_whole_one(state_of):
    divided = Gpu(uuid="GPU-2222", parts=("MIG-1111", "MIG-3333"), mig_mode=1)
    assert state_of(Gpu(uuid="GPU-9999", bus_id="00000000:af:00.0"), divided).is_partition is True


def test_a_part_that_the_library_does_not_know_by_name_is_noticed_by_where_its_gpu_is(state_of):
    state = state_of(Gpu(uuid="GPU-2222", mig_mode=1))
    assert state.is_partition is True
    assert "MIG" in state.unfit()


def test_a_gpu_named_as_its_parts_are_is_asked_whether_it_is_divided(state_of):
    assert state_of(Gpu(mig_mode=1)).is_partition is True


@pytest.mark.parametrize("error", [FakeNvml.NVML_ERROR_NOT_SUPPORTED, FakeNvml.NVML_ERROR_FUNCTION_NOT_FOUND])
def test_a_gpu_that_cannot_be_divided_is_whole(state_of, error):
    assert state_of(Gpu(errors={"mig": error})).is_partition is False


@pytest.mark.parametrize(
    ("known", "options"),
    [
        ((Gpu(errors={"mig": FakeNvml.NVML_ERROR_UNKNOWN}),), {}),
        ((Gpu(uuid="GPU-9999", bus_id="00000000:af:00.0"),), {}),
        ((Gpu(uuid="GPU-9999"),), {"pci": {}}),
        ((), {"library": False}),
    ],
)
def test_what_nobody_says_is_unknown_and_the_doctor_says_so(state_of, known, options):
    state = state_of(*known, **options)
    assert state.is_partition is None
    assert "MIG" in speed_here(state).note


def test_what_one_question_does_not_answer_harms_no_other(state_of):
    for question in ("mig", "reasons", "clocks", "celsius", "processes"):
        state = state_of(Gpu(pids=(ME, 7), reasons=0x4, errors={question: FakeNvml.NVML_ERROR_UNKNOWN}))
        known = {
            "mig": state.is_partition is False,
            "reasons": list(state.held_by) == ["its power limit"],
            "clocks": state.sm_mhz == 1980,
            "celsius": state.celsius == 41,
            "processes": state.others == 1,
        }
        assert [name for name, is_known in known.items() if not is_known] == [question]


@pytest.mark.parametrize(
    ("pids", "others"),
    [
        ((), 0),
        ((ME,), 0),
        ((ME, ME + 1), 1),
        ((ME + 1, ME + 2, ME), 2),
        ((ME + 1,), 0),  # in a container: the host's number of this process
        ((ME + 1, ME + 2), 1),  # and of one other
        ((0, 0), 0),
        ((0, ME + 1), 1),
    ],
)
def test_others_are_counted_without_this_process_by_whatever_number(state_of, pids, others):
    assert state_of(Gpu(pids=pids)).others == others


@pytest.mark.parametrize(
    ("bits", "slowed", "held"),
    [
        (0x8, "a hardware slowdown", ""),
        (0x20, "its temperature (software)", ""),
        (0x40, "its temperature (hardware)", ""),
        (0x80, "the power supply's brake", ""),
        (0x2, "", "clocks that someone set"),
        (0x4, "", "its power limit"),
        (0x10, "", "another GPU that it keeps in step with"),
        (0x1, "", ""),  # idle
    ],
)
def test_reasons_for_low_clocks_are_told_apart(state_of, bits, slowed, held):
    state = state_of(Gpu(reasons=bits))
    assert list(state.slowed_by) == [slowed] * bool(slowed)
    assert list(state.held_by) == [held] * bool(held)
    assert bool(state.unfit()) is bool(slowed)


def test_where_kernels_reach_the_hosts_memory_no_race_is_run(state_of):
    state = state_of(Gpu(), pageable=1)
    assert state.reaches_host is True
    assert "the host's memory" in state.unfit()
    assert speed_here(state).ok is None
    assert state_of(Gpu(), pageable=0).reaches_host is False
