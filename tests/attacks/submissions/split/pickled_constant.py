"""Smuggles a pickled object into the runner as a constant."""

# seen as: malformed-plan
# trick
def change(plan):
    plan["functions"][0]["names"]["x"] = {"kind": "pickle", "data": "Y29zCnN5c3RlbQooUydlY2hvJwp0Ui4="}
    plan["functions"][0]["names"]["y"] = {"kind": "array", "dtype": "O", "shape": [1], "scalar": False, "data": "AAAA"}
# uses: forged plans
# end
