"""The archive that students download: assignments, and the package to install. Trusted process.

In: the course. Out: dist/<course id>-student.zip, with fresh stubs whatever lies in assignments/.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from grader.course import FILE_NAME, Course, students_text
from grader.release import ASSIGNMENTS, build
from grader.release_leaks import read_source

# What a student's archive holds besides assignments, a README, course.yml and pyproject.toml of its own, as far as the
# course has it: the package, to install from. An allow-list: a new folder of the course is not handed out by accident.
BUNDLED = ("LICENSE", "grader/**/*.py")
LINK_TO_A_FILE = re.compile(r"\[([^]]+)\]\((?!https?://)[^)]+\)")
README, PROJECT_FILE = "README.md", "pyproject.toml"
STUDENT_GUIDES = ("docs/student.md", "docs/kernels.md")
# Of pyproject.toml's [tool.*] tables a student needs the build's; the others serve the course's own development.
KEPT_TOOLS = ("tool.hatch",)
TABLE_HEADER = re.compile(r"\[\[?([\w.\-]+)\]\]?\s*(#.*)?")
STUDENT_PYTEST = f"""
[tool.pytest.ini_options]
testpaths = ["{ASSIGNMENTS}"]
"""
# Zip archives know no time before this one; a fixed one makes equal contents equal archives.
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(
    course: Course, notebooks: Mapping[str, Mapping[str, str]] | None = None, names: Collection[str] = ()
) -> Path:
    """Write dist/<course id>-student.zip, with fresh stubs whatever lies there. Raises ReleaseError, UsageError.

    ``names`` are the assignments in it, all of the course if none are given.

    ``notebooks``: assignment → name → text of the released notebooks; None where there is no nbgrader to make them.
    """
    root = course.file.parent
    names = tuple(dict.fromkeys(course.assignment(name).name for name in names or course.assignments))
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for pattern in BUNDLED
        for path in sorted(root.glob(pattern))
        if path.is_file()
    }
    files[README] = student_readme(course, names).encode()
    files[FILE_NAME] = students_text(course, names).encode()
    if (root / PROJECT_FILE).is_file():
        files[PROJECT_FILE] = student_project(read_source(root / PROJECT_FILE)).encode()
    for name in names:
        made = None if notebooks is None else notebooks[name]
        files |= {f"{ASSIGNMENTS}/{name}/{file}": text.encode() for file, text in build(course, name, made).items()}
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


def student_readme(course: Course, names: Iterable[str]) -> str:
    """The archive's README: the course's title, what the folders of ``names`` hold, then the guides for students."""
    folders = [f"- `{ASSIGNMENTS}/{name}`: {course.assignment(name).title}" for name in names]
    guides = [course.file.parent / name for name in STUDENT_GUIDES]
    # The guides' own titles give way to the course's.
    text = "\n".join(read_source(guide).partition("\n")[2].strip() + "\n" for guide in guides if guide.is_file())
    text = text.replace(": [kernels.md](kernels.md)", " is told below")
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
