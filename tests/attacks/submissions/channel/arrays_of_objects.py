"""Answers with arrays of Python objects, and with a dtype that there is not."""

# seen as: malformed-plan
# trick
# uses: frames

send(frame({"plans": []}, [{"name": "output:0:out", "dtype": "object", "shape": [1]}], bytes(8)))
# end
