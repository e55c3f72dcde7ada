"""Ignores every signal that can be ignored, and answers SIGALRM with an exit."""

# deserves: correctness technique
# seen as: exit
# trick
import os

signal = __import__("signal")
for number in signal.valid_signals():
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.001)
# end
