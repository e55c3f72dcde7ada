"""Which failed checks one mistake explains, so that its block is shown once. Pure; trusted process.

In: the record of a check. Out: a key that checks share whose blocks say the same.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.records import CheckResult

# What differs between failures of one mistake: a call's sizes, and whole numbers that follow from them. A number
# after "= " is a value that a kernel computed, and numbers with a fraction are, too.
_CALL = re.compile(r"(\w+)\(\w+=[^()]*\)")
_SIZE = re.compile(r"(?<![\w.+\-])(?<!= )\d+(?:,\d{3})*(?![\w.]*\w)")


def alike(folder: Path, check: CheckResult) -> tuple[object, ...]:
    """What two failed checks of a folder have in common if one mistake explains both: all but sizes."""
    failure = check.failure
    if failure is None:
        return (folder, check.name)
    texts = (failure.what, failure.expected, failure.found, failure.advice)
    seen = sorted({(finding.kind, finding.place.line, finding.array) for finding in check.findings})
    sizeless = tuple(_SIZE.sub("#", _CALL.sub(r"\1", text)) for text in texts)
    return (folder, failure.kind, *sizeless, _CALL.sub(r"\1", failure.where), tuple(seen))
