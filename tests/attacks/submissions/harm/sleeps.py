"""Sleeps for a minute in each process."""

# seen as: stalled
# trick
import time

time.sleep(60)
# end
