"""Tests that need an NVIDIA GPU; elsewhere each reports "not run: no GPU"."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from grader.children import Children


@pytest.fixture(scope="session")
def gpu() -> Iterator[Children]:
    """Warm children on a machine with a GPU."""
    with Children() as children:
        if children.gpu_name() is None:
            pytest.skip("not run: no GPU")
        yield children
