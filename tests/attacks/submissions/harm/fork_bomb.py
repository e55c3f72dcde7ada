"""Forks up to 500 processes that sleep for a minute."""

# deserves: correctness technique
# trick
import os
import time

for _ in range(500):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    except OSError:
        break
# end
