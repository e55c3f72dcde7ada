"""``grader simulate``: unchanged scripts, a page of 80 columns, exit codes, JSON."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.gpu_models import T4
from grader.records import Finding, Place, Severity
from grader.reports.simulation import simulation_page
from grader.reports.terminal import page
from grader.traces import LaunchGroup, LaunchTrace

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-c", "from grader.cli import main; main()"]

MISSING_BARRIER = """\
import sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def block_sum(values, sums):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = values[cuda.grid(1)]
    stride = 64
    while stride > 0:
        if t < stride:
            tile[t] += tile[t + stride]
        stride //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]

if __name__ == "__main__":
    values = cuda.to_device(np.ones(1024, np.float32))
    sums = cuda.device_array(8, np.float32)
    for _ in range(3):
        block_sum[8, 128](values, sums)
    print("arguments", sys.argv[1:])
"""

STRIDED = """\
import numpy as np
from numba import cuda

@cuda.jit
def every_32nd(source, target):
    i = cuda.grid(1)
    if i < target.size:
        target[i] = source[i * 32]

source = cuda.to_device(np.zeros(128 * 1024, np.float32))
target = cuda.device_array(4096, np.float32)
every_32nd[32, 128](source, target)
"""

RIGHT = """\
import numpy as np
from numba import cuda

@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2

values = cuda.to_device(np.arange(8, dtype=np.int32))
double[1, 32](values)
print(values.copy_to_host())
"""


def simulate(
    tmp_path: Path, script: str, *arguments: str, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(script)
    return subprocess.run(
        [*COMMAND, "simulate", *before, "script.py", *arguments],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_missing_barrier_is_told_with_line_and_remedy_in_80_columns(tmp_path: Path) -> None:
    done = simulate(tmp_path, MISSING_BARRIER, "a", "--traceback", "-x")
    assert done.returncode == 1
    assert "arguments ['a', '--traceback', '-x']" in done.stdout
    told = done.stdout.partition("\n\n")[2]
    assert "script.py on a simulated Tesla T4: 3 launches of 1 kernel; 1 error" in told
    assert "block_sum: launched at script.py:22, 3 times" in told
    assert "8 blocks of 128 threads, 512 bytes of shared memory each" in told
    assert "error: Race on tile" in told
    assert "where    script.py:13  tile[t] += tile[t + stride]" in told
    assert "try      Put cuda.syncthreads() between the two accesses" in told
    assert "shared memory read      2,040 elements" in told
    assert max(map(len, told.splitlines())) <= 80
    assert done.stderr == ""


def test_a_kernel_that_numba_rejects_is_told_with_its_line_and_remedy(tmp_path: Path) -> None:
    done = simulate(tmp_path, RIGHT.replace("cuda.grid(1)", "cuda.gird(1)"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "AttributeError: module 'numba.cuda' has no attribute 'gird'"
    assert "1 launch of 1 kernel; none ended well, 1 error." in " ".join(done.stdout.split())
    assert "double: launched at script.py:11\n    double[1, 32](values)\n  1 block of 32 threads" in done.stdout
    assert "Numba cannot compile double." in done.stdout
    assert "error: module 'numba.cuda' has no attribute 'gird'" in done.stdout
    assert "where    script.py:6  i = cuda.gird(1)" in done.stdout
    assert "try      Did you mean cuda.grid?" in done.stdout


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("cuda.grid(1)", "cuda.gird(1)"),  # Numba rejects it
        ("[1, 32]", "[1, 2048]"),  # a GPU refuses it
        ("@cuda.jit", "@cuda.jit(link=['somewhere.cu'])"),  # the simulator does not know it
    ],
)
def test_the_traceback_of_a_launch_that_the_page_explains_ends_in_the_script(
    tmp_path: Path, right: str, wrong: str
) -> None:
    done = simulate(tmp_path, RIGHT.replace(right, wrong))
    frames = [line.strip() for line in done.stderr.splitlines() if line.startswith("  File")]
    assert frames == ['File "script.py", line 11, in <module>']


@pytest.mark.parametrize("launch", ["", "try: double[1, 2048](values)\nexcept Exception: pass\n"])
def test_the_traceback_of_any_other_mistake_is_whole(tmp_path: Path, launch: str) -> None:
    done = simulate(tmp_path, RIGHT + launch + "cuda.to_device(np.zeros(8), to=np.zeros(8))\n")
    frames = [line.strip() for line in done.stderr.splitlines() if line.startswith("  File")]
    assert frames[0] == f'File "script.py", line {13 + launch.count(chr(10))}, in <module>'
    assert len(frames) > 1


def test_a_script_that_fails_on_a_rejected_kernel_keeps_its_exit_code(tmp_path: Path) -> None:
    script = RIGHT.replace("cuda.grid(1)", "cuda.gird(1)").replace(
        "double[1, 32](values)",
        "try:\n    double[1, 32](values)\nexcept AttributeError:\n    raise SystemExit(7)",
    )
    done = simulate(tmp_path, script)
    assert done.returncode == 7
    assert "try      Did you mean cuda.grid?" in done.stdout


def test_a_shape_that_is_no_constant_is_told_with_the_name_of_the_script(tmp_path: Path) -> None:
    script = MISSING_BARRIER.replace("array(128, float32)", "array((sums.size, sums.size + 1), float32)")
    done = simulate(tmp_path, script)
    assert len(done.stderr.splitlines()) < 10, "Numba's message has forty lines, and the page says it in one"
    told = " ".join(done.stdout.split())
    assert "error: Numba has no shared.array(" in told
    assert "its shape must be a constant, its dtype a type." in told
    assert "where script.py:7 tile = cuda.shared.array((sums.size, sums.size + 1), float32)" in told
    assert "of numbers that stand in script.py, then a dtype" in told
    assert "kernels.py" not in told


def test_a_kernel_that_numba_rejects_where_it_is_declared_is_told_and_counts_as_no_launch(tmp_path: Path) -> None:
    script = RIGHT.replace("@cuda.jit", '@cuda.jit("void(int32[:])")').replace("cuda.grid(1)", "cuda.gird(1)")
    done = simulate(tmp_path, script)
    assert done.returncode == 1
    assert "script.py on a simulated Tesla T4: no kernel was launched; 1 error." in done.stdout
    assert "double: compiled at script.py:4" in done.stdout
    assert "0 blocks" not in done.stdout
    assert "where    script.py:6  i = cuda.gird(1)" in done.stdout


def test_a_mistake_in_a_function_that_a_kernel_calls_is_told_at_its_line(tmp_path: Path) -> None:
    helper = "@cuda.jit(device=True)\ndef index():\n    return cuda.gird(1)\n\n@cuda.jit\ndef double"
    script = RIGHT.replace("@cuda.jit\ndef double", helper).replace("i = cuda.grid(1)", "i = index()")
    done = simulate(tmp_path, script)
    assert "double: launched at script.py:15" in done.stdout
    assert "where    script.py:6  return cuda.gird(1)" in done.stdout
    assert done.stdout.count("error: module") == 1


def test_strided_access_is_told_with_its_sectors(tmp_path: Path) -> None:
    done = simulate(tmp_path, STRIDED)
    assert done.returncode == 0
    assert "advice: A warp's read here moves 32 sectors of 32 bytes, where 4 would hold" in " ".join(
        done.stdout.split()
    )
    assert "where    script.py:8  target[i] = source[i * 32]" in done.stdout
    cost = "global memory read 4,096 elements, 128 requests, 4,096 sectors of 32 bytes"
    assert cost in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    listing = done.stdout.partition("every_32nd (script.py): what its lines cost, 147 kB moved\n")[2].splitlines()
    assert listing[:6] == [
        "  line bytes sectors",
        "     4                @cuda.jit",
        "     5                def every_32nd(source, target):",
        "     6                    i = cuda.grid(1)",
        "     7                    if i < target.size:",
        "     8  100%  32r+4w          target[i] = source[i * 32]",
    ]


@pytest.mark.parametrize("guide", ["simulator.md", "kernels.md"])
def test_the_listing_in_a_guide_is_what_its_script_shows(tmp_path: Path, guide: str) -> None:
    text = (ROOT / "docs" / guide).read_text()
    script, listing = re.findall(
        r"```python\n([^`]*)```[^`]*(?:`[^`\n]+`[^`]*)*```\n([^`]*what its lines cost[^`]*)```", text
    )[0]
    shutil.copy(ROOT / "solutions" / "03" / "wrong" / "no_tiles.py", tmp_path / "kernels.py")
    done = simulate(tmp_path, script)
    shown = done.stdout.replace("script.py", "transpose.py")
    assert listing in shown


def test_a_right_script_prints_its_results_and_ends_well(tmp_path: Path) -> None:
    done = simulate(tmp_path, RIGHT)
    assert done.returncode == 0
    assert done.stdout.startswith("[ 0  2  4  6  8 10 12 14]\n")
    assert "error" not in done.stdout


@pytest.mark.parametrize("where", ["outside", "in the script"])
def test_numbas_own_simulator_is_not_taken_though_it_is_asked_for(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = RIGHT
    if where == "outside":
        monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    else:
        script = "import os\nos.environ['NUMBA_ENABLE_CUDASIM'] = '1'\n" + RIGHT
    done = simulate(tmp_path, script)
    assert done.returncode == 0, done.stderr
    assert "global memory written   8 elements" in done.stdout


def test_json_is_all_that_is_on_standard_output(tmp_path: Path) -> None:
    done = simulate(tmp_path, RIGHT, before=("--json", "--gpu", "h100"))
    assert done.returncode == 0
    assert "[ 0  2  4" in done.stderr
    document = json.loads(done.stdout)
    (launch,) = document["launches"]
    assert document["format"] == 1
    assert (launch["kernel"], launch["times"], launch["grid"], launch["block"]) == ("double", 1, [1, 1, 1], [32, 1, 1])
    assert launch["counters"]["global_loads"] == 8
    assert launch["defined"]["line"] == 4
    (line,) = [line for line in launch["lines"] if line["place"]["line"] == 8]
    assert line["counters"]["global_load_sectors"] == 1
    (function,) = document["functions"]
    assert (function["file"], function["first_line"], function["last_line"]) == ("script.py", 4, 8)
    assert function["lines"][0] == "@cuda.jit"


def test_a_script_that_raises_shows_its_own_traceback_and_what_it_launched(tmp_path: Path) -> None:
    done = simulate(tmp_path, RIGHT + "raise ValueError('as scripts do')\n")
    assert done.returncode == 1
    first = next(line for line in done.stderr.splitlines() if line.startswith("  File"))
    assert 'script.py", line 13' in first
    assert done.stderr.rstrip().endswith("ValueError: as scripts do")
    assert "1 launch of 1 kernel" in done.stdout


@pytest.mark.parametrize(
    ("ending", "code"),
    [("raise SystemExit(7)", 7), ("import sys; sys.exit()", 0), ("raise SystemExit('no')", 1), ("def (", 1)],
)
def test_the_exit_code_is_the_scripts(tmp_path: Path, ending: str, code: int) -> None:
    assert simulate(tmp_path, f"print('begins')\n{ending}\n").returncode == code


def test_a_refused_launch_is_told_and_raised(tmp_path: Path) -> None:
    done = simulate(tmp_path, RIGHT.replace("double[1, 32]", "double[32, 4096]"))
    assert done.returncode == 1
    assert "CudaAPIError" in done.stderr
    assert "A GPU refuses this launch" in done.stdout
    assert "block and grid swapped?" in " ".join(done.stdout.split())


def test_a_kernel_that_never_ends_stops_at_the_limit_with_its_line(tmp_path: Path) -> None:
    endless = RIGHT.replace("values[i] *= 2", "while values[i] >= 0:\n            values[i] += 1")
    done = simulate(tmp_path, endless, before=("--limit", "1"))
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "none ended well, 1 warning" in told
    assert "double did not end within 1 s of CPU time. warning: Thread 0 of block 0 was still in here" in told
    assert "where script.py:8 while values[i] >= 0: try Does the loop's condition" in told


def test_an_interrupted_launch_shows_no_frames_of_ours_and_where_it_was(tmp_path: Path) -> None:
    endless = RIGHT.replace("values[i] *= 2", "while values[i] >= 0:\n            values[i] += 1")
    alarm = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n"
    done = simulate(
        tmp_path, alarm + endless.replace("double[1, 32]", "signal.setitimer(signal.ITIMER_REAL, 4)\ndouble[1, 32]")
    )
    assert done.returncode == 130
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert len(frames) == 1
    assert "double was interrupted. Thread 0 of block 0 was at script.py:10:" in done.stdout


def test_our_own_option_behind_the_script_is_the_scripts_and_is_remarked(tmp_path: Path) -> None:
    done = simulate(tmp_path, "import sys; print(sys.argv[1:])", "--gpu=a100", "--traceback")
    assert done.stdout.startswith("['--gpu=a100', '--traceback']")
    assert done.stderr == "grader: --gpu=a100 went to the script; options of grader come before script.py\n"


def test_a_script_without_a_launch_says_so(tmp_path: Path) -> None:
    done = simulate(tmp_path, "print('nothing')\n")
    assert done.returncode == 0
    assert "no kernel was launched" in done.stdout


def test_a_script_that_ends_its_process_is_named(tmp_path: Path) -> None:
    done = simulate(tmp_path, "import os\nos._exit(3)\n")
    assert done.returncode == 3
    assert "ended its process itself" in done.stderr


def test_modules_beside_the_script_are_found_and_guards_hold(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(RIGHT.replace("values = cuda", "def run():\n  pass\nvalues = cuda"))
    done = simulate(tmp_path, "import beside\nif __name__ == '__main__':\n    print(__file__)\n")
    assert done.returncode == 0
    assert "script.py\n" in done.stdout
    assert "launched at beside.py:" in done.stdout


def test_what_cannot_be_run_is_one_sentence(tmp_path: Path) -> None:
    for arguments, words in (
        (["nothing.py"], "found no file nothing.py"),
        (["--gpu", "x", "script.py"], "GPU model"),
        (["--limit", "0", "script.py"], "more than 0 seconds"),
        (["-m", "script.py"], "found the option -m"),
        (["notebook.ipynb"], "simulator.install()"),
    ):
        (tmp_path / "script.py").write_text("")
        done = subprocess.run(
            [*COMMAND, "simulate", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_an_interrupted_script_still_tells_its_launches(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(RIGHT + "import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    child = subprocess.Popen(
        [*COMMAND, "simulate", "script.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    began = time.monotonic()
    while "ready" not in child.stdout.readline():
        assert time.monotonic() - began < 60
    os.killpg(child.pid, signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "1 launch of 1 kernel" in out


def _group(times: int = 1, **changes: object) -> LaunchGroup:
    place = Place(3, "k[1, 1](x)", "", "/home/somebody/a.py")
    launch = LaunchTrace("k", place, (1, 1, 1), (1, 1, 1), **changes)  # type: ignore[arg-type]
    return LaunchGroup(launch, times)


def test_what_a_terminal_would_obey_is_shown_not_sent() -> None:
    finding = Finding("kind", Severity.ERROR, Place(1, "\x1b[2J", "", "a\x1b.py"), "what \x1b[31m happened")
    text = page(simulation_page([_group(findings=(finding,))], "\x1b]0;a\x07.py", T4))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_errors_come_first_and_repeated_ones_are_short() -> None:
    advice = Finding("a", Severity.ADVICE, Place(1), "a piece of advice")
    error = Finding("b", Severity.ERROR, Place(2), "a mistake")
    other = _group(findings=(error,), problem="it did not end")
    text = page(simulation_page([_group(findings=(advice, error)), other], "a.py", T4))
    assert text.index("error: a mistake") < text.index("advice: a piece")
    assert "error: as above, b at kernels.py:2" in text


def test_what_several_launches_do_at_a_line_is_told_once_and_then_named() -> None:
    def found(thread: int) -> Finding:
        what = f"Read of a[{thread}] outside its shape, by thread {thread}, which is told in more than a single line."
        return Finding("out-of-bounds", Severity.ERROR, Place(2, file="s.py"), what, "Guard it.", "a", count=thread)

    groups = [
        _group(findings=(found(n),), dynamic_shared_bytes=n, counters={"threads": n}, problem=f"{n}") for n in (7, 8, 9)
    ]
    text = page(simulation_page(groups, "a.py", T4))
    assert text.count("Guard it.") == 1
    assert "a single line. (7 times)" in " ".join(text.split())
    assert text.count("  error: as above, out-of-bounds of a at s.py:2 (8 times)\n") == 1


def test_many_kinds_of_launches_are_cut_but_none_with_an_error() -> None:
    error = Finding("b", Severity.ERROR, Place(2), "a mistake")
    groups = [
        LaunchGroup(LaunchTrace(f"kernel{n}", Place(n + 1), (1, 1, 1), (1, 1, 1), findings=(error,) * (n == 99)))
        for n in range(100)
    ]
    text = page(simulation_page(groups, "a.py", T4))
    assert "kernel99" in text
    assert "kernel50" not in text
    assert "and 69 more kinds of launches" in text


def test_launches_that_only_count_differently_are_told_once() -> None:
    groups = [_group(counters={"global_loads": n}) for n in range(1, 4)]
    text = page(simulation_page(groups, "a.py", T4))
    assert text.count("launched at") == 1
    assert "3 times" in text
    assert text.count("Counted in the first of these launches; others differ") == 1
    assert "others differ" not in page(simulation_page([*groups[:1] * 3], "a.py", T4))
