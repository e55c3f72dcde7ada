"""Ignores all signals that can be ignored, SIGTERM and SIGXCPU among them, and computes for ever."""

# seen as: time-out
# trick
signal = __import__("signal")

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
# end
