"""assignments/NN from solutions/NN: what a student may have, and nothing else. Trusted process.

In: solutions/NN and course.yml. Out: a folder with the stub, problem.py, the public checks and the
assignment's part of course.yml. It is built beside its place, searched for anything hidden, and swapped in
whole. Or a student archive of all of them.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.assignment_folder import HIDDEN_FILE, PUBLIC_FILE, WRONG_FOLDER
from grader.course import FILE_NAME, Course, load_course, part_text
from grader.errors import CourseError, ReleaseError, UsageError
from grader.problem import PROBLEM_FILE
from grader.records import KERNELS_FILE
from grader.stub import BEGIN, END, make_stub, squeezed, telling_lines

SOLUTIONS, ASSIGNMENTS = "solutions", "assignments"
COPIED = (PROBLEM_FILE, PUBLIC_FILE)
FAST_FILE = "fast.py"
HIDDEN = (HIDDEN_FILE, WRONG_FOLDER, FAST_FILE)

Kernels = Literal["new", "unchanged", "replaced", "kept"]


@dataclass(frozen=True)
class Released:
    """What a release did: ``kernels`` is ``kept`` where a learner has edited it. ``changed`` names files."""

    folder: Path
    kernels: Kernels
    changed: tuple[str, ...]


def sha256_of(text: str) -> str:
    """Hash of a text file whatever its line ends, so that a checkout on another system is no edit."""
    return hashlib.sha256("\n".join(text.splitlines()).encode()).hexdigest()


def build(course: Course, name: str) -> dict[str, str]:
    """The files of a release as name → text. Raises ReleaseError if anything hidden would be in them."""
    name = course.assignment(name).name
    source = course.file.parent / SOLUTIONS / name
    if not source.is_dir():
        raise UsageError(f"expected a folder {source}, found none")
    stub = make_stub(_read(source / KERNELS_FILE), str(source / KERNELS_FILE))
    files = {KERNELS_FILE: stub, **{file: _read(source / file) for file in COPIED}}
    files[FILE_NAME] = part_text(course, name, sha256_of(stub))
    leak = next(leaks(source, files), None)
    if leak is not None:
        raise ReleaseError(leak)
    return files


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseError(f"{path}: expected a readable text file, found: {error}") from None


def leaks(source: Path, files: Mapping[str, str]) -> Iterator[str]:
    """What of ``source`` that a student must not see stands in ``files``, as sentences with file and line."""
    for file in files:
        if Path(file).parts[0] in HIDDEN:
            yield f"{file}: must not be released"
    hidden = source / HIDDEN_FILE
    secrets = {name: f"hidden check of {hidden}:{line}" for name, line in _functions(hidden)}
    wrong = source / WRONG_FOLDER
    secrets |= {path.stem: f"name of the mutant {path}" for path in sorted(wrong.glob("*.py")) if "_" in path.stem}
    kernels = source / KERNELS_FILE
    solution = {squeezed(line): number for number, line in telling_lines(_read(kernels), str(kernels))}
    for file, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if BEGIN in line or END in line:
                yield f"{file}:{number}: a solution marker is left"
            for secret, what in secrets.items():
                if secret in line:
                    yield f"{file}:{number}: {secret!r} is a {what}"
            origin = solution.get(squeezed(line).lstrip("#"))
            if origin is not None:
                yield f"{file}:{number}: holds the solution's line {kernels}:{origin}: {line.strip()}"


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    if path.is_file():
        for node in ast.parse(_read(path)).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                yield node.name, node.lineno


def release(course: Course, name: str) -> Released:
    """Write assignments/NN. An untouched older stub is replaced, one that a learner has begun is kept.

    Raises ReleaseError if something hidden would be shown, or lies in the folder; then nothing has changed.
    """
    files = build(course, name)
    name = course.assignment(name).name
    target = course.file.parent / ASSIGNMENTS / name
    for hidden in HIDDEN:
        if (target / hidden).exists():
            raise ReleaseError(f"{target / hidden}: must not lie in a released folder; remove it, then release again")
    kernels = _state_of_kernels(target, files[KERNELS_FILE])
    if kernels == "kept":
        files[KERNELS_FILE] = _read(target / KERNELS_FILE)
    changed = tuple(file for file, text in files.items() if _differs(target / file, text))
    if changed:
        _swap_in(target, files)
    return Released(target, kernels, changed)


def _state_of_kernels(target: Path, stub: str) -> Kernels:
    """What is to be done about the kernels.py that is there. Its release noted the stub's hash beside it."""
    path = target / KERNELS_FILE
    if not path.exists():
        return "new"
    there = sha256_of(path.read_text(encoding="utf-8", errors="replace"))
    if there == sha256_of(stub):
        return "unchanged"
    return "replaced" if there == _noted_hash(target) else "kept"


def _noted_hash(target: Path) -> str | None:
    try:
        return load_course(target / FILE_NAME).assignment_of(target).stub_sha256
    except (CourseError, UsageError):
        return None  # the note is lost: take the stub for edited, which loses nothing


def _differs(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8").splitlines() != text.splitlines()
    except (OSError, UnicodeDecodeError):
        return True


def _swap_in(target: Path, files: Mapping[str, str]) -> None:
    """Build the folder beside its place, then exchange the two; a learner's own files move along."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        if target.exists():
            shutil.copytree(target, new, symlinks=True)
        new.mkdir(exist_ok=True)
        for file, text in files.items():
            (new / file).unlink(missing_ok=True)
            (new / file).write_text(text, encoding="utf-8", newline="\n")
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise


def out_of_date(course: Course, name: str) -> tuple[str, ...]:
    """The released files that a release would change; an edited stub is taken for what it is."""
    files = build(course, name)
    target = course.file.parent / ASSIGNMENTS / course.assignment(name).name
    if _state_of_kernels(target, files[KERNELS_FILE]) == "kept":
        del files[KERNELS_FILE]
    return tuple(file for file, text in files.items() if _differs(target / file, text))


# What a student's archive holds besides the assignments, a README and a pyproject.toml of its own, as far as the
# course has it: the package, to install from. An allow-list: a new folder of the course is not handed out by accident.
BUNDLED = ("LICENSE", FILE_NAME, "grader/**/*.py")
LINK_TO_A_FILE = re.compile(r"\[([^]]+)\]\((?!https?://)[^)]+\)")
README, STUDENT_GUIDE, PROJECT_FILE = "README.md", "docs/student.md", "pyproject.toml"
# Of pyproject.toml's [tool.*] tables a student needs the build's; the others serve the course's own development.
KEPT_TOOLS = ("tool.hatch",)
TABLE_HEADER = re.compile(r"\[\[?([\w.\-]+)\]\]?\s*(#.*)?")
STUDENT_PYTEST = f"""
[tool.pytest.ini_options]
testpaths = ["{ASSIGNMENTS}"]
"""
# Zip archives know no time before this one; a fixed one makes equal contents equal archives.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(course: Course) -> Path:
    """Write dist/<course id>-student.zip, with fresh stubs whatever lies there. Raises ReleaseError."""
    root = course.file.parent
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for pattern in BUNDLED
        for path in sorted(root.glob(pattern))
        if path.is_file()
    }
    files[README] = student_readme(course).encode()
    if (root / PROJECT_FILE).is_file():
        files[PROJECT_FILE] = student_project(_read(root / PROJECT_FILE)).encode()
    for name in course.assignments:
        files |= {f"{ASSIGNMENTS}/{name}/{file}": text.encode() for file, text in build(course, name).items()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as zipped:
        for file in sorted(files):
            zipped.writestr(zipfile.ZipInfo(f"{course.course.id}/{file}", ZIP_EPOCH), files[file])
    archive = root / "dist" / f"{course.course.id}-student.zip"
    archive.parent.mkdir(exist_ok=True)
    unfinished = archive.with_suffix(".unfinished")
    unfinished.write_bytes(content.getvalue())
    unfinished.replace(archive)
    return archive


def student_readme(course: Course) -> str:
    """The archive's README: the course's title, what its folders hold, then the guide for students."""
    folders = [f"- `{ASSIGNMENTS}/{name}`: {section.title}" for name, section in course.assignments.items()]
    guide = course.file.parent / STUDENT_GUIDE
    # The guide's own title gives way to the course's.
    text = _read(guide).partition("\n")[2].strip() + "\n" if guide.is_file() else ""
    text = LINK_TO_A_FILE.sub(r"\1", text)  # the other guides are not in the archive
    return f"# {course.course.title}\n\n" + "\n".join(folders) + f"\n\n{text}"


def student_project(text: str) -> str:
    """pyproject.toml without the tables for the course's own development; pytest runs the assignments."""
    kept: list[str] = []
    keep = True
    for line in text.splitlines():
        header = TABLE_HEADER.fullmatch(line)
        if header is not None:
            keep = not header[1].startswith("tool.") or header[1].startswith(KEPT_TOOLS)
        if keep:
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n" + STUDENT_PYTEST
