"""Imports gc, beside what is allowed."""

# seen as: forbidden-import
# trick
import math, gc, sys
# end
