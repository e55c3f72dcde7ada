"""Sends plans of thirty thousand operations each."""

# seen as: malformed-plan
# trick
def change(plan):
    first = {"op": "synchronize", "stream": None, "line": 1}
    plan["operations"] += [first] * 30_000
# uses: forged plans
# end
