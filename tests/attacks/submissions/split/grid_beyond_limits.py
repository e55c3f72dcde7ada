"""Sends grids of two to the fortieth blocks and of less than none."""

# seen as: malformed-plan
# trick
def change(plan):
    for operation in plan["operations"]:
        operation["grid"] = [2**40, -1, 1]
# uses: forged plans
# end
