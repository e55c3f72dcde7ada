"""The kinds of values in course.yml: times, sizes, points, dates, fractions. Trusted process.

In: plain data as YAML gives it. Out: pydantic types that read it, or say which form they expected, with an example.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, Strict

from grader.sandbox.levels import LEVELS, SandboxLevel

_SECONDS = {"ms": 0.001, "s": 1, "min": 60, "h": 3600, "d": 86400}
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?")


def _quantity(units: Mapping[str, float], default: str, example: str) -> BeforeValidator:
    """A number with one of ``units``; without one it is of ``default``, or 0 where that is ""."""

    def read(value: object) -> object:
        wanted = f"a number with a unit ({', '.join(units)}), say {example}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if not default and value != 0:
                raise ValueError(wanted)
            return value * units[default] if default else value
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value) if isinstance(value, str) else None
        if found is None or found[2] not in units:
            raise ValueError(wanted)
        return float(found[1]) * units[found[2]]

    return BeforeValidator(read)


def _at_least(bound: float, shown: str) -> AfterValidator:
    def read(value: float) -> float:
        if value < bound:
            raise ValueError(f"at least {shown}")
        return value

    return AfterValidator(read)


def _points(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a number of points, 0 or more")  # noqa: TRY004 pydantic reports ValueErrors only
    if not 0 <= value < 1e6:
        raise ValueError("a number of points, 0 or more")
    if round(value, 2) != value:
        raise ValueError("points with at most two decimals, as scores are rounded to hundredths")
    return value


def _due(value: object) -> object:
    wanted = "a date with time and time zone, say 2027-03-01T23:59:00+01:00"
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        if isinstance(value, str) and _MOMENT.fullmatch(value.strip()):
            raise ValueError("a day and a time that exist") from None
        found = None
    if found is None or found.utcoffset() is None:
        raise ValueError(wanted)
    return found


def _form(pattern: str, wanted: str) -> BeforeValidator:
    def read(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise ValueError(wanted)
        return value

    return BeforeValidator(read)


def _fraction(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError("a fraction of the reference's speed, above 0 and at most 1, say 0.5")
    return value


# A number as such: neither true nor a text of digits, which are somebody's mistake.
Number = Strict()
Seconds = Annotated[float, _quantity(_SECONDS, "s", "20 s"), Field(gt=0, le=30 * 86400)]
# Below these no submission passes: a process counts whole seconds, and Numba alone needs tens of MiB to compile.
CheckSeconds = Annotated[float, _quantity(_SECONDS, "s", "20 s"), Field(le=30 * 86400), _at_least(1, "1 s")]
CheckBytes = Annotated[int, _quantity(_BYTES, "B", "4 GiB"), Field(le=1 << 62), _at_least(64 << 20, "64 MiB")]
# Of days and hours, where a number alone would be taken for something else than seconds.
Duration = Annotated[float, _quantity(_SECONDS, "", "1h"), Field(ge=0)]
# By which a due date can be later: a calendar's last day is far away.
Extension = Annotated[float, _quantity(_SECONDS, "", "2 d"), Field(ge=0, le=366 * 86400)]
Identifier = Annotated[
    str,
    Field(min_length=1, max_length=100),
    _form(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "letters, digits, '.', '_' and '-', as it names files"),
]
ModuleName = Annotated[str, _form(r"[A-Za-z_][A-Za-z0-9_]*", "a module's first name, say scipy")]
Sha256 = Annotated[str, _form(r"[0-9a-f]{64}", "64 digits and letters a to f, as a release notes them")]
Sandbox = Annotated[SandboxLevel, _form("|".join(LEVELS), f"one of {', '.join(map(repr, LEVELS))}")]
Points = Annotated[float, BeforeValidator(_points)]
Fraction = Annotated[float, BeforeValidator(_fraction)]
Due = Annotated[AwareDatetime, BeforeValidator(_due)]
Percent = Annotated[float, Number, Field(ge=0, le=100, allow_inf_nan=False)]
