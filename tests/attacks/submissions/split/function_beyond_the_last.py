"""Has the plan launch its function number one million."""

# seen as: malformed-plan
# trick
def change(plan):
    for operation in plan["operations"]:
        operation["kernel"] = 1_000_000
# uses: forged plans
# end
