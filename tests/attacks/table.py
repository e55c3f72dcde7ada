"""Writes the table of docs/security.md: ``python tests/attacks/table.py``.

Each attack is judged at the strongest level that this machine has.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from attacks.arena import Arena
from attacks.attack_files import Attack, attacks

from grader.judging import warm_children
from grader.records import Verdict

PAGE = Path(__file__).parents[2] / "docs/security.md"
BEGIN, END = "<!-- attacks -->", "<!-- end -->"
HEAD = ("| attack | what it tries | points, of 100 | what was seen |", "| --- | --- | --- | --- |")


def points(verdict: Verdict) -> str:
    """All points, without a fraction."""
    return f"{sum(part.earned for part in verdict.parts):g}"


def seen(verdict: Verdict) -> str:
    """Why the first check failed, or that the kernels are right."""
    failures = [check.failure for check in verdict.checks if check.failure is not None]
    if not failures:
        return "nothing: its kernels are right, and the trick has no effect"
    what = " ".join(failures[0].what.split())
    return what.replace("|", "\\|").replace("<", "&lt;")  # some of it is the attack's own text


def row(attack: Attack, verdict: Verdict) -> str:
    """One row of the table."""
    return f"| `{attack.name}` | {attack.tries} | {points(verdict)} | {seen(verdict)} |"


def rows_in(page: str) -> list[list[str]]:
    """The cells of the table that stands in a page. Raises ValueError where there is none."""
    _, found, rest = page.partition(BEGIN)
    table, closed, _ = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"expected a table between {BEGIN} and {END}")
    lines = [line.strip("| ") for line in table.strip().splitlines()[len(HEAD) :]]
    return [re.split(r" (?<!\\\\)\| ", line) for line in lines]


def main() -> None:
    """Judge all of them."""
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder), warm_children())
        rows = []
        for attack in attacks():
            rows.append(row(attack, arena.judge(arena.submission(attack.text, attack.files, attack.links))))
            print(rows[-1], flush=True)
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *HEAD, *rows, f"{END}{after}"]), "utf-8")


if __name__ == "__main__":
    main()
