"""Sends views with strides that lead below the start of memory."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    for operation in plan["operations"]:
        for argument in operation["arguments"]:
            argument["strides"] = [-4096]
            argument["shape"] = [argument["shape"][0] + 1]

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
