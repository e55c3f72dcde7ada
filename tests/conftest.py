"""The order of the project's own tests, and their options."""

from __future__ import annotations

import pytest

# Real lints take minutes each, the longest first. With two workers, each of which begins with half of the list, one
# takes the first and the other the rest; at the end of the list they would run one after the other.
LONG = "test_an_assignment_of_the_course_holds_its_promises"
LONGEST = "04"


def pytest_addoption(parser: pytest.Parser) -> None:
    """What a run of the tests can make besides."""
    parser.addoption("--screenshots", metavar="DIR", help="put pictures of what the browser shows into this folder")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let both halves of the list begin with its longest tests."""
    long = [item for item in items if item.name.startswith(f"{LONG}[")]
    longest = [item for item in long if item.name == f"{LONG}[{LONGEST}]"]
    others = [item for item in items if item not in long]
    middle = (len(others) + len(long)) // 2 - len(longest)
    items[:] = [*longest, *others[:middle], *[item for item in long if item not in longest], *others[middle:]]
