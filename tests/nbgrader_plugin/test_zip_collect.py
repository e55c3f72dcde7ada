"""`nbgrader zip_collect` with our reader of archives: what students handed in is in submitted/, and nothing else is."""

from __future__ import annotations

import io
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


def lms_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in (
            ("ada/kernels (1).py", "newer"),
            ("ada/kernels.py", "older"),
            ("m\u00fcller\\work\\kernels.py", "m"),
            ("bob/doubling.ipynb", "{}"),
            ("bob/timestamp.txt", "2027-03-02 11:00:00 +0100"),
            ("../eve/kernels.py", "e"),
        ):
            info = zipfile.ZipInfo("x", (2027, 3, 1, 10, 0, 0))
            info.filename = name
            archive.writestr(info, text)
        link = zipfile.ZipInfo("flo/kernels.py")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return made.getvalue()


def named_zip(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return made.getvalue()


@pytest.mark.usefixtures("gradebook_file")
def test_a_zip_of_an_lms_becomes_submissions(root: Path, nbgrader_command: Run) -> None:
    archives = root / "downloaded/01/archive"
    archives.mkdir(parents=True)
    (archives / "lms.zip").write_bytes(lms_zip())
    done = nbgrader_command("zip_collect", "01")
    assert done.returncode == 0, done.stderr
    submitted = {
        str(path.relative_to(root / "submitted")): path.read_text()
        for path in (root / "submitted").rglob("*")
        if path.is_file()
    }
    assert submitted == {
        "ada/01/kernels.py": "newer",
        "m\u00fcller/01/kernels.py": "m",
        "bob/01/doubling.ipynb": "{}",
        "bob/01/timestamp.txt": "2027-03-02T10:00:00+00:00",
    }
    for said in ("more than one kernels.py", "leaves its folder", "flo/kernels.py: a link", "3 students' files are in"):
        assert said in done.stderr
    assert nbgrader_command("zip_collect", "01", "--force").returncode == 0
    (archives / "more.zip").write_bytes(named_zip("Zo\xeb O'Hara/kernels.py", "cy/kernels.py"))
    done = nbgrader_command("zip_collect", "01", "--force")
    assert done.returncode == 1
    assert "\\" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert (
        """not everything was collected, see the sentences above (1): the student's name "Zo\xeb O'Hara" holds"""
        in last
    )
    assert (root / "submitted/cy/01/kernels.py").is_file()
    (archives / "more.zip").unlink()
    done = nbgrader_command("zip_collect", "01", "--force", "--FileNameCollectorPlugin.named_regexp=(")
    assert done.returncode != 0
    assert "is no regular expression" in done.stderr
