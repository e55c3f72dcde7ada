"""One race at a time has a GPU, whoever its user is, wherever their temporary files lie, however it ends."""

# mypy: ignore-errors
from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest

from grader.gpu_lock import Busy, gpu_lock

NOBODY = 65534


@pytest.fixture
def place(tmp_path, monkeypatch):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path / "none", folder), raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def _hold(gpu, held):
    with gpu_lock(gpu):
        held.set()
        time.sleep(60)


@pytest.fixture
def holder(place):
    """A process that holds the lock of GPU-1."""
    context = multiprocessing.get_context("fork")
    held = context.Event()
    other = context.Process(target=_hold, args=("GPU-1", held))
    other.start()
    assert held.wait(30)
    yield other
    other.kill()
    other.join()


def is_busy(gpu):
    try:
        with gpu_lock(gpu, 0.2):
            return False
    except Busy:
        return True


def test_one_race_at_a_time_has_the_gpu_and_a_killed_one_gives_it_back(holder):
    with pytest.raises(Busy, match="other races used the GPU for 200 ms"), gpu_lock("GPU-1", 0.2):
        pass
    assert not is_busy("GPU-2")  # another GPU is another's
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert not is_busy("GPU-1")


def test_a_race_that_is_over_gives_the_gpu_back_whatever_it_raised(place):
    with pytest.raises(ZeroDivisionError), gpu_lock("GPU-1"):
        raise ZeroDivisionError
    assert not is_busy("GPU-1")


def test_a_gpu_of_any_name_can_be_locked(place):
    with gpu_lock("GPU \udcff \0 ü / .."):
        assert [file.parent for file in place.rglob("*")] == [place]


def test_a_temporary_folder_of_ones_own_is_no_gpu_of_ones_own(holder, tmp_path, monkeypatch):
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(mine))
    monkeypatch.setenv("TMPDIR", str(mine))
    assert is_busy("GPU-1")


def test_without_a_shared_folder_the_temporary_one_has_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path / "none",))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with gpu_lock("GPU-1"):
        assert [file.suffix for file in tmp_path.iterdir()] == [".lock"]


@pytest.fixture
def waiting(holder):
    """A thread of this process waits for GPU-1."""
    came = []

    def wait():
        try:
            with gpu_lock("GPU-1", 1.5):
                came.append("it has the GPU")
        except Busy:
            came.append("busy")

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.5)
    yield thread, came
    thread.join()


def test_files_that_are_made_while_a_race_waits_are_as_private_as_before(waiting, tmp_path):
    mask = os.umask(0o077)
    os.umask(mask)
    assert mask != 0
    (tmp_path / "grades").touch()
    assert (tmp_path / "grades").stat().st_mode & 0o777 == 0o666 & ~mask


def test_anybody_may_lock_the_file_that_somebody_made(place):
    old = os.umask(0o077)
    try:
        with gpu_lock("GPU-1"):
            assert [file.stat().st_mode & 0o777 for file in place.iterdir()] == [0o666]
    finally:
        os.umask(old)


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root can make files of others")
def test_a_file_that_somebody_else_made_in_a_folder_of_everybodys_can_be_locked(place):
    with gpu_lock("GPU-1"):
        (file,) = place.iterdir()
    os.chown(file, NOBODY, NOBODY)
    assert not is_busy("GPU-1")


def test_a_lock_whose_file_was_removed_and_made_anew_is_not_had_twice(waiting, holder, place):
    (file,) = place.iterdir()
    file.unlink()
    with gpu_lock("GPU-1", 0.2):  # on a new file
        holder.kill()  # now the thread can have the old one
        thread, came = waiting
        thread.join()
    assert came == ["busy"]


def test_a_lock_that_cannot_be_had_for_another_reason_is_said_and_raises_nothing_else(place):
    with gpu_lock("GPU-1"):
        (file,) = place.iterdir()
    file.unlink()
    file.symlink_to("/etc/hostname")
    with pytest.raises(Busy, match="lock"), gpu_lock("GPU-1"):
        pass


def test_a_full_folder_of_locks_leaves_the_part_unmeasured(place, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(Busy, match="No space left"), gpu_lock("GPU-1"):
        pass


def test_a_process_that_a_race_started_does_not_keep_the_gpu(place):
    with gpu_lock("GPU-1"):
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
    try:
        assert not is_busy("GPU-1")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
