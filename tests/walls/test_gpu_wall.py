"""What a wall with a hole for a GPU lets through, and nothing else. A device of every machine stands in for it."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.sandbox import landlock, nvidia
from grader.sandbox.environment import PYTHON, child_environment, searched_folders
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.wall_of_child import RUNNER, _why_no_cuda
from grader.sandbox.walls import NO_WALL, VARIABLE, offer, wall_at

DEVICE = "/dev/full"
BESIDE = """
import ctypes, errno, fcntl, json, os, socket, sys, threading
from grader.sandbox.confine import confine
from grader.sandbox.levels import Confinement
pair = socket.socketpair()
confine(Confinement.from_json(json.loads(sys.argv[1])))
seen = {}
def attempt(name, what):
    try:
        seen[name] = what() or "done"
    except OSError as error:
        seen[name] = errno.errorcode[error.errno]
    except RuntimeError as error:
        seen[name] = str(error)
"""
Tell = Callable[[str], dict[str, str]]


@pytest.fixture(params=LEVELS[1:])
def tell(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """Run a text in a process behind such a wall; what it put into ``seen``."""
    monkeypatch.delenv(VARIABLE, raising=False)
    level: SandboxLevel = request.param
    if not reaches(offer().level, level):
        pytest.skip(f"not run: {'; '.join(offer().missing)}")
    wall = wall_at(level, searched_folders(RUNNER), (DEVICE,))

    def run(text: str) -> dict[str, str]:
        program = BESIDE + textwrap.dedent(text) + "\nprint(json.dumps(seen))\n"
        done = subprocess.run(
            [*wall.under, *PYTHON, "-c", program, json.dumps(wall.confinement.as_json())],
            env=child_environment(RUNNER, Path("/")),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not done.returncode, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    return run


def test_what_cuda_needs_is_there(tell: Tell) -> None:
    seen = tell(
        f"""
        fd = os.open({DEVICE!r}, os.O_RDWR)
        attempt("the device is written", lambda: os.write(fd, b"x"))
        attempt("its driver is asked", lambda: fcntl.ioctl(fd, 0xC020462A, bytes(32)))
        attempt("unified memory's driver is asked", lambda: fcntl.ioctl(fd, 0x30000001, bytes(8)))
        def name():
            with open(f"/proc/self/task/{{threading.get_native_id()}}/comm", "w") as file:
                file.write("cuda")
        def start():
            thread = threading.Thread(target=attempt, args=("a name is given", name))
            thread.start()
            thread.join()
        attempt("a thread is started", start)
        def remember():
            memory = os.memfd_create("printed")
            os.write(memory, b"text")
            os.ftruncate(memory, 0)
        attempt("a file in memory is made", remember)
        """
    )
    # /dev/full never has room, and no driver behind it: but it was asked.
    assert seen == {
        "the device is written": "ENOSPC",
        "its driver is asked": "ENOTTY",
        "unified memory's driver is asked": "ENOTTY",
        "a name is given": "done",
        "a thread is started": "done",
        "a file in memory is made": "done",
    }


def test_nothing_else_is(tell: Tell, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    seen = tell(
        f"""
        attempt("a file is read", lambda: open({str(secret)!r}).read())
        attempt("a file is written", lambda: open({str(secret)!r}, "w"))
        attempt("a file is made", lambda: open("/tmp/mine", "x"))
        attempt("the library is written", lambda: open({landlock.__file__!r}, "a"))
        attempt("another device is opened", lambda: os.open("/dev/tty", os.O_RDWR))
        attempt("a process is forked", os.fork)
        attempt("a program is started", lambda: os.execv("/bin/true", ["true"]))
        for family, kind in ((socket.AF_UNIX, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_STREAM)):
            attempt(f"a socket is made: {{family}}", lambda: socket.socket(family, kind))
        attempt("a socket for packets is made", lambda: socket.socket(socket.AF_INET, socket.SOCK_SEQPACKET))
        local = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        attempt("another's socket is reached", lambda: local.connect("\\0service"))
        attempt("a socket is told something", lambda: pair[0].send(b"x"))
        attempt("a socket is put where others are", lambda: local.bind({str(tmp_path / "socket")!r}))
        local.bind("\\0mine")
        local.listen()
        attempt("somebody is accepted", local.accept)
        attempt("a file is removed", lambda: os.unlink({str(secret)!r}))
        attempt("a pair of sockets is made", socket.socketpair)
        attempt("a parent is signalled", lambda: os.kill(os.getppid(), 0))
        attempt("a terminal is typed into", lambda: fcntl.ioctl(1, 0x5412, b"x"))
        # The kernel looks at 32 bits of a request, a filter at 64.
        libc = ctypes.CDLL(None, use_errno=True)
        def typed_past_the_filter():
            if libc.ioctl(1, ctypes.c_ulong(0x1_0000_5412), b"x"):
                raise OSError(ctypes.get_errno(), "")
        attempt("a terminal is typed into by a longer number", typed_past_the_filter)
        def memory_of_the_parent():
            return open(f"/proc/{{os.getppid()}}/environ", "rb").read().decode() and "read"
        attempt("a parent's environment is read", memory_of_the_parent)
        """
    )
    assert set(seen.values()) <= {"EPERM", "EACCES", "ENOENT", "ENOSYS", "EROFS", "ENXIO", "EEXIST"}, seen
    assert secret.read_text() == "hidden"


@pytest.mark.skipif(nvidia.has_gpu(), reason="the machine has a GPU")
def test_without_a_driver_cuda_does_not_start_and_the_reason_is_told() -> None:
    assert _why_no_cuda(NO_WALL).startswith(("libcuda.so.1", "cuInit gives error"))


def test_the_toolkit_that_the_environment_names_is_readable_and_nothing_else_of_a_conda_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path / 'libraries'}::relative")
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    named = {folder for folder in searched_folders(RUNNER) if folder.is_relative_to(tmp_path)}
    expected = {"toolkit", "libraries", "conda/lib", "conda/nvvm", "conda/targets"}
    assert named == {tmp_path / name for name in expected}
    assert not any(folder.is_relative_to(tmp_path) for folder in searched_folders("grader.recorder"))


def test_device_files_are_the_driver_s_and_are_made_where_they_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nvidiactl", "nvidia0", "nvidia1", "nvidia-modeset", "nvidia-uvm-tools", "null"):
        (tmp_path / name).touch()
    (tmp_path / "nvidia-caps").mkdir()
    (tmp_path / "nvidia-caps/nvidia-cap1").touch()
    program = tmp_path / "bin/nvidia-modprobe"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n: > "{tmp_path}/nvidia-uvm"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(nvidia, "_CONTROL", tmp_path / "nvidiactl")
    monkeypatch.setattr(nvidia, "_UNIFIED_MEMORY", tmp_path / "nvidia-uvm")
    monkeypatch.setattr(nvidia, "_DRIVER", tmp_path)
    names = [str(Path(file).relative_to(tmp_path)) for file in nvidia.device_files()]
    assert names == ["nvidia-caps/nvidia-cap1", "nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"]
