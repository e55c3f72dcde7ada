"""Starts 500 threads that go on computing."""

# deserves: correctness technique
# trick
_thread = __import__("_thread")

def busy():
    while True:
        pass

try:
    for _ in range(500):
        _thread.start_new_thread(busy, ())
except RuntimeError:
    pass
# end
