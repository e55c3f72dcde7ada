"""An expression that Python computes for hours."""

# seen as: time-out
# trick
TOWER = 9 ** 9 ** 9 ** 9
# end
