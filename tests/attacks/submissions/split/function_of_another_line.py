"""Has the plan name a kernel by the number of another function's code."""

# seen as: malformed-plan
# trick
def change(plan):
    plan["functions"][0]["code"] += 2
# uses: forged plans
# end
