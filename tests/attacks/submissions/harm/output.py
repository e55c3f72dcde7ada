"""Prints 100 MB."""

# deserves: correctness technique
# trick
for _ in range(1000):
    print("x" * 100_000)
# end
