"""Sends views that reach beyond their buffer, into the one behind it."""

# seen as: malformed-plan
# trick
def change(plan):
    for operation in plan["operations"]:
        for argument in operation["arguments"]:
            argument["offset"] += plan["buffers"][argument["buffer"]]["nbytes"]
# uses: forged plans
# end
