"""Has a kernel capture a tuple that nests three hundred times."""

# seen as: malformed-plan
# trick
def change(plan):
    constant = {"kind": "int", "value": 1}
    for _ in range(300):
        constant = {"kind": "tuple", "items": [constant]}
    plan["functions"][0]["names"]["deep"] = constant
# uses: forged plans
# end
