"""The files of a stranger's archive, safely: names, kinds and bytes of its entries. Trusted process.

In: a zip. Out: its ordinary files with names that stay in their folder, and a sentence about each other one. Nothing is
unpacked to disk, links are not followed, and no entry is read further than its bound, whatever the archive says of it.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAX_TOLD = 5  # files that nobody asked for, of those that are left out for the same reason
MAX_NAME = 255  # characters of a part of a path, as file systems have it
# What systems and editors add, and no student hands in.
_IGNORED_FOLDERS = frozenset({"__MACOSX", "__pycache__"})
_DRIVE = re.compile(r"[A-Za-z]:")

# What zipfile raises for archives that are broken, encrypted or packed in ways that it does not know.
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, KeyError)


# A sentence about an entry, and its path.
Note = Callable[[str, tuple[str, ...]], None]


@dataclass(frozen=True)
class Entry:
    """One file of an archive or folder; ``source`` opens it."""

    parts: tuple[str, ...]
    date: tuple[int, ...]
    source: zipfile.ZipInfo | Path
    archive: zipfile.ZipFile | None = None

    def bytes(self, limit: int) -> bytes:
        """At most ``limit`` + 1 bytes. Raises OSError and all that zipfile does for a broken archive."""
        if isinstance(self.source, Path):
            with open_ordinary(self.source) as file:
                return file.read(limit + 1)
        assert self.archive is not None
        with self.archive.open(self.source) as packed:
            return packed.read(limit + 1)


def entries(
    archive: zipfile.ZipFile, shown: str, most: int, note: Note, comes: Callable[[str], int]
) -> Iterator[Entry]:
    """The ordinary files among ``most`` entries, by safe names; ``note`` is told of all others: a sentence, "" where
    there are too many, and the entry's path, () where the sentence is of many.

    ``comes`` says of a file's name when its turn is: names with a lower number come first, and are not cut off. Those
    with 0 are asked for, and told one by one; of others many are summed up.
    """
    infos = sorted(archive.infolist(), key=lambda info: comes(_name(info).replace("\\", "/").rpartition("/")[2]))
    left_out: dict[str, int] = {}
    if len(infos) > most:
        note(f"{shown}: {len(infos):,} entries, of which {most:,} were read", ())
    for info in infos[:most]:
        name = _name(info)
        parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or name.endswith("\\") or not parts or ignored(parts):
            continue
        problem = ""
        if name.startswith(("/", "\\")) or ".." in parts or _DRIVE.match(name):
            problem = "a name that leaves its folder"
        elif max(map(len, parts)) > MAX_NAME:
            problem = "too long a name"
        elif kind == stat.S_IFLNK:
            problem = "a link"
        elif kind not in (0, stat.S_IFREG):
            problem = "no ordinary file"
        elif info.flag_bits & 1:
            problem = "encrypted"
        if not problem:
            yield Entry(parts, info.date_time, info, archive)
            continue
        asked_for = comes(parts[-1]) == 0
        left_out[problem] = left_out.get(problem, 0) + (not asked_for)
        told = asked_for or left_out[problem] <= MAX_TOLD
        note(f"{shown}, {show(parts)}: {problem}, left out" if told else "", parts)
    for problem, count in left_out.items():
        if count > MAX_TOLD:
            note(f"{shown}, {count - MAX_TOLD} more files: {problem}, left out", ())


def folders(archive: zipfile.ZipFile, most: int) -> Iterator[tuple[str, ...]]:
    """The folders among ``most`` entries that are entries themselves, as empty ones are, by safe names."""
    for info in archive.infolist()[:most]:
        name = _name(info)
        parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        if (info.is_dir() or name.endswith("\\")) and parts and not ignored(parts) and ".." not in parts:
            yield parts


def _name(info: zipfile.ZipInfo) -> str:
    """An entry's name. Without its flag for UTF-8 the standard says code page 437; most who lack it write UTF-8."""
    name = info.orig_filename.split("\0")[0]
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return nfc(name)


def open_ordinary(path: Path) -> BinaryIO:
    """Open a file for reading; no link, no pipe. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(fd, "rb")
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        file.close()
        raise OSError("no ordinary file")
    return file


def ignored(parts: tuple[str, ...]) -> bool:
    """Whether a path is of what a system or an editor has added."""
    return any(part in _IGNORED_FOLDERS or (part.startswith(".") and part != "..") for part in parts)


def nfc(text: str) -> str:
    """``text`` with an umlaut as one character, as all but macOS and its zips have it."""
    return unicodedata.normalize("NFC", text)


def show(parts: tuple[str, ...]) -> str:
    """A path for a sentence, cut where it is endless."""
    return "/".join(part[:MAX_NAME] for part in parts[:20])


def reason(error: BaseException) -> str:
    """Why something could not be read, in few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
