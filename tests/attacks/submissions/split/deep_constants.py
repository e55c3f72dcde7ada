"""Has a kernel capture a tuple that nests three hundred times."""

# no twin
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def change(plan):
    constant = {"kind": "int", "value": 1}
    for _ in range(300):
        constant = {"kind": "tuple", "items": [constant]}
    plan["functions"][0]["names"]["deep"] = constant

def forged(descriptor, message):
    for plan in message.header.get("plans", ()):
        change(plan)
    honest(descriptor, message)

protocol.write_message = forged
# end
