"""Answers with an array of no elements, one of whose dimensions is as long as can be."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"plans": []}, [{"name": "out", "dtype": "<f4", "shape": [0, 2**62, 2**62]}]))
# end
