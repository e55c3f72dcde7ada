"""Announces an answer of a terabyte."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"plans": []}, body_bytes=1 << 40))
# end
