"""Announces a shorter answer than it sends, so that the rest looks like another."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"plans": []}, envelope_bytes=4))
# end
