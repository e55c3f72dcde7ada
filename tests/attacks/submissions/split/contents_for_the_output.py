"""Sends a plan that brings the output's contents along."""

# seen as: malformed-plan
# trick
def change(plan):
    for buffer in plan["buffers"]:
        if buffer["name"] == "out":
            buffer["data"] = "AAAA" * (buffer["nbytes"] // 3) + ("", "AA==", "AAA=")[buffer["nbytes"] % 3]
    for operation in plan["operations"]:
        operation["grid"] = [0, 1, 1]
# uses: forged plans
# end
