"""Sends views with strides that lead below the start of memory."""

# seen as: malformed-plan
# trick
def change(plan):
    for operation in plan["operations"]:
        for argument in operation["arguments"]:
            argument["strides"] = [-4096]
            argument["shape"] = [argument["shape"][0] + 1]
# uses: forged plans
# end
