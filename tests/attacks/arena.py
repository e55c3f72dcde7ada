"""Where attacks are judged: a small course with secrets beside it, and an eye on all that could be harmed."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import processes

from grader.children import Children
from grader.judging import judge_submission
from grader.records import Verdict
from grader.reports.json import to_json
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

# What an attack leaves behind has this in its name.
MARK = "left_behind"
# What an attack prints when something went well that must not.
DONE = "the attack has been done"
PLACES = ("/tmp", "/dev/shm", "/var/tmp", "/run/lock", "/run")

COURSE = """\
course: {id: arena, title: Arena}
assignments:
  "01":
    title: Doubling and summing
    parts: {correctness: 60, technique: 40}
    limits: {check: 2 s, memory: 1 GiB, timeouts: 2 s}
"""
RACED_COURSE = COURSE.replace(
    "parts: {correctness: 60, technique: 40}",
    "parts: {correctness: 40, technique: 30, speed: 30}\n    speed: {min_speedup: 2, full_at: 0.5}",
)
RACE = '''

@pytest.mark.part("speed")
def test_is_fast(submission):
    """On a GPU, it is faster than the CPU."""
    submission.race("double", n=1 << 22)
'''
PROBLEM = """\
import numpy as np

from grader.problem import Output, Problem, Work


class Double(Problem):
    entry = "double"

    def make_inputs(self, rng, n):
        return {"x": rng.normal(size=n).astype(np.float32), "out": Output((n,), np.float32)}

    def expected(self, inputs):
        return {"out": 2.0 * inputs["x"].astype(np.float64)}

    def tolerance(self, inputs, expected):
        return {"out": np.abs(expected["out"]) * 1e-6}

    def baseline(self, inputs):
        return {"out": 2 * inputs["x"]}

    def work(self, inputs):
        return Work(bytes=8 * inputs["x"].size, operations=inputs["x"].size)


class Total(Problem):
    entry = "total"

    def make_inputs(self, rng, n):
        # Of one sign: what is left out of a sum is never next to nothing.
        return {"x": (1 + rng.random(size=n)).astype(np.float32), "out": Output((1,), np.float32)}

    def expected(self, inputs):
        return {"out": inputs["x"].astype(np.float64).sum(keepdims=True)}

    def tolerance(self, inputs, expected):
        return {"out": np.full(1, 1e-5 * float(np.abs(inputs["x"]).sum()))}

    def baseline(self, inputs):
        return {"out": inputs["x"].sum(keepdims=True)}

    def work(self, inputs):
        return Work(bytes=4 * inputs["x"].size, operations=inputs["x"].size)
"""
HIDDEN = '''\
import pytest

# {secret}

@pytest.mark.part("correctness")
def test_doubles_and_totals(submission):
    """Each element comes out doubled, and all are summed, whatever the length, several calls in one process."""
    submission.check_each(
        *({{"entry": "double", "n": n}} for n in (1, 33, 1025, 1025)),
        *({{"entry": "total", "n": n}} for n in (1, 300, 300)),
    )


@pytest.mark.part("technique")
def test_reads_once(submission):
    """Each element is read from global memory once, and each output written once."""
    run = submission.simulate("double", n=640)
    run.require("global_loads", at_most=640, advice="read x[i] once")
    run.require("global_stores", at_most=640, advice="write out[i] once")
    run.require("atomics_of_x", at_most=0, advice="read x[i] as it is: nobody writes there")
'''
HONEST = '''\
"""Doubles, and sums in one block."""
from numba import cuda, float32

@cuda.jit
def double_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]

@cuda.jit
def total_kernel(x, out):
    part = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    mine = float32(0)
    for k in range(i, x.size, 64):
        mine += x[k]
    part[i] = mine
    cuda.syncthreads()
    if i == 0:
        whole = float32(0)
        for k in range(64):
            whole += part[k]
        out[0] = whole

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 64](x, out)
'''


class _Overheard(WarmChild):
    """A child of which all is heard that its jobs print: what comes of a hidden check, a verdict does not show."""

    def __init__(self, module: str, heard: list[str]) -> None:
        super().__init__(module)
        self._heard = heard

    def call(self, request: Message, limits: Limits, *, keep: str = "") -> Reply | Death:
        answer = super().call(request, limits, keep=keep)
        self._heard.append(answer.printed if isinstance(answer, Death) else f"{answer.printed}{answer.message.header}")
        return answer


@dataclass
class Arena:
    """A course in ``root``, judged with ``children``. ``secret`` is in its hidden checks, gradebook and neighbours.

    ``heard`` is what came out of both children for the last submission: what they printed and answered. ``raced``:
    there is a part for speed, which needs a GPU.
    """

    root: Path
    children: Children
    raced: bool = False
    secret: str = field(default_factory=lambda: f"secret-{secrets.token_hex(8)}")
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.children.close()  # of somebody who asked for the GPU
        self.children.recorder = _Overheard("grader.recorder", self.heard)
        self.children.runner = _Overheard("grader.runner", self.heard)
        files = {
            "course.yml": RACED_COURSE if self.raced else COURSE,
            "solutions/01/problem.py": PROBLEM,
            "solutions/01/kernels.py": f"# {self.secret}\n{HONEST}",
            "solutions/01/test_hidden.py": HIDDEN.format(secret=self.secret) + (RACE if self.raced else ""),
            "gradebook.db": self.secret,
            "results/01.json": json.dumps({"neighbour": self.secret}),
            "submitted/neighbour/01/kernels.py": f"# {self.secret}\n{HONEST}",
        }
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def judge(self, folder: Path) -> Verdict:
        """The verdict on a submission."""
        self.heard.clear()
        return judge_submission(self.root / "solutions/01", folder, device="auto" if self.raced else "simulated")

    def submission(
        self, text: str, files: Mapping[str, str] | None = None, links: Iterable[tuple[str, str, str]] = ()
    ) -> Path:
        """A folder beside the neighbour's, with this kernels.py, in which ROOT, MARK and DONE are filled in.

        ``files`` besides, by name; ``links``: "link" or "hard link", name and target of each.
        """
        folder = self.root / "submitted/attacker/01"
        shutil.rmtree(folder, ignore_errors=True)
        for name, contents in {"kernels.py": text, **(files or {})}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(self.filled(contents))
        for kind, name, target in links:
            (folder / name).unlink(missing_ok=True)
            (os.symlink if kind == "link" else os.link)(self.filled(target), folder / name)
        return folder

    def filled(self, text: str) -> str:
        """A file's text with ROOT, MARK and DONE filled in."""
        return text.replace("@ROOT@", str(self.root)).replace("@MARK@", MARK).replace("@DONE@", DONE)

    def state(self) -> dict[str, str]:
        """Of each file in the course but the attacker's, its contents' hash, or what it is."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if not name.startswith("submitted/attacker"):
                found[name] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        return found

    def left_behind(self) -> list[str]:
        """Files that an attack has made in places that outlive it."""
        return [str(path) for place in PLACES for path in Path(place).glob(f"*{MARK}*")]

    def processes(self) -> set[int]:
        """All processes of the recorder, wherever they have gone: whatever forks keeps its parent's command line."""
        zygote = self.children.recorder.zygote
        return set() if zygote is None else processes.with_command(str(zygote.home))


def told(verdict: Verdict) -> str:
    """All that a verdict says, as it is stored."""
    return to_json((verdict,))


def earned(verdict: Verdict) -> dict[str, float]:
    """Points by part, where there are any."""
    return {part.part: part.earned for part in verdict.parts if part.earned}
