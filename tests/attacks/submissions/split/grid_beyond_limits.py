"""Sends grids of two to the fortieth blocks and of less than none."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    for operation in plan["operations"]:
        operation["grid"] = [2**40, -1, 1]

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
