"""Answers when its time is over."""

# seen as: stalled
# trick
import time

import grader.sandbox.protocol as protocol

honest = protocol.write_message

def late(descriptor, message):
    time.sleep(20)
    honest(descriptor, message)

protocol.write_message = late
# end
