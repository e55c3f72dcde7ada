"""Announces an answer of less than no bytes."""

# seen as: malformed-plan
# trick
# uses: frames

send(b"warpgrd\x01" + struct.pack("<iq", -1, -1) + b"{}")
# end
