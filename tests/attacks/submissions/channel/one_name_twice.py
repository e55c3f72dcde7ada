"""Answers with plans twice in one header, of which both would do: one for who validates, one for who uses."""

# deserves: correctness technique
# trick
# uses: frames

import grader.sandbox.protocol as protocol

def twice(descriptor, message):
    plans = message.header["plans"]
    both = [json.dumps({"plans": each}) for each in ([plan | {"operations": []} for plan in plans], plans)]
    whole = '{"header": %s, %s, "arrays": []}' % (both[0][:-1], both[1][1:])
    send(b"warpgrd\x01" + struct.pack("<IQ", len(whole), 0) + whole.encode())

protocol.write_message = twice
# end
