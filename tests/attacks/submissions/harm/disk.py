"""Fills up to 1 GiB of disk in 10,000 files."""

# deserves: correctness technique
# trick
import os

try:
    for number in range(10_000):
        with open(f"@MARK@{number}", "wb") as file:
            file.write(bytes(100_000))
except OSError:
    pass
# end
