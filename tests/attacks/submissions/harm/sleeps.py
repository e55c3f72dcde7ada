"""Sleeps for a minute in each process."""

# trick
import time

time.sleep(60)
# end
