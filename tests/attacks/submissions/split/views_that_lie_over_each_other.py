"""Lays all of the output over one element, so that one thread writes it all."""

# seen as: race
# trick
def change(plan):
    for operation in plan["operations"]:
        operation["arguments"][1]["strides"] = [0]
        operation["grid"] = [1, 1, 1]
# uses: forged plans
# end
