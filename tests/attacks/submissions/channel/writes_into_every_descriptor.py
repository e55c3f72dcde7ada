"""Writes a reply of its own into every descriptor that is open."""

# seen as: malformed-plan
# trick
import os

FORGED = b"warpgrd\x01" + b"\x0f\0\0\0" + bytes(8) + b'{"plans": [{}]}'
for descriptor in range(256):
    try:
        os.write(descriptor, FORGED)
    except OSError:
        pass
# end
