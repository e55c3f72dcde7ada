"""Sends its answer twice, the second with plans that launch nothing."""

# deserves: correctness technique
# trick
import grader.sandbox.protocol as protocol

honest = protocol.write_message

def twice(descriptor, message):
    honest(descriptor, message)
    plans = [plan | {"operations": []} for plan in message.header.get("plans", ())]
    honest(descriptor, protocol.Message({"plans": plans}))

protocol.write_message = twice
# end
