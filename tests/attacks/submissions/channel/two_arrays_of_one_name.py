"""Answers with the plans that are asked for, and with two arrays of one name."""

# seen as: malformed-plan
# trick
# uses: frames

import grader.sandbox.protocol as protocol

def doubled(descriptor, message):
    array = {"name": "output:0:out", "dtype": "<f4", "shape": [1]}
    send(frame(message.header, [array, array], bytes(8)))

protocol.write_message = doubled
# end
