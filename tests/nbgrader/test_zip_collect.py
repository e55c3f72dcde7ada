"""`nbgrader zip_collect` with our reader of archives: what students handed in is in submitted/, and nothing else is."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("nbgrader", reason="nbgrader is not installed")

import tiny_course as tiny

COMMAND = "import sys; from nbgrader.apps.nbgraderapp import main; sys.argv[0] = 'nbgrader'; main()"
PLUGINS = "grader.nbgrader_plugin.zip_collect"


def collect(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = root / ".home"
    command = [sys.executable, "-c", COMMAND, "zip_collect", "01", *arguments]
    command += [f"--ZipCollectApp.extractor_plugin={PLUGINS}.Unpack"]
    command += [f"--ZipCollectApp.collector_plugin={PLUGINS}.ByFolder"]
    command += ["--CourseDirectory.release_directory=assignments"]
    environment = {**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_DATA_DIR": str(home)}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=120, check=False)


def lms_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in (
            ("ada/kernels (1).py", "newer"),
            ("ada/kernels.py", "older"),
            ("m\u00fcller\\work\\kernels.py", "m"),
            ("bob/doubling.ipynb", "{}"),
            ("bob/timestamp.txt", "2027-03-02 10:00:00 UTC"),
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


def test_a_zip_of_an_lms_becomes_submissions(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path)
    (root / "solutions/01/doubling.ipynb").write_text("{}")
    archives = root / "downloaded/01/archive"
    archives.mkdir(parents=True)
    (archives / "lms.zip").write_bytes(lms_zip())
    done = collect(root)
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
        "bob/01/timestamp.txt": "2027-03-02 10:00:00 UTC",
    }
    for said in ("more than one kernels.py", "leaves its folder", "flo/kernels.py: a link"):
        assert said in done.stderr
    assert collect(root, "--force").returncode == 0
    done = collect(root, "--force", "--FileNameCollectorPlugin.named_regexp=(")
    assert done.returncode != 0
    assert "is no regular expression" in done.stderr
