"""warpgrade: judge, simulate and teach Numba CUDA kernels."""

__version__ = "0.1.0"
