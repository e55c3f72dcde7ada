"""A module whose constant takes a gigabyte when it is compiled."""

# deserves: correctness technique
# seen as: memory
# trick
GIANT = (0,) * (1 << 27) and b"x" * (1 << 30)
# end
