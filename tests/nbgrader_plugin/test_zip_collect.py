"""`nbgrader zip_collect` with our reader of archives: what students handed in is in submitted/, and nothing else is."""

from __future__ import annotations

import csv
import io
import re
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbgrader_class
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
    assert done.returncode == 1, done.stderr
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
        "flo/01/not-collected.txt": "no kernels.py; lms.zip, flo/kernels.py: a link, left out\n",
    }
    for said in ("more than one kernels.py", "leaves its folder", "flo/kernels.py: a link", "3 students' files are in"):
        assert said in done.stderr
    for noise in ("Parsing file", "Copying", "submitted/ada"):  # nothing stands between what is to be read
        assert noise not in done.stderr
    (archives / "more.zip").write_bytes(named_zip("Zo\xeb O'Hara/kernels.py", "cy/kernels.py"))
    done = nbgrader_command("zip_collect", "01", "--force")
    assert done.returncode == 1
    assert "\\" not in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "not everything was collected, see the sentences above (3): lms.zip, ../eve/kernels.py: a name" in last
    assert """the student's name "Zo\xeb O'Hara" holds""" in done.stderr
    assert (root / "submitted/cy/01/kernels.py").is_file()
    (archives / "more.zip").unlink()
    done = nbgrader_command("zip_collect", "01", "--force", "--FileNameCollectorPlugin.named_regexp=(")
    assert done.returncode != 0
    assert "is no regular expression" in done.stderr


MOODLE = "{}_{}_assignsubmission_file_/{}"
LOST = {
    "Cy Empty": ("", b"", "no kernels.py; an empty folder"),
    "Flo Bad": ("work.zip", b"PK garbage", "no kernels.py; work.zip: cannot be read: File is not a zip file"),
    "Kim Zip": ("inner.zip", b"PK\x05\x06" + bytes(18), "no kernels.py; inner.zip: nothing is in it"),
    "Ned Txt": ("kernels.py.txt", b"x", "no kernels.py; found 'kernels.py.txt'"),
}


def moodle_zip(**works: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number, (student, (file, data)) in enumerate(works.items()):
            archive.writestr(MOODLE.format(student, number, file), data)
    return made.getvalue()


def download(root: Path, data: bytes) -> None:
    (root / "downloaded/01/archive").mkdir(parents=True, exist_ok=True)
    (root / "downloaded/01/archive/lms.zip").write_bytes(data)


@pytest.mark.usefixtures("gradebook_file")
def test_work_that_cannot_be_read_is_counted_and_is_blank_until_it_can(root: Path, nbgrader_command: Run) -> None:
    kernels = nbgrader_class.KERNELS.encode()
    works = {"Ada Ok": ("kernels.py", kernels), **{student: lost[:2] for student, lost in LOST.items()}}
    download(root, moodle_zip(**works))
    done = nbgrader_command("zip_collect", "01")
    assert done.returncode == 1
    *_, before, last = done.stderr.strip().splitlines()
    assert "1 students' files are in submitted" in before
    assert "not everything was collected, see the sentences above (4): Cy Empty: no kernels.py; an empty" in last
    for student, (_, _, why) in LOST.items():
        assert (root / "submitted" / student / "01/not-collected.txt").read_text() == f"{why}\n"
    done = nbgrader_command("autograde", "01", before=nbgrader_class.FAKE_CLASS, FAKE_GPU="1")
    assert done.returncode == 0, done.stderr
    assert "4 of them wait for a score (Cy Empty, Flo Bad, Kim Zip, Ned Txt" in done.stderr
    assert nbgrader_command("export").returncode == 0
    with (root / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert rows["Ada Ok"]["score"] != ""
    for student, (_, _, why) in LOST.items():
        assert (rows[student]["score"], rows[student]["why"]) == ("", f"handed in, but not collected: {why}")
    # It comes after all.
    download(root, moodle_zip(**{**works, "Ned Txt": ("kernels.py", kernels)}))
    assert nbgrader_command("zip_collect", "01", "--force").returncode == 1
    assert not (root / "submitted/Ned Txt/01/not-collected.txt").exists()
    done = nbgrader_command("autograde", "01", before=nbgrader_class.FAKE_CLASS, FAKE_GPU="1")
    assert "01: 1 autograded; 4 skipped" in done.stderr
    # A broken resubmission takes nothing away.
    download(root, moodle_zip(**{**works, "Ada Ok": ("work.zip", b"PK garbage")}))
    done = nbgrader_command("zip_collect", "01", "--force")
    assert "Ada Ok: what was collected before stays" in done.stderr
    assert [path.name for path in (root / "submitted/Ada Ok/01").iterdir()] == ["kernels.py"]


@pytest.mark.usefixtures("gradebook_file")
def test_a_timestamp_that_an_instructor_wrote_outlives_collecting_anew(root: Path, nbgrader_command: Run) -> None:
    course = root / "course.yml"
    due = "title: Doubling\n    due: 2026-03-01T23:59:00+01:00"
    course.write_text(f"grading: {{late: {{per_day: 10}}}}\n{course.read_text().replace('title: Doubling', due)}")
    archive = {"Ada": ("kernels.py", b"a"), "Bob": ("kernels.py", b"b"), "Cy": ("kernels.py", b"c")}
    download(root, moodle_zip(**archive))
    done = nbgrader_command("zip_collect", "01")
    untimed = "01 was due 2026-03-01 23:59+01:00, and nothing says when {} students handed in ({}): they count as in"
    assert (done.returncode, done.stderr.count("was due")) == (0, 1), done.stderr
    assert untimed.format(3, "Ada, Bob, Cy") in done.stderr
    written = "2026-03-02 10:00:00 UTC\n"
    for student in ("Ada", "Bob"):
        (root / "submitted" / student / "01/timestamp.txt").write_text(written)
    download(root, moodle_zip(**{**archive, "Ada": ("kernels.py", b"newer")}))
    done = nbgrader_command("zip_collect", "01", "--force")
    assert done.returncode == 0, done.stderr
    assert (root / "submitted/Ada/01/kernels.py").read_bytes() == b"newer"
    for student in ("Ada", "Bob"):
        assert (root / "submitted" / student / "01/timestamp.txt").read_text() == written
    assert untimed.format(1, "Cy") in done.stderr
    assert "kept, with kernels.py as it was: Bob (2026-03-02 10:00:00 UTC)" in done.stderr
    assert "kept, with new work, so change it if that came later: Ada (2026-03-02 10:00:00 UTC)" in done.stderr


EARLY, WRITTEN, LATER = (f"2027-03-0{day} 10:00:00 UTC" for day in (1, 2, 3))


@pytest.mark.parametrize(
    ("brought", "by_lms", "counts", "said"),
    [
        (None, False, WRITTEN, "is kept"),
        (EARLY, False, WRITTEN, "is kept"),
        (LATER, False, LATER, f"said {WRITTEN}, and is {LATER} now"),
        (EARLY, True, EARLY, f"said {WRITTEN}, and is {EARLY} now"),
        (LATER, True, LATER, f"said {WRITTEN}, and is {LATER} now"),
        (WRITTEN, True, WRITTEN, ""),
        (WRITTEN, False, WRITTEN, ""),
    ],
)
def test_of_two_times_the_lms_counts_then_the_later_and_a_line_has_both(
    tmp_path: Path, brought: str | None, by_lms: bool, counts: str, said: str
) -> None:
    from grader.nbgrader_plugin.collected_times import keep_times

    (tmp_path / "timestamp.txt").write_text(WRITTEN)
    files = {"ada": {"kernels.py": b"a"} | ({"timestamp.txt": brought.encode()} if brought else {})}
    told = keep_times(files, {"ada": tmp_path}, {"ada"} if by_lms else ())
    assert files["ada"]["timestamp.txt"] == counts.encode()
    assert len(told) == bool(said)
    assert all(said in line for line in told)


@pytest.mark.parametrize("text", ["last night", "", "x" * 500])
def test_a_text_that_names_no_time_is_not_kept_and_a_line_says_so(tmp_path: Path, text: str) -> None:
    from grader.nbgrader_plugin.collected_times import keep_times

    (tmp_path / "timestamp.txt").write_text(text)
    files = {"ada": {"kernels.py": b"a"}}
    (said,) = keep_times(files, {"ada": tmp_path}, ())
    assert re.match("ada: timestamp.txt .*; it is not kept", said)
    assert files == {"ada": {"kernels.py": b"a"}}


@pytest.mark.parametrize("case", ["no policy", "no due date", "not yet due", "all are timed"])
def test_where_nobody_can_be_late_nothing_is_said_of_times(case: str) -> None:
    from datetime import UTC, datetime

    from grader.chosen_files import HandedIn
    from grader.course import Assignment, Late
    from grader.nbgrader_plugin.zip_collect import without_times

    late = Late.model_validate({"per_day": 0 if case == "no policy" else 10})
    limits = {"check": "5 s", "memory": "1 GiB", "timeouts": "5 s"}
    due = {} if case == "no due date" else {"due": "2027-03-01T00:00:00+00:00"}
    assignment = Assignment.model_validate(
        {"name": "01", "title": "x", "parts": {"correctness": 100}, "limits": limits, **due}
    )
    files = {"ada": {"kernels.py": b"a"} | ({"timestamp.txt": b"x"} if case == "all are timed" else {})}
    found = HandedIn(files, (), untimed=("ada",))
    now = datetime(2027, 2 if case == "not yet due" else 4, 1, tzinfo=UTC)
    assert without_times(found, files, assignment, late, now) == []
