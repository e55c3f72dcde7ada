"""What is taken from a stranger's folder: ordinary files alone, under names that mean nothing to anybody."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from grader.intake import ordinary_bytes, student_name_problem
from grader.records import Failure
from grader.submission import Submission, read_submission

LIMIT = 100


def failed(path: Path) -> Failure:
    answer = ordinary_bytes(path, LIMIT)
    assert isinstance(answer, Failure), answer
    assert answer.what.endswith(".")
    return answer


def test_a_file_is_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(b"\x00\xff" * 50)
    assert ordinary_bytes(tmp_path / "a.ipynb", LIMIT) == b"\x00\xff" * 50
    (tmp_path / "empty").write_bytes(b"")
    assert ordinary_bytes(tmp_path / "empty", LIMIT) == b""


def test_a_file_of_the_current_folder_is_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert ordinary_bytes(Path("a"), LIMIT) == b"x"


@pytest.mark.parametrize("name", ["none.ipynb", "none/a.ipynb"])
def test_no_file_is_a_failure(tmp_path: Path, name: str) -> None:
    assert failed(tmp_path / name).kind == "no-file"


@pytest.mark.parametrize("name", ["a\x00b", "a" * 300])
def test_a_name_that_no_file_can_have_is_a_failure(tmp_path: Path, name: str) -> None:
    assert failed(tmp_path / name).kind == "unreadable"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"secret")
    for target in (tmp_path / "real", Path("nowhere"), Path("/etc/passwd")):
        (tmp_path / "link").symlink_to(target)
        assert failed(tmp_path / "link").kind == "link"
        (tmp_path / "link").unlink()


def test_a_folder_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/kernels.py").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert failed(tmp_path / "link/kernels.py").kind == "link"


def test_a_file_that_becomes_a_link_when_looked_at_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner may change it between a look and the opening."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "kernels.py").write_bytes(b"harmless")
    looks = os.lstat

    def exchanged(path: str, *, dir_fd: int | None = None) -> os.stat_result:
        seen = looks(path, dir_fd=dir_fd)
        (tmp_path / "kernels.py").unlink()
        (tmp_path / "kernels.py").symlink_to(tmp_path / "secret")
        return seen

    monkeypatch.setattr("grader.intake.os.lstat", exchanged)
    assert isinstance(ordinary_bytes(tmp_path / "kernels.py", LIMIT), Failure)


def test_a_file_that_becomes_a_pipe_when_looked_at_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kernels.py").write_bytes(b"harmless")
    looks = os.lstat

    def exchanged(path: str, *, dir_fd: int | None = None) -> os.stat_result:
        seen = looks(path, dir_fd=dir_fd)
        (tmp_path / "kernels.py").unlink()
        os.mkfifo(tmp_path / "kernels.py")
        return seen

    monkeypatch.setattr("grader.intake.os.lstat", exchanged)
    assert failed(tmp_path / "kernels.py").kind == "special-file"


def test_special_files_are_failures_and_do_not_block(tmp_path: Path) -> None:
    began = time.monotonic()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert (failed(tmp_path / "pipe").kind, failed(tmp_path / "pipe").found) == ("special-file", "a named pipe")
    assert failed(tmp_path / "folder").kind == "special-file"
    assert failed(Path("/dev/zero")).kind == "special-file"
    assert time.monotonic() - began < 5


def test_a_file_above_the_limit_is_not_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(50 << 30)  # sparse
    assert failed(tmp_path / "large").kind == "too-large"
    assert f"{50 << 30:,} bytes" in failed(tmp_path / "large").found
    (tmp_path / "fits").write_bytes(b"x" * LIMIT)
    assert ordinary_bytes(tmp_path / "fits", LIMIT) == b"x" * LIMIT


def test_a_hundred_thousand_files_cost_little(tmp_path: Path) -> None:
    for number in range(100_000):
        os.close(os.open(tmp_path / f"{number}.txt", os.O_WRONLY | os.O_CREAT))
    began = time.monotonic()
    missing = read_submission(tmp_path)
    assert isinstance(missing, Failure)
    assert missing.found.count(".txt") == 8
    (tmp_path / "kernels.py").write_text("pass")
    assert isinstance(read_submission(tmp_path), Submission)
    assert time.monotonic() - began < 20


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    before = _open_descriptors()
    for name in ("a", "link", "pipe", "none", "a/b"):
        ordinary_bytes(tmp_path / name, LIMIT)
    assert _open_descriptors() == before


def _open_descriptors() -> list[int]:
    found = []
    for number in range(100):
        try:
            mode = os.fstat(number).st_mode
        except OSError:
            continue
        found.append(number if not stat.S_ISFIFO(mode) else -number)
    return found


@pytest.mark.parametrize(
    "name", ["ada", "müller", "mu\u0308ller", "李雷", "عمر", "a.b_c-d@uni.example", "Ada Lovelace", "007", "ada+gpu"]
)
def test_names_of_people_are_accepted(name: str) -> None:
    assert student_name_problem(name) is None


@pytest.mark.parametrize(
    "mark", [*"*?[]<>\"&'`\\/", "\n", "\t", "\x1b", "\x7f", "\u200b", "\u202e", "\u00a0", "\u2028"]
)
def test_a_name_with_a_mark_that_means_something_is_refused(mark: str) -> None:
    said = student_name_problem(f"a{mark}da")
    assert said is not None
    assert said.isascii()
    assert said.isprintable()


def test_a_name_is_told_as_it_is_written() -> None:
    for name in ("Pat O'Brien", 'Bob "Rob" Lee', "Zo\xeb O'Hara\\x"):
        said = student_name_problem(name)
        assert said is not None
        assert name in said


@pytest.mark.parametrize("letter", ["\u3164", "\u115f", "\ufe0f", "\u034f", "\U000e0101", "\u00ad", "\ud800"])
def test_a_letter_that_nobody_sees_is_refused(letter: str) -> None:
    assert student_name_problem(f"ada{letter}") is not None


@pytest.mark.parametrize("name", ["", " ", ".", "..", ".ssh", " ada", "ada ", "a" * 201, "李" * 70])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    assert student_name_problem(name) is not None


def test_the_exchanges_separator_is_refused_in_the_exchange_alone() -> None:
    assert student_name_problem("ada+gpu") is None
    assert student_name_problem("ada+gpu", in_exchange=True) is not None
