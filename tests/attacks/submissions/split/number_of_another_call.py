"""Has the plan pass a number that the call does not have."""

# seen as: malformed-plan
# trick
def change(plan):
    for operation in plan["operations"]:
        operation["arguments"][0] = {"kind": "data", "name": "seed"}
# uses: forged plans
# end
