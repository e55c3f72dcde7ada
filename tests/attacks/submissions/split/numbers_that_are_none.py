"""Sends texts, lists and huge numbers where a plan has numbers."""

# seen as: malformed-plan
# trick
def change(plan):
    for buffer in plan["buffers"]:
        buffer["nbytes"] = str(buffer["nbytes"])
    for operation in plan["operations"]:
        operation["shared_bytes"] = 10**300
        operation["line"] = [operation["line"]]
# uses: forged plans
# end
