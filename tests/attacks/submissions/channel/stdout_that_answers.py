"""Has a stdout of its own, which answers when it is flushed."""

# seen as: malformed-plan
# trick
import os
import sys

class Stdout:
    def write(self, text):
        return len(text)
    def flush(self):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"warpgrd\x01" + b"\x2b\0\0\0" + bytes(8) + b'{"header": {"plans": [{}]}, "arrays": [ ]}  ')
            except OSError:
                pass

sys.stdout = sys.__stdout__ = Stdout()
# end
