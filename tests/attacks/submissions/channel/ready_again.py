"""Says once more that it is ready, in the place of an answer."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"ready": 1}))
# end
