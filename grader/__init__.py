"""warpgrade: judge, simulate and teach Numba CUDA kernels. Any process; the version, and what ``%load_ext`` calls."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext grader``: the magics of ``grader.magics`` in a notebook."""
    # By its name: IPython, and what draws reports, must not be within reach of each module that imports this package.
    import_module("grader.magics").load(shell)
