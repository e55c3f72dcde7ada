"""Closes every descriptor."""

# no twin
# trick
import os

os.closerange(0, 256)
# end
