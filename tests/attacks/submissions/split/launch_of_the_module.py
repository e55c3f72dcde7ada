"""Has the plan launch the text of the whole file as a kernel."""

# seen as: kernel-rejected
# trick
def change(plan):
    plan["functions"][0] |= {"code": 0, "qualname": "<module>", "line": 1}
    for operation in plan["operations"]:
        operation["arguments"] = []
# uses: forged plans
# end
