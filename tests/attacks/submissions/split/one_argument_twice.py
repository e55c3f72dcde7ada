"""Sends a plan with two buffers that both claim to be the output."""

# seen as: malformed-plan
# trick
def change(plan):
    plan["buffers"].append(dict(plan["buffers"][1]))
# uses: forged plans
# end
