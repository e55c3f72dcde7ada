"""Imports inspect and dis, to rewrite the code of its kernels."""

# no twin
# trick
import inspect, dis
# end
