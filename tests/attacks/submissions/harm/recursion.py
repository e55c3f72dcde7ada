"""Recurses without end, with the limit of recursion lifted."""

# deserves: correctness technique
# seen as: time-out, memory
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
