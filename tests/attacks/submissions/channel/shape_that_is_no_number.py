"""Answers with an array whose shape is not a number, and with NaN in its header."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"plans": [], "credit": float("nan")}, [{"name": "out", "dtype": "<f4", "shape": [float("nan")]}]))
# end
