"""Sets the clock, a timer and an alarm."""

# deserves: correctness technique
# trick
import time

signal = __import__("signal")
for attempt in (
    lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
    lambda: time.clock_settime(time.CLOCK_MONOTONIC, 0),
):
    try:
        attempt()
        print("@DONE@")
    except OSError:
        pass
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
# end
