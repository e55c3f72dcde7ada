"""Sends a plan of two hundred thousand operations."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    first = {"op": "synchronize", "stream": None, "line": 1}
    plan["operations"] += [first] * 200_000

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
