"""Closes every descriptor."""

# seen as: changed-python
# trick
import os

os.closerange(0, 256)
# end
