"""A module whose constant takes a gigabyte when it is compiled."""

# deserves: correctness technique
# trick
GIANT = (0,) * (1 << 27) and b"x" * (1 << 30)
# end
