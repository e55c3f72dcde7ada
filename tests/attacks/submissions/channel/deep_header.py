"""Answers with a header that nests a hundred thousand times."""

# seen as: malformed-plan
# trick
# uses: frames

deep = b'{"header": {"plans": ' + b"[" * 100_000 + b"]" * 100_000 + b'}, "arrays": []}'
send(b"warpgrd\x01" + struct.pack("<IQ", len(deep), 0) + deep)
# end
