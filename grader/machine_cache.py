"""What was measured of this machine once and is kept: JSON files in the user's cache. Trusted process.

In: a file's name, a form. Out: what is kept, by key. A file that cannot be read or written only costs another
measurement.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from platformdirs import user_cache_path
from pydantic import TypeAdapter, ValidationError

Kept = TypeVar("Kept")


def read_kept(name: str, form: type[Kept]) -> dict[str, Kept]:
    """All that is kept in ``name``.json and has the form."""
    try:
        found = TypeAdapter(dict[str, Any]).validate_json(_file(name).read_bytes())
    except (OSError, ValidationError):
        return {}
    kept: dict[str, Kept] = {}
    for key, value in found.items():
        with contextlib.suppress(ValidationError):
            kept[key] = TypeAdapter(form).validate_python(value)
    return kept


def keep(name: str, form: type[Kept], key: str, value: Kept) -> None:
    """Keep ``value`` beside what others keep in ``name``.json, as its last; judges that do so at once take turns."""
    file = _file(name)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # free again when the process ends
            kept = read_kept(name, form)
            kept.pop(key, None)
            kept[key] = value
            _write(file, TypeAdapter(dict[str, form]).dump_python(kept))  # type: ignore[valid-type]


def _file(name: str) -> Path:
    return user_cache_path("warpgrade") / f"{name}.json"


def _write(file: Path, kept: Mapping[str, Any]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    new.replace(file)
