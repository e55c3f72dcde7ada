"""Answers the call of one entry point with the plan of another."""

# seen as: malformed-plan
# trick
def change(plan):
    plan["entry"] = {"double": "total", "total": "double"}[plan["entry"]]
# uses: forged plans
# end
