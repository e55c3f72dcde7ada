"""One job: what it sees, how it ends, and that nothing it does delays or outlives the verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.errors import ChildFault
from grader.sandbox import ends, exchange, job_processes
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

Run = Callable[..., Reply | Death]
AssertDies = Callable[[int], None]
LIMITS = Limits(cpu_seconds=20, wall_seconds=30)
SHORT = replace(LIMITS, cpu_seconds=1, wall_seconds=10)


def death(answer: Reply | Death) -> Death:
    assert isinstance(answer, Death), answer
    return answer


def header(answer: Reply | Death) -> dict:
    assert isinstance(answer, Reply), answer
    return answer.message.header


def test_arrays_of_megabytes_go_there_and_back(child: WarmChild) -> None:
    sent = np.random.default_rng(1).normal(size=2_000_000)
    text = "answer = Message({'sum': 1}, {'b': message.arrays['a'] * 2})"
    answer = child.call(Message({"python": text}, {"a": sent}), LIMITS)
    assert isinstance(answer, Reply)
    assert np.array_equal(answer.message.arrays["b"], sent * 2)
    assert answer.cpu_seconds > 0
    assert answer.wall_seconds > 0


def test_a_job_leaves_nothing_behind_for_the_next(run: Run) -> None:
    run("import builtins; builtins.leftover = 1; Message.leftover = 1; import os; os.environ['X'] = '1'")
    found = header(
        run("import os, builtins; answer = Message({'n': [hasattr(builtins, 'leftover'), 'X' in os.environ]})")
    )
    assert found == {"n": [False, False]}


def test_a_job_sees_no_stdin_no_foreign_files_and_leads_its_own_session(run: Run) -> None:
    text = """
import os, sys
answer = Message({
    "stdin": sys.stdin.read(), "fds": sorted(int(n) for n in os.listdir("/dev/fd")), "pid": os.getpid(),
    "session": os.getsid(0), "group": os.getpgid(0), "cwd": os.getcwd(), "home": os.environ["HOME"],
    "env": sorted(os.environ), "files": os.listdir("."), "path": sys.path, "parent": os.getppid(),
})
"""
    found = header(run(text))
    assert found["stdin"] == ""
    assert found["session"] == found["group"] == found["pid"] != os.getpid()
    assert found["parent"] != os.getpid()
    assert len(found["fds"]) == 5  # three streams, the reply pipe, and the listing's own
    assert found["files"] == []
    assert Path(found["cwd"]).resolve() == Path(found["home"]).resolve()
    assert not Path(found["cwd"]).exists()
    expected = "HOME LANG LC_ALL LC_CTYPE MKL_NUM_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PYTHONPATH TMPDIR"
    assert set(found["env"]) <= set(expected.split())
    assert str(Path.cwd()) not in found["path"] or str(Path.cwd()) == str(Path(exchange.__file__).parents[2])


def test_resource_limits_are_set(run: Run) -> None:
    limits = replace(LIMITS, file_bytes=1000, processes=77, open_files=33, memory_bytes=1 << 30)
    text = """
import resource as r
answer = Message({n: list(r.getrlimit(getattr(r, n))) for n in
    ("RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_AS")})
"""
    found = header(run(text, limits))
    assert found["RLIMIT_CORE"] == [0, 0]
    assert found["RLIMIT_CPU"] == [20, 21]
    assert found["RLIMIT_FSIZE"] == [1000, 1000]
    assert found["RLIMIT_NOFILE"] == [33, 33]
    assert found["RLIMIT_NPROC"] == [77, 77]
    if Path("/proc/self/statm").exists():
        assert 1 << 30 < found["RLIMIT_AS"][0] < 8 << 30


def test_the_end_of_prints_comes_back_up_to_their_limit(run: Run) -> None:
    answer = run("import sys; print('out'); print('err', file=sys.stderr); import os; os.write(1, b'\\xff raw')")
    assert answer.printed == "out\nerr\n\ufffd raw"
    answer = run("print('x' * 300_000, 'the end')", replace(LIMITS, printed_bytes=10))
    assert answer.printed == "x the end\n"


@pytest.mark.parametrize("fd", [1, 2])
def test_a_flood_of_prints_does_not_block_the_verdict(run: Run, fd: int) -> None:
    text = f"import os\nfor _ in range(2000): os.write({fd}, b'x' * 65536)\nanswer = Message({{'ok': 1}})"
    answer = run(text)
    assert header(answer) == {"ok": 1}
    assert len(answer.printed) == LIMITS.printed_bytes


def test_an_endless_flood_ends_at_the_limit(run: Run) -> None:
    answer = death(run("import os\nwhile True: os.write(2, b'x' * 65536)", replace(SHORT, wall_seconds=2)))
    assert answer.kind in ("time-out", "stalled", "starved")
    assert len(answer.printed) == LIMITS.printed_bytes


def test_an_endless_loop_is_a_time_out(run: Run) -> None:
    answer = death(run("while True: pass", SHORT))
    assert answer.kind == "time-out"
    assert 0.5 < answer.cpu_seconds < 4


def test_a_loop_that_ignores_the_cpu_signal_is_a_time_out_all_the_same(run: Run) -> None:
    text = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert death(run(text, SHORT)).kind == "time-out"


def test_a_busy_job_over_its_wall_time_is_a_time_out_and_an_idle_one_is_stalled(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ends, "STARVED_SHARE", 1.0)  # the machine may be busy with more than this
    limits = Limits(cpu_seconds=0.8, wall_seconds=0.9)
    idle = death(run("import time; time.sleep(60)", limits))
    assert idle.kind == "stalled"
    assert idle.starved_seconds < 0.5
    busy = death(run("while True: pass", replace(limits, cpu_seconds=0.2)))
    assert busy.kind == "time-out"


@pytest.mark.parametrize("work", ["time.sleep(1)", "pass"])
def test_over_its_wall_time_a_job_is_first_asked_whether_it_was_starved(
    run: Run, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    monkeypatch.setattr(ends, "STARVED_SHARE", -1.0)
    text = f"import time\nwhile True: {work}"
    assert death(run(text, Limits(cpu_seconds=0.2, wall_seconds=0.9))).kind == "starved"


COMPUTING = """
import os, time
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
for _ in range({children}):
    if os.fork() == 0:
        {detach}
        break
while time.process_time() < {seconds}: pass
os.write(1, b".")
time.sleep(60)
"""
ONLY_LINUX = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="nobody says who had to wait")


def computing(seconds: float, children: int = 0, detach: str = "pass") -> subprocess.Popen[bytes]:
    text = COMPUTING.format(seconds=seconds, children=children, detach=detach)
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, start_new_session=True)


@ONLY_LINUX
def test_the_work_of_others_starves_a_job() -> None:
    jobs = [computing(60) for _ in range(4)]
    try:
        time.sleep(2)
        assert job_processes.starved_seconds(jobs[0].pid) > ends.STARVED_SHARE * 2
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


@ONLY_LINUX
@pytest.mark.parametrize("detach", ["pass", "os.setsid()"])
def test_what_a_jobs_own_processes_compute_does_not_starve_it(detach: str) -> None:
    job = computing(0.4, children=4, detach=detach)
    assert job.stdout is not None
    listing = ["ps", "-o", "pid=", "--ppid", str(job.pid)]
    try:
        for _ in range(5):
            assert job.stdout.read(1) == b"."
        waited = int(Path(f"/proc/{job.pid}/schedstat").read_text().split()[1]) / 1e9
        assert job_processes.cpu_seconds_of_job(job.pid) == pytest.approx(2.0, abs=0.3)
        assert job_processes.starved_seconds(job.pid) <= max(0.0, waited - 1.4)
    finally:
        for pid in map(int, subprocess.run(listing, capture_output=True, check=False).stdout.split()):
            os.kill(pid, signal.SIGKILL)
        job.kill()
        job.communicate()


def test_failed_allocations_are_deaths_of_kind_memory(run: Run) -> None:
    limits = replace(LIMITS, memory_bytes=256 << 20)
    assert death(run("x = bytearray(1 << 40)")).kind == "memory"
    assert death(run("raise MemoryError")).kind == "memory"
    if Path("/proc/self/statm").exists():
        assert death(run("x = [bytearray(1 << 20) for _ in range(1000)]", limits)).kind == "memory"


@pytest.mark.parametrize(
    ("text", "kind", "detail"),
    [
        ("import os; os._exit(0)", "exit", "exit status 0"),
        ("import sys; sys.exit(3)", "exit", ""),
        ("1 / 0", "exit", ""),
        ("import os; os.kill(os.getpid(), 9)", "signal", "SIGKILL"),
        ("import os; os.abort()", "signal", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "signal", "SIGSEGV"),
        ("answer = Message({'x': float('nan')})", "exit", ""),
    ],
)
def test_each_way_to_die_has_its_name(run: Run, text: str, kind: str, detail: str) -> None:
    answer = death(run(text))
    assert answer.kind == kind
    assert detail in answer.detail


def test_an_exception_of_the_handler_is_printed(run: Run) -> None:
    assert "ZeroDivisionError" in death(run("1 / 0")).printed


REPLY_FD = "import os, fcntl\nfd = max(int(n) for n in os.listdir('/dev/fd') if os.path.exists('/dev/fd/' + n))\n"


@pytest.mark.parametrize(
    "text",
    [
        "os.write(fd, b'GARBAGE' * 100)",
        "os.write(fd, b'warpgrd')\nos._exit(0)",
        "os.write(fd, b'warpgrd\\x01' + b'\\xff' * 12)",
        "os.write(fd, b'warpgrd\\x01' + b'\\x05\\0\\0\\0' + bytes(8) + b'[1,2]')",
    ],
)
def test_a_reply_that_is_no_frame_is_a_death_of_kind_protocol(run: Run, text: str) -> None:
    assert death(run(REPLY_FD + text)).kind == "protocol"


def test_a_reply_above_its_limit_is_a_death_of_kind_protocol(run: Run) -> None:
    limits = replace(LIMITS, reply_bytes=10_000)
    text = "import numpy as np; answer = Message({{}}, {{'a': np.zeros({n}, np.uint8)}})"
    assert isinstance(run(text.format(n=9000), limits), Reply)
    assert death(run(text.format(n=10_000), limits)).kind == "protocol"


def test_half_a_reply_and_silence_ends_at_the_limit(run: Run) -> None:
    text = REPLY_FD + "os.write(fd, b'warpgrd')\nimport time; time.sleep(60)"
    assert death(run(text, replace(SHORT, wall_seconds=0.5))).kind == "stalled"


def test_closing_the_reply_pipe_is_no_way_out_of_the_limits(run: Run) -> None:
    text = REPLY_FD + "os.close(fd)\nimport time; time.sleep(60)"
    assert death(run(text, replace(SHORT, wall_seconds=0.5))).kind == "stalled"


FORK = """
import os, time
child = os.fork()
if child == 0:
    {detach}
    while True: {work}
"""


@pytest.mark.parametrize("work", ["time.sleep(1)", "os.write(1, b'x' * 65536)", "pass"])
def test_a_grandchild_with_open_pipes_neither_delays_the_verdict_nor_outlives_the_job(
    run: Run, assert_dies: AssertDies, work: str
) -> None:
    began = time.monotonic()
    answer = run(FORK.format(detach="", work=work) + "answer = Message({'pid': child})")
    assert time.monotonic() - began < 10
    assert_dies(header(answer)["pid"])


@pytest.mark.parametrize("end", ["os._exit(1)", "os.abort()", "time.sleep(60)"])
def test_a_grandchild_dies_with_a_job_that_ends_badly(run: Run, assert_dies: AssertDies, end: str) -> None:
    text = FORK.format(detach="", work="time.sleep(1)") + f"os.write(1, str(child).encode())\n{end}"
    answer = death(run(text, replace(SHORT, wall_seconds=0.7)))
    assert_dies(int(answer.printed))


def test_a_grandchild_that_left_the_group_and_floods_does_not_delay_the_verdict(
    run: Run, is_alive: Callable[[int], bool]
) -> None:
    began = time.monotonic()
    answer = run(
        FORK.format(detach="os.setsid()", work="os.write(1, b'x' * 65536)") + "answer = Message({'pid': child})"
    )
    pid = header(answer)["pid"]
    try:
        assert time.monotonic() - began < 10
        assert len(answer.printed) <= LIMITS.printed_bytes
    finally:
        if is_alive(pid):  # its pipe is gone, so it usually has died by itself
            os.kill(pid, 9)


def test_a_folder_without_permissions_is_removed_too(run: Run) -> None:
    text = """
import os
os.makedirs("a/b"); open("a/b/c", "w").close(); os.symlink("/", "a/link"); os.chmod("a/b", 0); os.chmod("a", 0)
answer = Message({"cwd": os.getcwd()})
"""
    assert not Path(header(run(text))["cwd"]).exists()


def test_a_job_that_breaks_before_its_work_is_a_fault(run: Run) -> None:
    with pytest.raises(ChildFault, match="before it had its work"):
        run("", replace(LIMITS, file_bytes=-(2**70)))


def test_a_job_that_is_not_ready_in_time_is_a_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "READY_SECONDS", 0.0)
    with pytest.raises(ChildFault, match="no progress"):
        run("")


def test_what_a_job_prints_is_no_part_of_its_reply(run: Run) -> None:
    forged = json.dumps({"header": {"ok": 2}, "arrays": []})
    assert header(run(f"print({forged!r}); answer = Message({{'ok': 1}})")) == {"ok": 1}
