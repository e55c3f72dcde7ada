"""An expression that Python computes for hours."""

# trick
TOWER = 9 ** 9 ** 9 ** 9
# end
