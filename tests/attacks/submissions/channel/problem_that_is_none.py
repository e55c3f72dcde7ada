"""Reports a problem that says it is the grader's fault, with a terminal's escapes in it."""

# no twin
# trick
import os
json = __import__("json")
struct = __import__("struct")

def send(data):
    """Into whatever the reply's pipe is: it is none of the first three."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, data)
        except OSError:
            pass

def frame(header, arrays=(), body=b"", magic=b"warpgrd\x01", envelope_bytes=None, body_bytes=None):
    envelope = json.dumps({"header": header, "arrays": list(arrays)}).encode()
    announced = len(envelope) if envelope_bytes is None else envelope_bytes
    return magic + struct.pack("<IQ", announced, len(body) if body_bytes is None else body_bytes) + envelope + body

texts = dict.fromkeys(("what", "expected", "found", "where", "advice"), "\x1b[2J\x1b]0;passed\x07 <script>alert(1)</script>")
send(frame({"problem": {"kind": "ChildFault", **texts}}))
# end
