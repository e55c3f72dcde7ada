"""Has a scratch buffer claim the output's name, and the output another."""

# seen as: malformed-plan
# trick
def change(plan):
    for buffer in plan["buffers"]:
        if buffer["name"] == "out":
            buffer["origin"] = "scratch"
# uses: forged plans
# end
