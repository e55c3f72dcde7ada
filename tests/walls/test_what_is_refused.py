"""Behind each wall: what a student's Python tries, and cannot."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
from pathlib import Path

import numpy as np
import pytest
from behind_a_wall import LIMITS, PRELUDE, WITHOUT_LANDLOCK, Seen

from grader.gpu_models import DEFAULT
from grader.problem import Output
from grader.records import Failure
from grader.sandbox.record import Call, record
from grader.sandbox.walls import VARIABLE
from grader.sandbox.warm_child import WarmChild

ROOT = Path(__file__).parents[2]


def refused(found: dict[str, list[str]]) -> None:
    assert found
    assert {name: answer for name, answer in found.items() if answer[0] != "refused"} == {}


def test_no_file_of_the_course_or_its_owner_is_seen(seen: Seen, wall: str, tmp_path: Path) -> None:
    secret = tmp_path / "gradebook.db"
    secret.write_text("marks")
    paths = [secret, tmp_path, ROOT / "solutions" / "01" / "kernels.py", ROOT / "solutions", ROOT / "course.yml", ROOT]
    paths += [Path("/etc/passwd"), Path("/etc"), Path.home(), Path("/"), Path("/tmp"), Path("/dev/shm"), Path("/var")]
    found = seen(f"""
for path in {list(map(str, paths))!r}:
    if os.path.isdir(path):
        seen[path] = attempt(lambda: sorted(os.listdir(path))[0] and sorted(os.listdir(path)))
    else:
        seen[path] = attempt(lambda: open(path, "rb").read(1))
""")
    if wall == WITHOUT_LANDLOCK:
        # The way to what is shown can be seen, with nothing beside it.
        shown = found.pop(str(ROOT))[1]
        assert "grader" in shown
        assert not any(name in shown for name in ("solutions", "course.yml", "tests"))
        assert not any("passwd" in found[name][1] for name in ("/", "/etc", "/tmp"))
        found = {name: answer for name, answer in found.items() if name not in ("/", "/etc", "/tmp", str(Path.home()))}
    refused(found)


def test_nothing_can_be_written_anywhere(seen: Seen, tmp_path: Path) -> None:
    victim = tmp_path / "kernels.py"
    victim.write_text("mine")
    found = seen(f"""
places = ["/tmp", "/dev/shm", "/var/tmp", os.getcwd(), os.environ["HOME"], {str(tmp_path)!r}, "/dev", "/"]
places += [p for p in sys.path if os.path.isdir(p)]
for place in places:
    name = os.path.join(place, "left_behind")
    seen[f"write {{place}}"] = attempt(lambda: open(name, "w").write("x"))
    seen[f"folder {{place}}"] = attempt(lambda: os.mkdir(name))
    seen[f"link {{place}}"] = attempt(lambda: os.symlink("/", name))
    seen[f"fifo {{place}}"] = attempt(lambda: os.mkfifo(name))
victim = {str(victim)!r}
for what in (os.remove, os.chmod, os.truncate, os.rename, os.utime, os.chown):
    args = {{os.chmod: (0o777,), os.truncate: (0,), os.rename: (victim + "2",), os.chown: (0, 0)}}.get(what, ())
    seen[what.__name__] = attempt(lambda: what(victim, *args))
    seen[f"{{what.__name__}} of Python's"] = attempt(lambda: what(os.__file__, *args))
""")
    refused(found)
    assert victim.read_text() == "mine"
    assert not any((Path(place) / "left_behind").exists() for place in ("/tmp", "/dev/shm", "/var/tmp", tmp_path))


def test_there_is_no_network_and_no_socket(seen: Seen) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refused(
            seen(f"""
import socket
for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        seen[f"{{family}} {{kind}}"] = attempt(lambda: socket.socket(getattr(socket, family), kind))
seen["pair"] = attempt(socket.socketpair)
seen["connect"] = attempt(lambda: socket.create_connection(("127.0.0.1", {port}), 2))
seen["by name"] = attempt(lambda: socket.create_connection(("localhost", {port}), 2))
""")
        )


def test_no_process_is_started_and_none_is_reached(seen: Seen, wall: str, recorder: WarmChild) -> None:
    assert recorder.zygote is not None
    found = seen(f"""
import ctypes, signal, subprocess, threading, multiprocessing
seen["fork"] = attempt(os.fork)
seen["vfork and exec"] = attempt(lambda: subprocess.run(["/bin/true"]))
seen["spawn"] = attempt(lambda: os.posix_spawn("/bin/true", ["true"], {{}}))
seen["exec"] = attempt(lambda: os.execv(sys.executable, ["python", "-c", ""]))
seen["thread"] = attempt(lambda: threading.Thread(target=print).start())
for name, pid in (("parent", os.getppid()), ("first", 1), ("all", -1), ("judge", {os.getpid()}),
                  ("zygote", {recorder.zygote.process.pid})):
    for number in (0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
        seen[f"kill {{name}} {{number}}"] = attempt(lambda: os.kill(pid, number))
    for file in ("mem", "environ", "fd", "maps", "cmdline", "root", "cwd"):
        path = f"/proc/{{pid}}/{{file}}"
        seen[path] = attempt(lambda: os.listdir(path) if file in ("fd", "root", "cwd") else open(path, "rb").read(1)[0])
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)
    return "done"
parent = os.getppid()
seen["ptrace attach"] = attempt(lambda: call("ptrace", 16, parent, 0, 0))
seen["ptrace seize"] = attempt(lambda: call("ptrace", 0x4206, parent, 0, 0))
seen["process_vm_readv"] = attempt(lambda: call("process_vm_readv", parent, None, 0, None, 0, 0))
seen["pidfd_open"] = attempt(lambda: call("syscall", 434, parent, 0))
seen["setpriority"] = attempt(lambda: call("setpriority", 0, parent, 5))
seen["affinity"] = attempt(lambda: os.sched_setaffinity(parent, {{0}}))
seen["own affinity"] = attempt(lambda: os.sched_setaffinity(0, {{0}}))
seen["prlimit"] = attempt(lambda: __import__("resource").prlimit(parent, __import__("resource").RLIMIT_CPU, (1, 1)))
""")
    if wall == WITHOUT_LANDLOCK:
        # bubblewrap's own first process, which knows nothing, and how the warm child was started.
        found = {
            name: answer for name, answer in found.items() if not re.match("/proc/1/|/proc/[0-9]+/(fd|cmdline)", name)
        }
    refused(found)


def test_a_descriptor_sends_no_signal_and_holds_nothing_of_others(seen: Seen) -> None:
    """Signals of a pipe go to whom fcntl names (F_SETOWN); locks, leases and a pipe's size are shared with others."""
    found = seen("""
import fcntl, struct
reader, writer = os.pipe()
module = open(json.__file__)
parent = os.getppid()
seen["owner"] = attempt(lambda: fcntl.fcntl(reader, fcntl.F_SETOWN, parent))
seen["owner, extended"] = attempt(lambda: fcntl.fcntl(reader, 15, struct.pack("ii", 1, parent)))
seen["which signal"] = attempt(lambda: fcntl.fcntl(reader, fcntl.F_SETSIG, 9))
seen["a folder's signals"] = attempt(lambda: fcntl.fcntl(reader, fcntl.F_NOTIFY, 1))
seen["lease"] = attempt(lambda: fcntl.fcntl(module, fcntl.F_SETLEASE, fcntl.F_RDLCK))
seen["lock"] = attempt(lambda: fcntl.lockf(module, fcntl.LOCK_SH | fcntl.LOCK_NB))
seen["flock"] = attempt(lambda: fcntl.flock(module, fcntl.LOCK_SH | fcntl.LOCK_NB))
seen["size of a pipe"] = attempt(lambda: fcntl.fcntl(writer, 1031, 1 << 20))
seen["asynchronous, by ioctl"] = attempt(lambda: fcntl.ioctl(reader, 0x5452, struct.pack("i", 1)))
seen["owner, by ioctl"] = attempt(lambda: fcntl.ioctl(reader, 0x8901, struct.pack("i", parent)))
""")
    refused(found)


def test_no_privilege_is_gained_and_no_wall_is_put_down(seen: Seen) -> None:
    refused(
        seen("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)
    return "done"
seen["setuid"] = attempt(lambda: os.setuid(0 if os.getuid() else 1))
seen["setgroups"] = attempt(lambda: os.setgroups([0]))
for name, flags in (("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000)):
    seen[f"unshare {name}"] = attempt(lambda: call("unshare", flags))
seen["mount"] = attempt(lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
seen["umount"] = attempt(lambda: call("umount2", b"/proc", 2))
seen["chroot"] = attempt(lambda: os.chroot("/"))
seen["pivot_root"] = attempt(lambda: call("syscall", 155, b"/", b"/"))
seen["memfd"] = attempt(lambda: os.memfd_create("x"))
seen["shm"] = attempt(lambda: call("shmget", 7, 4096, 0o1666))
seen["msg"] = attempt(lambda: call("msgget", 7, 0o1666))
seen["keyring"] = attempt(lambda: call("syscall", 248, b"user", b"a", b"b", 1, -2))
seen["io_uring"] = attempt(lambda: call("syscall", 425, 1, ctypes.create_string_buffer(120)))
seen["bpf"] = attempt(lambda: call("syscall", 321, 0, None, 0))
seen["perf"] = attempt(lambda: call("syscall", 298, None, 0, -1, -1, 0))
seen["userfaultfd"] = attempt(lambda: call("syscall", 323, 0))
seen["time"] = attempt(lambda: __import__("time").clock_settime(0, 0))
seen["hostname"] = attempt(lambda: __import__("socket").sethostname("x"))
seen["reboot"] = attempt(lambda: call("reboot", 0))
seen["undumpable"] = attempt(lambda: call("prctl", 4, 0, 0, 0, 0))
""")
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="not run: the filter's other door is x86-64's")
def test_a_system_call_by_the_number_of_another_architecture_ends_the_job(recorder: WarmChild) -> None:
    text = "import ctypes\nctypes.CDLL(None).syscall(0x40000000 | 110)\n"  # getppid, as x32 counts
    call = Call("f", {"out": Output((1,), np.float32)})
    failure = record(recorder, text.encode(), [call], DEFAULT, LIMITS)
    assert isinstance(failure, Failure)
    assert failure.kind in ("crash", "exception"), failure


def test_the_environment_tells_nothing_of_who_judges(seen: Seen) -> None:
    found = seen("seen['environment'] = sorted(os.environ)")
    assert not {"USER", "LOGNAME", "SSH_AUTH_SOCK", "VIRTUAL_ENV"} & set(found["environment"])


def test_signals_to_itself_and_what_computing_needs_go_on_working(seen: Seen) -> None:
    found = seen("""
import math, signal, random, json, decimal, collections, time, threading
import numpy as np
def work():
    a = np.arange(10_000, dtype=np.float64).reshape(100, 100)
    assert np.isfinite(np.linalg.eigvalsh(a @ a.T)).all()
    lock = threading.Lock()
    with lock: time.sleep(0.001)
    os.kill(os.getpid(), 0)
    os.urandom(4); random.random(); time.time(); time.perf_counter(); os.cpu_count()
    import fractions, statistics, itertools, numpy.fft, dataclasses, typing, enum, functools
    assert open(math.__spec__.origin, "rb").read(1) if math.__spec__.origin not in (None, "built-in") else True
    return "fine"
seen["work"] = attempt(work)
def descriptors():
    reader, writer = os.pipe()
    os.set_blocking(reader, False), os.set_inheritable(writer, True)
    os.dup2(reader, os.dup(writer))
    assert not os.get_blocking(reader) and os.get_inheritable(writer)
    return "fine"
seen["descriptors"] = attempt(descriptors)
seen["tty"] = attempt(lambda: os.isatty(0))
seen["own status"] = attempt(lambda: os.times().user >= 0)
""")
    assert found == {
        "work": ["done", "'fine'"],
        "descriptors": ["done", "'fine'"],
        "tty": ["done", "False"],
        "own status": ["done", "True"],
    }


def test_without_a_wall_the_same_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "limits")
    secret = tmp_path / "secret"
    secret.write_text("x")
    heard: list[str] = []
    text = (
        PRELUDE
        + f"""
import socket, subprocess
def f(out):
    seen["read"] = attempt(lambda: open({str(secret)!r}).read())
    seen["write"] = attempt(lambda: open(os.path.join(os.getcwd(), "file"), "w").write("x"))
    seen["socket"] = attempt(socket.socket)
    seen["start"] = attempt(lambda: subprocess.run(["true"]))
    seen["kill"] = attempt(lambda: os.kill(os.getppid(), 0))
    print(json.dumps(seen))
    kernel[1, 1](out)
"""
    )
    with WarmChild("grader.recorder") as child:
        plans = record(
            child, text.encode(), [Call("f", {"out": Output((1,), np.float32)})], DEFAULT, LIMITS, heard.append
        )
    assert not isinstance(plans, Failure), plans
    found = json.loads(heard[0].splitlines()[-1])
    assert {name: answer[0] for name, answer in found.items()} == dict.fromkeys(
        ("read", "write", "socket", "start", "kill"), "done"
    )
