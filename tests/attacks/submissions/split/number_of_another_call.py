"""Has the plan pass a number that the call does not have."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    for operation in plan["operations"]:
        operation["arguments"][0] = {"kind": "data", "name": "seed"}

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
