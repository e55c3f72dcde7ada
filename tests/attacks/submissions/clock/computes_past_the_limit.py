"""Ignores the signal of its time limit, and computes for a minute."""

# seen as: time-out
# trick
import time

signal = __import__("signal")
signal.signal(signal.SIGXCPU, signal.SIG_IGN)

def double(x, out):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end
