"""warpgrade: judge, simulate and teach Numba CUDA kernels. Any process; nothing but the version is here."""

__version__ = "0.1.0"
