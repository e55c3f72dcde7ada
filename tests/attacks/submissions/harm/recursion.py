"""Recurses without end, with the limit of recursion lifted."""

# trick
import sys

sys.setrecursionlimit(10**9)

def down():
    return down()

try:
    down()
except (RecursionError, MemoryError):
    pass
# end
