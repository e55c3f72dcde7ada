"""Sends its answer twice, the second with other plans than the first."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def twice(descriptor, message):
    honest(descriptor, protocol.Message({"plans": []}))
    honest(descriptor, message)

protocol.write_message = twice
# end
