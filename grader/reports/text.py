"""Text that is safe to show: control characters made visible, failures as short blocks.

Pure; trusted process. In: records, and text that comes from a submission (lines of kernels.py, printed text,
names of folders). Out: lines in which nothing is left that a terminal obeys. Nothing here interprets markup.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from grader.records import CheckResult, Failure, Finding, KernelPrints, Severity
from grader.reports.race import race_text

LABEL_WIDTH = 9
# A student's text in a block: enough to recognise it, too little to flood a screen.
MAX_TEXT = 2000
MAX_FINDINGS = 3
# Of what a student's code printed. Of host code what was printed last says most; threads come in their order.
PRINTED_LINES = 8
PRINTED_CHARACTERS = 800
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: str, limit: int = MAX_TEXT) -> str:
    r"""``text`` without a character that a terminal would obey: each becomes its escape, say ``\x1b``.

    Newlines stay, tabs become spaces. Escaped are control characters, text direction marks and other
    invisible ones, lone surrogates, private use: Unicode categories Cc, Cf, Cs, Co, Cn, Zl, Zp.
    """
    shown = []
    for character in text[:limit].replace("\r\n", "\n").replace("\t", "    "):
        if character != "\n" and unicodedata.category(character) in _UNSAFE:
            shown.append(character.encode("unicode_escape", "surrogatepass").decode("ascii"))
        else:
            shown.append(character)
    return "".join(shown) + ("…" if len(text) > limit else "")


def encodable(text: str) -> str:
    r"""``text`` with each lone surrogate as its escape, say ``\udcff`` for a name's byte 0xff (PEP 383)."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def one_line(text: str, limit: int = MAX_TEXT) -> str:
    """``clean`` text on a single line."""
    return " ".join(clean(text, limit).split())


def last_lines(text: str) -> str:
    """The last few lines of ``text``, ``clean``, with a sign in front where something was left out."""
    lines = text.rstrip().lstrip("\r\n").splitlines()
    end = "\n".join(lines[-PRINTED_LINES:])
    shown = clean(end[-PRINTED_CHARACTERS:])  # which makes it longer if it has much to escape
    whole = len(lines) <= PRINTED_LINES and max(len(end), len(shown)) <= PRINTED_CHARACTERS
    return shown if whole else f"… {shown[-PRINTED_CHARACTERS:]}"


def first_lines(printed: KernelPrints) -> str:
    """The first few lines of what kernels printed, ``clean``, and behind them how many were left out."""
    shown: list[str] = []
    room = PRINTED_CHARACTERS
    for line in printed.lines[:PRINTED_LINES]:
        text = clean(line, room)  # which makes it longer if it has much to escape
        shown.append(text if len(text) <= room + 1 else f"{text[:room]}…")
        room -= len(text)
        if room <= 0:
            break
    more = len(printed.lines) - len(shown) + printed.left_out
    if more:
        shown.append(f"… and {more:,} more {'line' if more == 1 else 'lines'}")
    return "\n".join(shown)


def failure_lines(failure: Failure, width: int) -> list[str]:
    """A failure as a block: what, then expected, found, where and try with hanging indents."""
    lines = wrapped(failure.what, width, "", "")
    rows = (
        ("expected", failure.expected),
        ("found", failure.found),
        ("where", failure.where),
        ("try", failure.advice),
    )
    for label, text in rows:
        lines += _labelled(label, text, width)
    return lines


def _labelled(label: str, text: str, width: int) -> list[str]:
    """A row of a block, of no line where there is no text."""
    return wrapped(text, width, f"  {label:<{LABEL_WIDTH}}", " " * (LABEL_WIDTH + 2)) if text else []


def finding_lines(finding: Finding, width: int) -> list[str]:
    """A finding as a block: what happened and how often, where, what to try."""
    what = f"{finding.severity.value}: {finding.what}{finding.times}"
    return failure_lines(Failure(finding.kind, what, where=str(finding.place), advice=finding.advice), width)


def check_lines(check: CheckResult, width: int) -> list[str]:
    """Why a check was not passed and what it printed, then what else the device saw, errors first."""
    lines = []
    if check.failure is not None:
        lines = [
            *failure_lines(check.failure, width),
            *_labelled("printed", check.printed, width),
            *_labelled("threads", check.kernels_printed, width),
        ]
    race = race_text(check.measured)
    lines += _labelled("speed", race, width) if lines else wrapped(race, width, "", "  ") if race else []
    others, more = other_findings(check)
    for finding in others:
        lines += ["", *finding_lines(finding, width)]
    if more:
        lines += ["", more]
    return lines


def other_findings(check: CheckResult) -> tuple[Sequence[Finding], str]:
    """A check's findings but for the one that its failure tells of, errors first; and how many more there are."""
    order = list(Severity)
    told = check.failure.what if check.failure is not None else ""
    others = sorted((f for f in check.findings if f.what != told), key=lambda f: order.index(f.severity))
    more = len(others) - MAX_FINDINGS
    return others[:MAX_FINDINGS], f"and {more} more {'finding' if more == 1 else 'findings'}" if more > 0 else ""


def wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    """``clean`` text in lines of at most ``width`` columns (40 at least), indented by ``first`` and ``later``."""
    lines: list[str] = []
    for line in clean(text).strip("\n").split("\n"):
        lines += textwrap.wrap(
            line,
            max(width, 40),
            initial_indent=later if lines else first,
            subsequent_indent=later,
            break_long_words=True,
            break_on_hyphens=False,
            drop_whitespace=True,
            replace_whitespace=False,
        ) or [""]
    return lines
