"""Imports gc, beside what is allowed."""

# no twin
# trick
import math, gc, sys
# end
