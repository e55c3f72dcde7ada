"""The files in submissions/: each is a kernels.py with one trick, and its honest twin.

A file's docstring says what it tries. ``BEFORE`` stands before what follows it, in the attack and in its twin, unless
the file has a ``double_kernel`` of its own: so a file is its trick alone, between ``# trick`` and ``# end``. Lines
between ``# honest`` and ``# end`` are the twin's; those outside are both's. ``# uses: NAME`` is the place of one of
``SHARED``, which several tricks need.

``# deserves: PARTS`` names the parts that the kernels would earn without the trick, which no trick may add to; without
it they deserve nothing. ``# seen as: KINDS`` names the kind of the first failure, or those that it may be of: an attack
that fails for another reason has not tried what it says. Who deserves everything may go without.

What an attack brings besides kernels.py stands in its file as comments: ``# file: NAME``, then its lines, each after
``#| ``; ``# link: NAME -> TARGET`` is a symbolic link and ``# hard link: NAME -> TARGET`` a hard one, which may take
the place of kernels.py. The twin has none of that. ``@ROOT@`` stands for the course, ``@MARK@`` for the name of what
is left behind, and ``@DONE@`` for what an attack prints when it could do what it must not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

SUBMISSIONS = Path(__file__).parent / "submissions"
BEFORE = """\
from numba import cuda

@cuda.jit
def double_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]

@cuda.jit
def total_kernel(x, out):
    if cuda.threadIdx.x == 0:
        whole = 0.0
        for k in range(x.size):
            whole += x[k]
        out[0] = whole

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
"""
# By the name in "# uses": what several tricks need.
SHARED = {
    "frames": """\
import os
json = __import__("json")
struct = __import__("struct")

def send(data):
    \"""Into whatever the reply's pipe is: it is none of the first three.\"""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            pass

def frame(header, arrays=(), body=b"", envelope_bytes=None, body_bytes=None):
    \"""An answer as the grader would frame it, or one that announces other lengths than it has.\"""
    envelope = json.dumps({"header": header, "arrays": list(arrays)}).encode()
    lengths = (len(envelope), len(body))
    announced = [real if told is None else told for real, told in zip(lengths, (envelope_bytes, body_bytes))]
    return b"warpgrd\\x01" + struct.pack("<IQ", *announced) + envelope + body
""",
    "forged plans": """\
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def forged(descriptor, message):
    \"""What the recorder answers, with each plan as the trick's change has left it.\"""
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
""",
}
PARTS = frozenset(("correctness", "technique"))
_FILE = re.compile(r"^# file: (.+)\n((?:#\|.*\n)*)", re.MULTILINE)
_LINK = re.compile(r"^# (link|hard link): (.+) -> (.+)$", re.MULTILINE)
_DESERVES = re.compile(r"^# deserves: (.+)$", re.MULTILINE)
_SEEN_AS = re.compile(r"^# seen as: (.+)$", re.MULTILINE)
_USES = re.compile(r"^# uses: (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Attack:
    """One trick. ``deserves``: the parts that it may earn. ``seen_as``: the kinds that its first failure may be of.

    ``files`` by name; ``links``: kind, name, target of each.
    """

    name: str
    tries: str
    deserves: frozenset[str]
    seen_as: frozenset[str]
    text: str
    twin: str
    files: Mapping[str, str] = field(default_factory=dict)
    links: tuple[tuple[str, str, str], ...] = ()

    @property
    def family(self) -> str:
        """The folder of its file."""
        return self.name.partition("/")[0]


def attacks() -> tuple[Attack, ...]:
    """All files, by family and name."""
    return tuple(read(file) for file in sorted(SUBMISSIONS.glob("*/*.py")))


def read(file: Path) -> Attack:
    """One file. Raises ValueError where it is not of the form."""
    text = file.read_text(encoding="utf-8")
    parsed = ast.parse(text)
    tries = ast.get_docstring(parsed)
    if tries is None:
        raise ValueError(f"{file}: expected a docstring that says what it tries")
    if "def double_kernel(" not in text:
        lines = text.splitlines(keepends=True)
        until = parsed.body[0].end_lineno
        text = "".join([*lines[:until], BEFORE, *lines[until:]])
    trick, twin = _halves(_USES.sub(lambda use: SHARED[use[1]], text), file)
    deserves, seen_as = (
        frozenset(found[1].replace(",", " ").split()) if (found := mark.search(text)) else frozenset()
        for mark in (_DESERVES, _SEEN_AS)
    )
    if not deserves <= PARTS or not (seen_as or deserves == PARTS):
        raise ValueError(f"{file}: expected '# deserves: PARTS' of {', '.join(sorted(PARTS))}, or '# seen as: KIND'")
    files = {name: "".join(_lines(rows)) for name, rows in _FILE.findall(text)}
    links = tuple(_LINK.findall(text))
    if twin == trick and not files and not links:
        raise ValueError(f"{file}: expected a trick between '# trick' and '# end', files or links")
    name = f"{file.parent.name}/{file.stem}"
    return Attack(name, " ".join(tries.split()), deserves, seen_as, trick, twin, files, links)


def _lines(rows: str) -> Iterator[str]:
    """The lines of a file that stands in comments."""
    for row in rows.splitlines(keepends=True):
        yield row.removeprefix("#|").removeprefix(" ")


def _halves(text: str, file: Path) -> tuple[str, str]:
    trick, honest, inside = [], [], ""
    for line in text.splitlines(keepends=True):
        mark = line.strip()
        if mark in ("# trick", "# honest", "# end"):
            if mark not in {"": ("# trick",), "# trick": ("# honest", "# end"), "# honest": ("# end",)}[inside]:
                raise ValueError(f"{file}: {mark!r} stands where it has no place")
            inside = "" if mark == "# end" else mark
            continue
        if inside != "# honest":
            trick.append(line)
        if inside != "# trick":
            honest.append(line)
    if inside:
        raise ValueError(f"{file}: {inside!r} has no end")
    return "".join(trick), "".join(honest)
