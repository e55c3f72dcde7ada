"""The order of the tests of this folder."""

from __future__ import annotations

import pytest

LONGEST = "test_the_class_goes_on.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest come first, so that of several workers none has one left when the others are done."""
    items.sort(key=lambda item: item.path.name != LONGEST)
