"""Adds counters, findings and a verdict to its plan."""

# seen as: malformed-plan
# trick
def change(plan):
    plan["counters"] = {"global_loads": 0}
    plan["passed"] = True
    plan["findings"] = []
# uses: forged plans
# end
