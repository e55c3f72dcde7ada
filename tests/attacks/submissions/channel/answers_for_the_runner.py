"""Answers as the runner would: with outputs, no findings and a good count."""

# seen as: malformed-plan
# trick
# uses: frames

run = {"findings": [], "launches": [], "lines": [], "changed_inputs": [], "printed": {"lines": [], "left_out": 0}}
send(frame({"runs": [run] * 7}, [{"name": "output:0:out", "dtype": "<f4", "shape": [1]}], bytes(4)))
# end
