"""Sends the first half of an answer, and sleeps."""

# seen as: stalled
# trick
# uses: frames

whole = frame({"plans": []})
send(whole[: len(whole) // 2])
__import__("time").sleep(60)
# end
