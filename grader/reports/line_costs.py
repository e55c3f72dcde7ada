"""What the lines of kernels cost, beside their text, for a terminal. Pure; trusted process.

In: groups of launches, the text of the functions that they ran, a width. Out: lines with their style: for each kernel
one listing of all its launches together, and below the last one what the columns say. A column is there where it has
something to say, and ``>`` marks the lines that cost most.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.gpu_models import SECTOR_BYTES
from grader.records import Place
from grader.reports.cost_columns import COLUMNS, Column, Counts, amount, sectors
from grader.reports.text import clean, one_line, wrapped
from grader.traces import FunctionText, LaunchGroup

Line = tuple[str, str]  # text, style
Spot = tuple[str, int]  # file, line
HOT, COLD, HEAD = "bold magenta", "dim", "bold"
MAX_KERNELS = 10
# A function of so many lines is shown whole; of a longer one those that cost something, at most as many.
MAX_LINES = 40
# With less room for the text, columns are left out.
MIN_TEXT = 36
# Lines that cost nearly as much as the costliest one are marked, too; but where many do, none stands out.
NEARLY = 0.9
MAX_MARKED = 3
NUMBER, GAP, MARK = "line", "…", ">"
# All that the line of a declaration has: arguments are looked up there.
_STEPS = {"thread_steps", "warp_steps"}
_DECLARES = ("@", "def ")
_MARKS = "the most of a column: bytes (flops, where there are many per byte), banks, parted"


@dataclass
class _Kernel:
    """All launches of a kernel together: its text, how many launches, what each line cost."""

    name: str
    home: FunctionText
    launches: int = 0
    lines: defaultdict[Spot, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


@dataclass(frozen=True)
class _Row:
    """A line of a listing: its number, or ``GAP`` where lines are left out, its text, and its cells by column.

    ``costs``: a column has more to say of it than an aside. ``weight`` is its largest share of a cost.
    """

    number: str
    text: str
    cells: Mapping[str, str] = field(default_factory=dict)
    costs: bool = False
    weight: float = 0.0
    hot: bool = False


def line_costs(groups: Sequence[LaunchGroup], texts: Sequence[FunctionText], width: int = 80) -> list[Line]:
    """The listings of all kernels whose function is among ``texts``, and what their columns mean."""
    kernels = _kernels(groups, texts)
    page: list[Line] = []
    used: set[str] = set()
    for kernel in kernels[:MAX_KERNELS]:
        total = sum(kernel.lines.values(), Counter[str]())
        columns = [column for column in COLUMNS if column.shown(total, kernel.lines.values())]
        rows = _rows(kernel, texts, total, columns)
        heads = _fitting([column.head for column in columns], rows, width)
        used.update(heads)
        page += [*_listing(kernel, rows, heads, width), ("", "")]
    if len(kernels) > MAX_KERNELS:
        page += [(f"and {len(kernels) - MAX_KERNELS} more kernels; --json has them all", ""), ("", "")]
    meanings = [(column.head, column.meaning) for column in COLUMNS if column.head in used]
    if any(style == HOT for _, style in page):
        meanings.append((MARK, _MARKS))
    for head, meaning in meanings:
        page += ((line, COLD) for line in wrapped(meaning, width, f"  {head:<9}", " " * 11))
    return page


def _kernels(groups: Sequence[LaunchGroup], texts: Sequence[FunctionText]) -> list[_Kernel]:
    """In the order of their first launch; not those of which nothing was counted."""
    kernels: dict[tuple[str, str, int], _Kernel] = {}
    for group in groups:
        defined = group.launch.defined
        home = next((text for text in texts if (defined.file, defined.line) in text), None)
        if home is None or not group.launch.lines:
            continue
        kernel = kernels.setdefault((group.launch.kernel, home.file, defined.line), _Kernel(group.launch.kernel, home))
        kernel.launches += group.times
        for place, counters in group.launch.lines.items():
            line = kernel.lines[place.file, place.line]
            for name, number in counters.items():
                line[name] += number * group.times
    return list(kernels.values())


# ---------------------------------------------------------------------- rows


def _rows(kernel: _Kernel, texts: Sequence[FunctionText], total: Counts, columns: Sequence[Column]) -> list[_Row]:
    """Those of the kernel's own function, then those of others that compute, branch or access memory."""
    marked = _marked(kernel, total, columns)
    rows = _rows_of(kernel.home, kernel, total, columns, marked)
    file = kernel.home.file
    for text in texts:
        if text is kernel.home:
            continue
        others = _rows_of(text, kernel, total, columns, marked)
        works = any(spot in text and counted.keys() - _STEPS for spot, counted in kernel.lines.items())
        if works and others:
            rows += [_Row(GAP, f"{_name(text)}:" if text.file != file else ""), *others]
            file = text.file
    return rows


def _rows_of(
    text: FunctionText, kernel: _Kernel, total: Counts, columns: Sequence[Column], marked: set[Spot]
) -> list[_Row]:
    """One for each line; where those are many or unknown, for each line that costs something."""
    rows = []
    for number, source in zip(range(text.first_line, text.last_line + 1), _shown(text), strict=True):
        spot = text.file, number
        counters: Counts = kernel.lines.get(spot, {})
        if source.lstrip().startswith(_DECLARES) and not counters.keys() - _STEPS:
            counters = {}
        cells = {column.head: cell for column in columns if (cell := column.cell(counters, total))}
        costs = any(column.head in cells and not column.aside for column in columns)
        weight = max(
            (column.cost(counters, total) / max(column.cost(total, total), 1) for column in columns), default=0
        )
        rows.append(_Row(str(number), source, cells, costs, weight, spot in marked))
    if not text.lines:
        return [_Row(GAP, "source not available"), *(row for row in rows if row.costs)]
    return rows if len(rows) <= MAX_LINES else list(_costly(rows))


def _costly(rows: Sequence[_Row]) -> Iterator[_Row]:
    """The declaration and the lines that cost something; of what is between them, no more than a row."""
    declared = next((row for row in rows if row.text.startswith("def ")), rows[0])
    costly = sorted((row for row in rows if row.costs), key=lambda row: (row.hot, row.weight), reverse=True)
    kept = {row.number for row in (declared, *costly[:MAX_LINES])}
    between: list[_Row] = []
    for row in rows:
        if row.number not in kept:
            between.append(row)
            continue
        yield from between if len(between) < 2 else (_Row(GAP, ""),)
        yield row
        between = []
    yield from between if len(between) < 2 else (_Row(GAP, ""),)


def _marked(kernel: _Kernel, total: Counts, columns: Sequence[Column]) -> set[Spot]:
    """The few lines that cost most in the sense of a column, unless all that cost anything cost the same."""
    marked: set[Spot] = set()
    for column in columns:
        costs = {spot: cost for spot, line in kernel.lines.items() if (cost := column.cost(line, total))}
        if column.share and len(costs) == 1:
            continue
        top = [spot for spot, cost in costs.items() if cost >= NEARLY * max(costs.values())]
        if len(top) == 1 or len(top) < min(len(costs), MAX_MARKED + 1):
            marked.update(top)
    return marked


# ---------------------------------------------------------------------- layout


def _listing(kernel: _Kernel, rows: Sequence[_Row], heads: Sequence[str], width: int) -> Iterator[Line]:
    """A title, the columns' heads, a line for each row."""
    launches = "" if kernel.launches == 1 else f", {kernel.launches:,} launches together"
    moved = sum(map(sectors, kernel.lines.values())) * SECTOR_BYTES
    bytes_moved = f", {amount(moved)} moved" if moved else ""
    title = f"{kernel.name} ({_name(kernel.home)}): what its lines cost{launches}{bytes_moved}"
    yield from ((line, HEAD) for line in wrapped(title, width, "", "  "))
    first = max(len(row.number) for row in (_Row(NUMBER, ""), *rows))
    for row in (_Row(NUMBER, "", {head: head for head in heads}), *rows):
        cells = "".join(f" {row.cells.get(head, ''):>{_width(head, rows)}}" for head in heads)
        gutter = f"{MARK if row.hot else ' '} {row.number:>{first}}{cells}  "
        style = HOT if row.hot else "" if row.cells else COLD
        yield (gutter + _fitted(row.text, width - len(gutter))).rstrip(), style


def _fitting(heads: Sequence[str], rows: Sequence[_Row], width: int) -> list[str]:
    """The heads of columns in which something stands, as many as leave room for the text; one in any case."""
    fitting: list[str] = []
    room = width - len(NUMBER) - 4 - MIN_TEXT
    for head in heads:
        if any(head in row.cells for row in rows):
            room -= 1 + _width(head, rows)
            if room >= 0 or not fitting:
                fitting.append(head)
    return fitting


def _width(head: str, rows: Sequence[_Row]) -> int:
    return max(len(head), *(len(row.cells.get(head, "")) for row in rows))


def _shown(text: FunctionText) -> list[str]:
    """Its lines, moved to the left as far as they go together; empty ones where nobody knows them."""
    lines = [clean(line.replace("\n", " ")).rstrip() for line in text.lines]
    lines = textwrap.dedent("\n".join(lines)).split("\n") if lines else []
    return lines + [""] * (text.last_line - text.first_line + 1 - len(lines))


def _name(text: FunctionText) -> str:
    return one_line(Place(text.first_line, file=text.file).short_file)


def _fitted(text: str, columns: int) -> str:
    """As much of a text as fits, with a sign where it was cut; wide characters take two columns."""
    used = 0
    for at, character in enumerate(text):
        used += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if used > columns or (used == columns and at + 1 < len(text)):
            return text[:at].rstrip() + GAP
    return text
