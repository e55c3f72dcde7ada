"""A warm child: how it starts, what it inherits, and that nothing of it is left, whoever dies first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from processes import alive, descendants, wait_until

from grader.errors import ChildFault
from grader.sandbox import exchange, launch
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

LIMITS = Limits(cpu_seconds=20, wall_seconds=30)
AssertDies = Callable[[int], None]
WHO = "import os; answer = Message({'zygote': os.getppid(), 'job': os.getpid()})"


def ask(child: WarmChild, text: str) -> dict:
    answer = child.call(Message({"python": text}), LIMITS)
    assert isinstance(answer, Reply), answer
    return answer.message.header


def test_one_zygote_serves_many_jobs() -> None:
    with WarmChild("scripted_child") as child:
        found = [ask(child, WHO) for _ in range(3)]
    assert len({each["zygote"] for each in found}) == 1
    assert len({each["job"] for each in found}) == 3


def test_closing_ends_the_zygote_and_removes_its_folder(assert_dies: AssertDies) -> None:
    with WarmChild("scripted_child") as child:
        found = ask(
            child, "import os; answer = Message({'zygote': os.getppid(), 'home': os.path.dirname(os.getcwd())})"
        )
        assert Path(found["home"]).is_dir()
    assert_dies(found["zygote"])
    assert not Path(found["home"]).exists()
    child.close()


CHECKER = """#!/bin/sh
echo started >"{folder}/ran"
"$@"
echo ended >>"{folder}/ran"
sleep {seconds}
echo done >>"{folder}/ran"
"""


@pytest.fixture
def checker(tmp_path: Path) -> Callable[[float], list[str]]:
    """A program that starts another, and needs so many seconds when that has ended."""

    def make(seconds: float) -> list[str]:
        script = tmp_path / "checker"
        script.write_text(CHECKER.format(folder=tmp_path, seconds=seconds))
        script.chmod(0o755)
        return [str(script)]

    return make


def test_what_a_child_is_under_may_end_its_work_before_it_is_closed(
    tmp_path: Path, checker: Callable[[float], list[str]], assert_dies: AssertDies
) -> None:
    with WarmChild("scripted_child", under=checker(0.5), close_seconds=20) as child:
        zygote = ask(child, WHO)["zygote"]
        assert (tmp_path / "ran").read_text() == "started\n"
    assert (tmp_path / "ran").read_text() == "started\nended\ndone\n"
    assert_dies(zygote)


def test_nothing_is_left_of_what_a_child_is_under_when_that_does_not_end(
    tmp_path: Path, checker: Callable[[float], list[str]], assert_dies: AssertDies
) -> None:
    child = WarmChild("scripted_child", under=checker(600), close_seconds=0.5)
    zygote = ask(child, WHO)["zygote"]
    assert child.zygote is not None
    started = {child.zygote.process.pid, *descendants(child.zygote.process.pid)}
    assert zygote in started
    wait = time.monotonic()
    child.close()
    assert time.monotonic() - wait < 20
    assert wait_until(lambda: not alive(started))
    assert "done" not in (tmp_path / "ran").read_text()


def test_a_zygote_that_was_killed_between_calls_is_started_again() -> None:
    with WarmChild("scripted_child") as child:
        first = ask(child, WHO)["zygote"]
        os.kill(first, signal.SIGKILL)
        time.sleep(0.1)
        assert ask(child, WHO)["zygote"] != first


def test_a_job_that_kills_its_zygote_gets_a_death_and_is_killed(assert_dies: AssertDies) -> None:
    with WarmChild("scripted_child") as child:
        text = "import os, time; os.write(1, str(os.getpid()).encode()); os.kill(os.getppid(), 9); time.sleep(60)"
        answer = child.call(Message({"python": text}), LIMITS)
        assert isinstance(answer, Death)
        assert answer.kind == "protocol"
        assert_dies(int(answer.printed))
        ask(child, WHO)


def test_a_job_that_stops_its_zygote_gets_a_death_and_is_killed(
    assert_dies: AssertDies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "END_SECONDS", 0.3)
    monkeypatch.setattr(launch, "CLOSE_SECONDS", 0.3)
    text = "import os, signal, time; os.write(1, str(os.getpid()).encode())\n"
    text += "os.kill(os.getppid(), signal.SIGSTOP); time.sleep(60)"
    with WarmChild("scripted_child") as child:
        answer = child.call(Message({"python": text}), Limits(cpu_seconds=5, wall_seconds=0.5))
        assert isinstance(answer, Death)
        assert_dies(int(answer.printed))
        ask(child, WHO)


def test_a_call_that_finds_no_free_descriptor_leaves_none_and_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = os.pipe, []

    def pipe() -> tuple[int, int]:
        if len(made) == 2:
            raise OSError(24, "Too many open files")
        made.append(real())
        return made[-1]

    with WarmChild("scripted_child") as child:
        ask(child, WHO)
        monkeypatch.setattr(child, "close", lambda: None)  # which would remove all folders
        assert child.zygote is not None
        home = child.zygote.home
        monkeypatch.setattr(os, "pipe", pipe)
        with pytest.raises(OSError, match="Too many"):
            child.call(Message({"python": WHO}), LIMITS)
        monkeypatch.undo()
        assert list(home.glob("job-*")) == []
        for fd in (fd for ends in made for fd in ends):
            with pytest.raises(OSError, match="Bad file"):
                os.fstat(fd)


def test_an_interrupted_call_leaves_no_process(assert_dies: AssertDies, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"import os, time; open({str(pids)!r}, 'w').write(f'{{os.getppid()}} {{os.getpid()}}'); time.sleep(60)"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with WarmChild("scripted_child") as child:
        ask(child, WHO)
        before = signal.signal(signal.SIGUSR1, interrupt)
        killer = subprocess.Popen(
            [sys.executable, "-c", f"import os,time; time.sleep(1); os.kill({os.getpid()}, {signal.SIGUSR1:d})"]
        )
        try:
            with pytest.raises(KeyboardInterrupt):
                child.call(Message({"python": text}), LIMITS)
        finally:
            killer.wait()
            signal.signal(signal.SIGUSR1, before)
        for pid in pids.read_text().split():
            assert_dies(int(pid))


PARENT = """
import os, sys
sys.path.insert(0, {here!r})
from grader.sandbox import launch
real = launch.child_environment
def with_tests(module, home):
    environment = real(module, home)
    return environment | {{"PYTHONPATH": environment["PYTHONPATH"] + os.pathsep + {here!r}}}
launch.child_environment = with_tests
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild
text = '''
import os, time
grandchild = os.fork()
if grandchild == 0:
    time.sleep(600)
open({pids!r} + ".part", "w").write(f"{{os.getppid()}} {{os.getpid()}} {{grandchild}} {{os.path.dirname(os.getcwd())}}")
os.rename({pids!r} + ".part", {pids!r})
time.sleep(600)
'''
WarmChild("scripted_child").call(Message({{"python": text}}), Limits(cpu_seconds=600, wall_seconds=600))
"""


def test_everything_dies_with_a_parent_that_was_killed(assert_dies: AssertDies, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = PARENT.format(here=str(Path(__file__).parent), pids=str(pids))
    parent = subprocess.Popen([sys.executable, "-c", script])
    try:
        deadline = time.monotonic() + 30
        while not pids.exists():
            assert time.monotonic() < deadline
            assert parent.poll() is None
            time.sleep(0.05)
    finally:
        parent.kill()
        parent.wait()
    *processes, home = pids.read_text().split()
    for pid in processes:
        assert_dies(int(pid))
    assert not Path(home).exists()


def test_a_child_that_breaks_while_it_warms_up_is_a_fault_with_its_words() -> None:
    with WarmChild("broken_child") as child, pytest.raises(ChildFault, match="no such compiler"):
        child.call(Message({}), LIMITS)


def test_a_child_that_does_not_exist_is_a_fault_each_time() -> None:
    with WarmChild("no_such_child") as child:
        for _ in range(2):
            with pytest.raises(ChildFault, match="no_such_child"):
                child.call(Message({}), LIMITS)


def test_a_child_that_is_not_ready_in_time_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "START_SECONDS", 0.0)
    monkeypatch.setattr(launch, "CLOSE_SECONDS", 0.1)
    with WarmChild("scripted_child") as child, pytest.raises(ChildFault, match="not ready"):
        child.call(Message({}), LIMITS)


def test_the_parents_path_and_folder_do_not_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "marker"
    for name in ("numpy", "json", "scripted_child"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marker)!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    with WarmChild("scripted_child") as child:
        ask(child, WHO)
    assert not marker.exists()


def test_packages_that_came_through_pythonpath_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other = tmp_path / "ours", tmp_path / "other"
    (ours / "numba").mkdir(parents=True)
    other.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(other), str(ours), "relative", "", str(ours)]))
    roots = launch.child_environment("grader.recorder", tmp_path)["PYTHONPATH"].split(os.pathsep)
    assert roots.count(str(ours)) == 1
    assert not {str(other), "relative", ""} & set(roots)


def test_a_pth_file_beside_those_packages_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba_cuda").mkdir()
    (tmp_path / "redirect.pth").write_text("import sys; sys.redirected = True\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    with WarmChild("scripted_child") as child:
        assert ask(child, "import sys; answer = Message({'ok': sys.redirected})") == {"ok": True}


def test_only_the_runner_gets_the_devices_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "SECRET_TOKEN", "NUMBA_OPT"):
        monkeypatch.setenv(name, "1")
    recorder = launch.child_environment("grader.recorder", tmp_path)
    runner = launch.child_environment("grader.runner", tmp_path)
    assert set(runner) - set(recorder) >= {"CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES"}
    assert not {"SECRET_TOKEN", "NUMBA_OPT"} & set(runner)
    assert not {"CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"} & set(recorder)


@pytest.mark.parametrize("module", ["grader.recorder", "grader.runner"])
def test_a_child_started_by_hand_says_what_it_is(module: str) -> None:
    ended = subprocess.run([sys.executable, "-m", module], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.startswith("This is a part of the grader")


def test_the_trusted_side_does_not_import_numba() -> None:
    check = "import sys, grader.sandbox.record; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


# ------------------------------------------------------------------ jobs that stay


def kept(child: WarmChild, text: str, keep: str = "a", limits: Limits = LIMITS) -> Reply | Death:
    return child.call(Message({"python": text}), limits, keep=keep)


def header(answer: Reply | Death) -> dict:
    assert isinstance(answer, Reply), answer
    return answer.message.header


def test_a_job_that_stays_answers_what_is_kept_alike_and_ends_before_any_other(assert_dies: AssertDies) -> None:
    with WarmChild("scripted_child") as child:
        first, second = (kept(child, WHO) for _ in range(2))
        assert header(first) == header(second)
        assert isinstance(first, Reply)
        assert isinstance(second, Reply)
        assert (first.has_stayed, second.has_stayed) == (False, True)
        job = header(first)["job"]
        other = header(kept(child, WHO, keep="b"))["job"]
        assert_dies(job)
        tighter = header(kept(child, WHO, "b", Limits(cpu_seconds=5, wall_seconds=30)))["job"]
        assert_dies(other)
        alone = ask(child, WHO)["job"]
        assert_dies(tighter)
        assert len({job, other, tighter, alone, header(kept(child, WHO))["job"]}) == 5
        last = header(kept(child, WHO))["job"]
    assert_dies(last)


def test_each_request_of_a_job_that_stays_has_the_cpu_time_of_a_job() -> None:
    spin = "import time\nend = time.process_time() + 1.6\nwhile time.process_time() < end: pass\n" + WHO
    limits = Limits(cpu_seconds=2, wall_seconds=30)
    with WarmChild("scripted_child") as child:
        assert len({header(kept(child, spin, limits=limits))["job"] for _ in range(3)}) == 1
        ended = kept(child, "while True: pass", limits=limits)
        assert isinstance(ended, Death)
        assert ended.kind == "time-out"
        assert 2 <= ended.cpu_seconds < 4  # of the job that was asked alone


ENDS = {
    "signal": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "exit": "import os\nos._exit(3)",
    "memory": "raise MemoryError",
}


@pytest.mark.parametrize("kind", ENDS)
def test_what_ends_a_job_that_has_stayed_counts_if_it_ends_a_fresh_one(kind: str) -> None:
    with WarmChild("scripted_child") as child:
        job = header(kept(child, WHO))["job"]
        ended = kept(child, ENDS[kind])
        assert isinstance(ended, Death)
        assert ended.kind == kind
        # Only where it had stayed does the same work end it: a fresh job has the answer.
        again = header(kept(child, WHO))["job"]
        assert again != job
        worse_with_age = f"import os\nif os.getpid() == {again}: os._exit(3)\n{WHO}"
        assert header(kept(child, worse_with_age))["job"] not in (job, again)


def test_a_job_that_has_ended_while_nobody_asked_is_replaced() -> None:
    with WarmChild("scripted_child") as child:
        job = header(kept(child, WHO))["job"]
        os.kill(job, signal.SIGKILL)
        wait_until(lambda: not alive({job}))
        assert header(kept(child, WHO))["job"] != job


def test_a_child_that_has_ended_while_nobody_asked_is_replaced_and_its_job_ended(assert_dies: AssertDies) -> None:
    with WarmChild("scripted_child") as child:
        first = header(kept(child, WHO))
        os.kill(first["zygote"], signal.SIGKILL)
        assert child.zygote is not None
        child.zygote.process.wait(10)
        second = header(kept(child, WHO))
        assert second["zygote"] != first["zygote"]
        assert_dies(first["job"])


def test_requests_and_answers_of_a_job_that_stays_may_be_large() -> None:
    with WarmChild("scripted_child") as child:
        for size in (1, 3_000_000, 5, 2_000_000):
            array = np.arange(size)
            text = "answer = Message({}, {'y': message.arrays['x'] * 2})"
            answer = child.call(Message({"python": text}, {"x": array}), LIMITS, keep="a")
            assert isinstance(answer, Reply)
            assert (answer.message.arrays["y"] == 2 * array).all()


def test_prints_belong_to_the_request_that_printed_them() -> None:
    with WarmChild("scripted_child") as child:
        for text in ("one", "two"):
            answer = kept(child, f"print({text!r})")
            assert isinstance(answer, Reply)
            assert answer.printed == f"{text}\n"
