"""Leaves threads running that would slow down whatever is measured beside it."""

# deserves: correctness technique
# trick
threading = __import__("threading")
import time

def busy():
    until = time.monotonic() + 30
    while time.monotonic() < until:
        pass

for _ in range(16):
    try:
        threading.Thread(target=busy, daemon=True).start()
        print("@DONE@")
    except (RuntimeError, OSError):
        pass
# end
