"""Sends views that reach beyond their buffer, into the one behind it."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    for operation in plan["operations"]:
        for argument in operation["arguments"]:
            argument["offset"] += plan["buffers"][argument["buffer"]]["nbytes"]

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
