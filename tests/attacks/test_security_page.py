"""docs/security.md has each attack with what it may earn at most, and names tests that there are."""

from __future__ import annotations

import re

from .attack_files import attacks
from .table import PAGE, rows_in

ROOT = PAGE.parents[1]
WORTH = {"correctness": 60, "technique": 40}


def test_the_table_has_each_attack_in_order_and_no_points_that_it_does_not_deserve() -> None:
    rows = rows_in(PAGE.read_text("utf-8"))
    known = {f"`{attack.name}`": attack for attack in attacks()}
    assert [(name, tries) for name, tries, *_ in rows] == [(name, attack.tries) for name, attack in known.items()]
    for name, _, points, seen in rows:
        assert float(points) <= sum(WORTH[part] for part in known[name].deserves), name
        assert seen, name


def test_each_test_that_the_page_names_is_there() -> None:
    named = re.findall(r"`(tests/[a-z_/]+\.py)::(\w+)`", PAGE.read_text("utf-8"))
    assert len(named) > 20
    missing = [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text("utf-8")]
    assert missing == []
