"""Points without a float's errors: exact while they are computed, rounded to hundredths once. Pure; any process.

In and out: points as floats, which stand for the decimal numbers that they print as.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

HUNDREDTH = Decimal("0.01")


def exact(value: float) -> Fraction:
    """The decimal number that ``value`` prints as, so that 0.1 is a tenth. Raises ValueError for NaN or infinity."""
    return Fraction(repr(float(value)))


def rounded(value: Fraction, rounding: str = ROUND_HALF_UP) -> float:
    """The nearest hundredth, half up; ``rounding`` is one of ``decimal``'s."""
    return float((Decimal(value.numerator) / Decimal(value.denominator)).quantize(HUNDREDTH, rounding=rounding))
