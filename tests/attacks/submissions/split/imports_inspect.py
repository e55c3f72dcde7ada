"""Imports inspect and dis, to rewrite the code of its kernels."""

# seen as: forbidden-import
# trick
import inspect, dis
# end
