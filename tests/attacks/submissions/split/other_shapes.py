"""Sends a plan of arrays of one element, where the call had more."""

# seen as: malformed-plan
# trick
def change(plan):
    for buffer in plan["buffers"]:
        buffer["nbytes"] = 4
    for operation in plan["operations"]:
        for argument in operation["arguments"]:
            argument["shape"] = [1]
# uses: forged plans
# end
