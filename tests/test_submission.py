"""Whatever lies where a submission should be: a Submission, or a Failure that says what is wrong."""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from grader.records import Failure
from grader.reports.view import without_folders
from grader.submission import MAX_BYTES, Submission, read_submission


def failed(answer: Submission | Failure) -> Failure:
    assert isinstance(answer, Failure), answer
    assert answer.what.endswith(".")
    assert str(answer)
    return answer


def folder_with(tmp_path: Path, content: bytes) -> Path:
    (tmp_path / "kernels.py").write_bytes(content)
    return tmp_path


def test_a_submission_is_the_files_bytes_and_digest(tmp_path: Path) -> None:
    content = "# größe\r\nx = 1\n".encode()
    found = read_submission(folder_with(tmp_path, content), "ada")
    assert found == Submission(tmp_path, "ada", content, hashlib.sha256(content).hexdigest())


def test_reading_executes_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    read_submission(folder_with(tmp_path, f"open({str(marker)!r}, 'w')".encode()))
    assert not marker.exists()
    assert "kernels" not in sys.modules


def test_other_files_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text("raise SystemExit")
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert isinstance(read_submission(folder_with(tmp_path, b"x = 1")), Submission)


@pytest.mark.parametrize("content", [b"", b" \n\t\r\n"])
def test_an_empty_file_is_a_failure(tmp_path: Path, content: bytes) -> None:
    assert failed(read_submission(folder_with(tmp_path, content))).kind == "empty-kernels-file"


def test_a_file_that_is_not_utf8_is_a_failure_with_its_line(tmp_path: Path) -> None:
    failure = failed(read_submission(folder_with(tmp_path, b"x = 1\ny = '\xe9'\n")))
    assert failure.kind == "not-utf8"
    assert failure.where == "kernels.py:2"
    assert "0xe9" in failure.found


def test_a_missing_file_is_a_failure_that_says_what_is_there(tmp_path: Path) -> None:
    assert "empty folder" in failed(read_submission(tmp_path)).found
    (tmp_path / "Kernels.py").write_text("x = 1")
    failure = failed(read_submission(tmp_path))
    if failure.kind == "no-kernels-file":  # some file systems of macOS do not tell the two names apart
        assert "'Kernels.py'" in failure.found


def test_a_missing_file_is_told_by_what_the_student_handed_in_alone(tmp_path: Path) -> None:
    for name in ("timestamp.txt", "submission_secret.txt"):
        (tmp_path / name).write_text("of nbgrader's")
    assert failed(read_submission(tmp_path)).found == "an empty folder"
    (tmp_path / "matmul.ipynb").write_text("{}")
    failure = failed(read_submission(tmp_path))
    assert (failure.found, failure.where) == ("'matmul.ipynb'", str(tmp_path / "kernels.py"))
    assert without_folders(failure.where) == "kernels.py"  # as students read it
    (tmp_path / "not-collected.txt").write_text("work.zip: cannot be read")
    assert failed(read_submission(tmp_path)).found == "handed in, but not collected: work.zip: cannot be read"


def test_a_missing_folder_is_a_failure(tmp_path: Path) -> None:
    assert failed(read_submission(tmp_path / "nobody")).kind == "no-folder"
    assert failed(read_submission(Path("a\0b"))).kind == "no-folder"


def test_a_folder_that_is_a_file_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x = 1")
    failure = failed(read_submission(tmp_path / "file"))
    assert (failure.kind, failure.found) == ("no-folder", "a file")


def test_links_are_failures(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    folder_with(real, b"x = 1")
    (tmp_path / "linked").symlink_to(real)
    assert failed(read_submission(tmp_path / "linked")).kind == "link"
    (tmp_path / "kernels.py").symlink_to(real / "kernels.py")
    assert failed(read_submission(tmp_path)).kind == "link"
    (tmp_path / "kernels.py").unlink()
    (tmp_path / "kernels.py").symlink_to("nowhere")
    assert failed(read_submission(tmp_path)).kind == "link"


def test_special_files_are_failures_and_do_not_block(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels.py"
    began = time.monotonic()
    os.mkfifo(kernels)
    assert failed(read_submission(tmp_path)).kind == "special-file"
    kernels.unlink()
    kernels.mkdir()
    assert failed(read_submission(tmp_path)).kind == "special-file"
    kernels.rmdir()
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as end:
        os.chdir(tmp_path)  # the path of a socket must be short
        try:
            end.bind("kernels.py")
        finally:
            os.chdir(here)
        assert failed(read_submission(tmp_path)).kind == "special-file"
    assert time.monotonic() - began < 5


def test_a_file_above_the_limit_is_a_failure_and_not_read(tmp_path: Path) -> None:
    assert isinstance(read_submission(folder_with(tmp_path, b"#" * MAX_BYTES)), Submission)
    with (tmp_path / "kernels.py").open("wb") as file:
        file.truncate(50 << 30)  # sparse
    failure = failed(read_submission(tmp_path))
    assert failure.kind == "too-large"
    assert f"{50 << 30:,}" in failure.found


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_a_failure(tmp_path: Path) -> None:
    (folder_with(tmp_path, b"x = 1") / "kernels.py").chmod(0)
    assert failed(read_submission(tmp_path)).kind == "unreadable"
