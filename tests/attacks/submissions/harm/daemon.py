"""Starts a process that leaves session and group, and outlives the verdict."""

# deserves: correctness technique
# trick
import os
import time

try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
except OSError:
    pass
# end
