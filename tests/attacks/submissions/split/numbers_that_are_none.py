"""Sends texts, lists and huge numbers where a plan has numbers."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    for buffer in plan["buffers"]:
        buffer["nbytes"] = str(buffer["nbytes"])
    for operation in plan["operations"]:
        operation["shared_bytes"] = 10**300
        operation["line"] = [operation["line"]]

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
