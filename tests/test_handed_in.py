"""Archives of an LMS, of browsers and of students: each kernels.py reaches its student, and nothing else comes out."""

from __future__ import annotations

import io
import os
import stat
import struct
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader import handed_in as module
from grader.chosen_files import HandedIn
from grader.handed_in import handed_in
from grader.intake import quoted, student_name_problem
from grader.lms_names import recognised
from grader.notebook import MAX_NOTEBOOK_BYTES

NOTEBOOKS = ("matmul.ipynb",)
DAY1, DAY2 = (2027, 3, 1, 10, 0, 0), (2027, 3, 2, 10, 0, 0)


def zipped(*files: tuple[str, bytes] | tuple[str, bytes, tuple[int, ...]]) -> bytes:
    """A zip of (name, bytes[, date]); names go in as they are, backslashes too."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text, *date in files:
            info = zipfile.ZipInfo("x", *(date or [DAY1]))  # type: ignore[arg-type]
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return made.getvalue()


def found(tmp_path: Path, **archives: bytes) -> HandedIn:
    folder = tmp_path / "archive"
    folder.mkdir(exist_ok=True)
    for name, data in archives.items():
        (folder / f"{name}.zip").write_bytes(data)
    return handed_in(folder, NOTEBOOKS, top=("03", "submissions"))


def test_only_kernels_only_the_notebook_and_both(tmp_path: Path) -> None:
    got = found(
        tmp_path,
        lms=zipped(
            ("ada/kernels.py", b"a"), ("bob/matmul.ipynb", b"{}"), ("cy/kernels.py", b"c"), ("cy/matmul.ipynb", b"{c}")
        ),
    )
    assert got.files == {
        "ada": {"kernels.py": b"a"},
        "bob": {"matmul.ipynb": b"{}"},
        "cy": {"kernels.py": b"c", "matmul.ipynb": b"{c}"},
    }
    assert got.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "ada/kernels.py",
        "ada/my files/week 3/kernels.py",
        "ada\\kernels.py",
        "ada\\work\\kernels (1).py",
        "ada/kernels (1).py",
        "ada/kernels(12).py",
        "ada/kernels-2.py",
        "ada/kernels_3.py",
        "ada/kernels - Copy.py",
        "ada/kernels - Kopie (2).py",
        "ada/Kernels.PY",
        "./ada/./kernels.py",
        "03/ada/kernels.py",
        "Submissions/03/ada/kernels.py",
        "ada/my_solution.py",
    ],
)
def test_kernels_are_found_whatever_systems_made_of_their_name(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, lms=zipped((name, b"a"))).files == {"ada": {"kernels.py": b"a"}}


@pytest.mark.parametrize("name", ["kernels2d.py", "old_kernels.py", "kernels.py.bak", "kernels1.py", "kernels.txt"])
def test_what_only_resembles_it_is_not_taken_beside_the_real_one(tmp_path: Path, name: str) -> None:
    got = found(tmp_path, lms=zipped((f"ada/{name}", b"other", DAY2), ("ada/kernels.py", b"a")))
    assert got.files == {"ada": {"kernels.py": b"a"}}


def test_of_several_files_of_other_names_none_is_guessed(tmp_path: Path) -> None:
    got = found(tmp_path, lms=zipped(("ada/one.py", b"1"), ("ada/two.py", b"2"), ("ada/essay.pdf", b"3")))
    assert got.files == {}
    assert got.notes == ("ada: no kernels.py; found 'one.py', 'two.py', 'essay.pdf'",)


def test_of_two_notebooks_that_are_wanted_one_of_another_name_is_neither(tmp_path: Path) -> None:
    wanted = ("kernels.py", "a.ipynb", "b.ipynb")
    assert recognised(["mine.ipynb", "mine.py"], wanted) == {"kernels.py": "mine.py"}
    assert recognised(["a (1).ipynb", "mine.ipynb"], wanted) == {"a.ipynb": "a (1).ipynb"}
    (tmp_path / "lms.zip").write_bytes(zipped(("ada/mine.ipynb", b"{}"), ("ada/mine.py", b"m")))
    assert handed_in(tmp_path, wanted[1:]).files == {"ada": {"kernels.py": b"m"}}


def test_what_lies_beside_the_work_is_told_in_a_line_for_each_student(tmp_path: Path) -> None:
    many = [(f"bob/env/{n}.txt", b"x") for n in range(8)]
    got = found(
        tmp_path,
        lms=zipped(
            *(("ada/kernels.py", b"a"), ("ada/essay.pdf", b"1"), ("ada/notes.txt", b"2")),
            *(("bob/kernels.py", b"b"), *many),
            *(("cy/solution.py", b"c"), ("cy/readme", b"3")),
        ),
    )
    assert got.notes == (
        "cy: 'solution.py' is taken for kernels.py, being the only one",
        "ada: left out: 'essay.pdf', 'notes.txt'",
        "bob: left out: '0.txt', '1.txt', '2.txt', '3.txt', '4.txt' and 3 more",
        "cy: left out: 'readme'",
    )


def test_many_that_nobody_asked_for_are_summed_up_and_the_work_is_not(tmp_path: Path) -> None:
    work = [(f"../{n}/kernels.py", b"x") for n in range(8)]
    got = found(tmp_path, lms=zipped(*work, *((f"ada/../{n}.txt", b"x") for n in range(40)), ("bob/kernels.py", b"b")))
    assert got.files == {"bob": {"kernels.py": b"b"}}
    assert sum("kernels.py: a name that leaves its folder" in note for note in got.notes) == len(work)
    assert len(got.notes) == len(work) + 6
    assert got.notes[-1] == "lms.zip, 35 more files: a name that leaves its folder, left out"


def test_what_was_handed_out_is_nobodys_work_and_no_news(tmp_path: Path) -> None:
    whole = [(f"ada/{name}", b"x") for name in ("kernels (1).py", "problem.py", "test_public.py", "course.yml")]
    got = found(tmp_path, lms=zipped(*whole, ("bob/problem.py", b"p"), ("cy/my.py", b"c"), ("cy/problem.py", b"p")))
    assert got.files == {"ada": {"kernels.py": b"x"}, "cy": {"kernels.py": b"c"}}
    assert got.notes == (
        "cy: 'my.py' is taken for kernels.py, being the only one",
        "bob: no kernels.py; found 'problem.py'",
        "ada: 'kernels (1).py' is taken for kernels.py",
    )


def test_work_that_reaches_nobody_is_told_apart(tmp_path: Path) -> None:
    got = found(
        tmp_path, lms=zipped(("a'b/kernels.py", b"a"), ("kernels (1).txt", b"n"), ("bob/kernels.py", b"b")), bad=b"PK"
    )
    assert got.files == {"bob": {"kernels.py": b"b"}}
    assert [sentence.partition(":")[0] for sentence in got.lost] == [
        "bad.zip",
        """the student's name "a'b" holds "'\"""",
    ]
    assert set(got.lost) < set(got.notes)
    fine = found(
        tmp_path, lms=zipped(("bob/kernels.py", b"b"), ("readme.txt", b""), ("bob/more.zip", b"")), bad=zipped()
    )
    assert fine.lost == ()
    for name in ("kernels (2).py", "notes.txt"):
        (tmp_path / "archive" / name).write_bytes(b"whose?")
    assert found(tmp_path).lost == ("kernels (2).py: no student's name in it, left out",)


def test_two_students_of_one_name_are_told_with_what_they_are_called(tmp_path: Path) -> None:
    form = "Lee Lou_{}_assignsubmission_file_/kernels.py"
    got = found(tmp_path, lms=zipped((form.format(111), b"1"), (form.format(222), b"2")))
    (said,) = got.notes
    assert said.startswith("2 students are called 'Lee Lou': they are 'Lee Lou_111' and 'Lee Lou_222' here")
    assert found(tmp_path, lms=zipped((form.format(111), b"1"))).notes == ()


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([("b/kernels.py", DAY2), ("kernels.py", DAY1)], "the newest"),
        ([("kernels.py", DAY2), ("kernels (1).py", DAY1)], "the newest"),
        (
            [("kernels (10).py", DAY1), ("kernels (9).py", DAY1), ("kernels.py", DAY1)],
            "the copy with the highest number",
        ),
        ([("src/kernels (1).py", DAY1), ("kernels.py", DAY1)], "the copy with the highest number"),
        ([("kernels.py", DAY1), ("backup/kernels.py", DAY1)], "the least deep"),
        ([("v2/kernels.py", DAY1), ("v1/kernels.py", DAY1)], "the last by name"),
        ([("v10/kernels.py", DAY1), ("v9/kernels.py", DAY1), ("V1/kernels.py", DAY1)], "the last by name"),
    ],
)
def test_of_several_files_of_one_name_the_line_says_which_counts_and_why(
    tmp_path: Path, files: list[tuple[str, tuple[int, ...]]], why: str
) -> None:
    for order in (files, files[::-1]):
        got = found(tmp_path, lms=zipped(*((f"ada/{name}", name.encode(), date) for name, date in order)))
        taken, *others = (name for name, _ in files)
        assert got.files == {"ada": {"kernels.py": taken.encode()}}
        of = "" if why == "the newest" else "of equally old ones "
        left = ", ".join(map(repr, others))
        assert got.notes == (f"ada: more than one kernels.py: {taken!r} is taken, {of}{why}; left out: {left}",)


def test_a_later_download_wins_over_an_earlier_one(tmp_path: Path) -> None:
    first, second = zipped(("ada/kernels.py", b"old", DAY1)), zipped(("ada/kernels.py", b"new", DAY2))
    got = found(tmp_path, a=second, b=first)
    assert got.files == {"ada": {"kernels.py": b"new"}}
    (said,) = got.notes
    assert said.endswith("'a.zip/kernels.py' is taken, the newest; left out: 'b.zip/kernels.py'")


def test_a_zip_in_the_line_on_several_files_is_named(tmp_path: Path) -> None:
    inner = zipped(("kernels.py", b"inside", DAY2))
    got = found(tmp_path, lms=zipped(("ada/kernels.py", b"beside", DAY1), ("ada/work.zip", inner)))
    assert got.notes == (
        "ada: more than one kernels.py: 'work.zip/kernels.py' is taken, the newest; left out: 'kernels.py'",
    )


@pytest.mark.parametrize(
    "name", ["Kernels.py", "kernels - Copy.py", "kernels copy.py", "kernels (1).py", "a/KERNELS.PY"]
)
def test_a_file_of_another_name_is_told_once_for_all_who_have_it(tmp_path: Path, name: str) -> None:
    students = [f"s{number}" for number in range(7)]
    got = found(tmp_path, lms=zipped(*((f"{student}/{name}", b"x") for student in students), ("ada/kernels.py", b"a")))
    assert all(got.files[student] == {"kernels.py": b"x"} for student in students)
    own = name.rpartition("/")[2]
    assert got.notes == (f"s0, s1, s2, s3, s4 and 2 more: {own!r} is taken for kernels.py",)


BROKEN_ZIP = b"PK\x03\x04 garbage"
LOST = [
    ((("{}/work.zip", BROKEN_ZIP),), "work.zip: cannot be read: File is not a zip file"),
    ((("{}/kernels.py.zip", b""),), "kernels.py.zip: cannot be read: File is not a zip file"),
    ((("{}/kernels.py.txt", b"k"),), "found 'kernels.py.txt'"),
    ((("{}/report.pdf", b"%PDF"), ("{}/b.tar.gz", b"")), "found 'report.pdf', 'b.tar.gz'"),
    ((("{}/", b""),), "an empty folder"),
    ((("{}/src/", b""), ("{}/src/deep/", b"")), "an empty folder"),
    ((("{}/inner.zip", zipped()),), "inner.zip: nothing is in it"),
    ((("{}/inner.zip", zipped(("more.zip", zipped(("kernels.py", b"k"))))),), "found 'more.zip'"),
    ((("{}/timestamp.txt", b"2027-03-02 10:00:00 UTC"),), "only timestamp.txt"),
    ((("{}/timestamp.txt", b"today"),), "timestamp.txt: names no date and time, left out"),
    ((("{}/timestamp.txt", b"today"), ("{}/matmul.ipynb", b"{}")), ""),
    ((("{}/kernels.py", b"k" * (module.MAX_FILE + 1)),), "kernels.py: larger than 4,194,304 bytes, left out"),
    ((("{}/kernels.py", BROKEN_ZIP),), ""),
    ((("{}/work.zip", BROKEN_ZIP), ("{}/matmul.ipynb", b"{}")), "work.zip: cannot be read: File is not a zip file"),
]


@pytest.mark.parametrize("form", ["{}", "{}_7_assignsubmission_file_"])
@pytest.mark.parametrize(("files", "why"), LOST)
def test_whoevers_work_is_not_taken_has_one_line_and_counts_as_lost(
    tmp_path: Path, form: str, files: tuple[tuple[str, bytes], ...], why: str
) -> None:
    of_both = [(name.format(form.format(student)), data) for student in ("Cy", "Flo") for name, data in files]
    got = found(tmp_path, lms=zipped(("ada/kernels.py", b"a"), *of_both))
    wanted = dict.fromkeys(("Cy", "Flo"), f"no kernels.py; {why}") if why else {}
    assert got.unread == wanted
    assert got.lost == tuple(f"{student}: {sentence}" for student, sentence in wanted.items())
    if why:
        assert got.notes == got.lost
        assert not any("kernels.py" in got.files.get(student, {}) for student in wanted)


def test_a_notebook_that_cannot_be_read_counts_as_lost_and_the_kernels_are_there(tmp_path: Path) -> None:
    book = b" " * (MAX_NOTEBOOK_BYTES + 1)
    got = found(tmp_path, lms=zipped(("ada/kernels.py", b"a"), ("ada/matmul.ipynb", book)))
    assert got.files == {"ada": {"kernels.py": b"a"}}
    assert got.lost == got.notes == ("ada: matmul.ipynb: larger than 16,777,216 bytes, left out",)
    assert got.unread == {}


def test_who_has_only_a_notebook_of_another_name_is_told_to_lack_kernels(tmp_path: Path) -> None:
    got = found(tmp_path, lms=zipped(("bob/kernels.ipynb", b"{}")))
    assert got.notes == ("bob: 'kernels.ipynb' is taken for matmul.ipynb, being the only one", "bob: no kernels.py")
    assert (got.lost, got.unread) == ((), {})


def test_of_too_many_encrypted_files_everybody_counts_as_lost(tmp_path: Path) -> None:
    made = bytearray(zipped(*((f"s{number}/work.zip", b"x") for number in range(9))))
    for start in (b"PK\x03\x04", b"PK\x01\x02"):
        at, flags = 0, {b"PK\x03\x04": 6, b"PK\x01\x02": 8}[start]
        while (at := made.find(start, at)) >= 0:
            made[at + flags] |= 1
            at += 4
    got = found(tmp_path, lms=bytes(made))
    assert sorted(got.unread) == [f"s{number}" for number in range(9)]
    assert len(got.lost) == 9


def test_who_is_late_is_known_of_canvas_and_blackboard_alone(tmp_path: Path) -> None:
    got = found(
        tmp_path,
        lms=zipped(
            ("Ada_1_assignsubmission_file_/kernels.py", b"a"),
            ("Bob_2_assignsubmission_file_/kernels.py", b"a"),
            ("Bob_2_assignsubmission_file_/timestamp.txt", b"2027-03-02 10:00:00 UTC"),
            ("cy/kernels.py", b"a"),
        ),
        canvas=zipped(("kimcy_123_456_kernels.py", b"c"), ("leedan_LATE_124_457_kernels.py", b"d")),
        board=zipped(("HW 3_eve_attempt_2027-03-01-22-10-05_kernels.py", b"old")),
    )
    assert got.untimed == ("Ada", "cy")


def test_moodles_canvass_and_blackboards_names_are_known(tmp_path: Path) -> None:
    got = found(
        tmp_path,
        moodle=zipped(
            ("Ada King_4711_assignsubmission_file_/kernels.py", b"a"),
            ("Bob O_Neil_4712_assignsubmission_file_kernels (1).py", b"b"),
            ("Zoë_4713_assignsubmission_file/sub/kernels.py", b"z"),
        ),
        canvas=zipped(("kimcy_123_456_kernels-1.py", b"c"), ("leedan_LATE_124_457_kernels.py", b"d")),
        board=zipped(
            ("HW 3_eve_attempt_2027-03-01-22-10-05_kernels.py", b"old"),
            ("HW 3_flo_attempt_2027-03-01-22-10-05.txt", b"?"),
        ),
    )
    assert {student: files["kernels.py"] for student, files in got.files.items() if "kernels.py" in files} == {
        **{"Ada King": b"a", "Bob O_Neil": b"b", "Zoë": b"z", "kimcy": b"c", "leedan": b"d", "eve": b"old"}
    }
    assert got.files["eve"]["timestamp.txt"] == b"2027-03-01T22:10:05+00:00"


def test_two_students_of_one_name_stay_two(tmp_path: Path) -> None:
    names = "Ada King_{}_assignsubmission_file_/kernels.py"
    got = found(tmp_path, lms=zipped((names.format(1), b"one"), (names.format(2), b"two")))
    assert got.files == {"Ada King_1": {"kernels.py": b"one"}, "Ada King_2": {"kernels.py": b"two"}}


BOARD = "HW_{}_attempt_2027-03-01-22-10-05_{}"
FORGED = "x_ada_attempt_2027-09-09-00-00-00_kernels.py"


@pytest.mark.parametrize(
    "form", [BOARD, "{}_1_2_{}", "{}_1_assignsubmission_file_{}", "{}_1_assignsubmission_file_/{}"]
)
@pytest.mark.parametrize(
    "tail", [FORGED, "ada_7_8_kernels.py", "ada_7_assignsubmission_file_kernels.py", "ada/kernels.py", f"a/{FORGED}"]
)
def test_no_file_name_of_a_students_makes_it_anothers(tmp_path: Path, form: str, tail: str) -> None:
    got = found(tmp_path, lms=zipped((form.format("ada", "kernels.py"), b"a"), (form.format("eve", tail), b"e", DAY2)))
    assert got.files["ada"]["kernels.py"] == b"a"
    assert b"2027-09" not in got.files["ada"].get("timestamp.txt", b"")


@pytest.mark.parametrize(
    "tail", [FORGED, "ada/kernels.py", "ada_1_assignsubmission_file_/kernels.py", "03/ada/kernels.py"]
)
def test_all_of_a_students_own_zip_is_theirs_whatever_names_are_in_it(tmp_path: Path, tail: str) -> None:
    got = found(tmp_path, ada=zipped(("kernels.py", b"a")), eve=zipped(("kernels.py", b"e"), (tail, b"f", DAY2)))
    assert list(got.files) == ["ada", "eve"]
    assert got.files["ada"] == {"kernels.py": b"a"}


def test_a_students_own_zip_may_have_the_assignments_folder_around_it(tmp_path: Path) -> None:
    got = found(
        tmp_path, ada=zipped(("03/kernels.py", b"a"), ("03/data/x.csv", b"")), lms=zipped(("bob/kernels.py", b"b"))
    )
    assert got.files == {"ada": {"kernels.py": b"a"}, "bob": {"kernels.py": b"b"}}


def test_an_assignment_handed_out_among_students_folders_is_nobodys(tmp_path: Path) -> None:
    got = found(tmp_path, lms=zipped(("03/kernels.py", b"stub"), ("03/bob/kernels.py", b"b")))
    assert got.files == {"bob": {"kernels.py": b"b"}}


def test_users_whose_names_end_alike_stay_two(tmp_path: Path) -> None:
    got = found(
        tmp_path, lms=zipped(*((BOARD.format(name, "kernels.py"), name.encode()) for name in ("a_doe", "b_doe")))
    )
    assert sorted(files["kernels.py"] for files in got.files.values()) == [b"a_doe", b"b_doe"]


@pytest.mark.parametrize(
    "name", ["Pat O'Brien", "Pat O\u2019Brien", "M\u00fcller, Zo\u00eb", "Bob (Rob) Lee", "Ana/Eva Paz"]
)
def test_a_name_as_people_have_it_loses_nobodys_work(tmp_path: Path, name: str) -> None:
    in_files = name.replace("/", "_")
    got = found(tmp_path, lms=zipped((f"{in_files}_7_assignsubmission_file_/kernels.py", b"a")))
    (student,) = got.files
    assert got.files[student] == {"kernels.py": b"a"}
    if student != in_files:
        assert got.notes == (f"{quoted(in_files)} is {quoted(student)} here",)
    assert got.lost == ()


def test_names_that_become_one_stay_two(tmp_path: Path) -> None:
    form = "Pat O{}Brien_{}_assignsubmission_file_/kernels.py"
    got = found(tmp_path, lms=zipped((form.format("'", 1), b"1"), (form.format(",", 2), b"2")))
    assert got.files == {"Pat O_Brien_1": {"kernels.py": b"1"}, "Pat O_Brien_2": {"kernels.py": b"2"}}


def test_canvass_mark_of_a_late_hand_in_is_told(tmp_path: Path) -> None:
    got = found(tmp_path, lms=zipped(("kimcy_LATE_1_2_kernels.py", b"k"), ("lee_3_4_kernels.py", b"l")))
    assert got.notes == (
        "kimcy: late, says the LMS, which does not say when: without a timestamp.txt it counts as in time",
    )


def test_a_zip_in_a_zip_is_its_students_and_a_zip_in_that_is_not_opened(tmp_path: Path) -> None:
    deep = zipped(("kernels.py", b"deep"))
    inner = zipped(("work\\kernels.py", b"a"), ("more.zip", deep))
    assert found(tmp_path, lms=zipped(("ada/work.zip", inner))).files == {"ada": {"kernels.py": b"a"}}
    only = zipped(("more.zip", deep))
    assert found(tmp_path, lms=zipped(("ada/work.zip", only))).files == {}


def test_a_students_own_zip_is_named_after_them(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    (folder / "dan").mkdir(parents=True)
    (folder / "dan/work.zip").write_bytes(zipped(("src/kernels.py", b"d")))
    (folder / "eve").mkdir()
    (folder / "eve/kernels.py").write_bytes(b"e")
    (folder / "kimcy_123_456_work.zip").write_bytes(zipped(("kernels.py", b"c")))
    assert found(tmp_path, ada=zipped(("kernels.py", b"a"), ("sub/matmul.ipynb", b"{}"))).files == {
        "ada": {"kernels.py": b"a", "matmul.ipynb": b"{}"},
        "dan": {"kernels.py": b"d"},
        "eve": {"kernels.py": b"e"},
        "kimcy": {"kernels.py": b"c"},
    }


def test_names_without_the_flag_for_utf8_are_read_as_what_they_are(tmp_path: Path) -> None:
    def unflagged(name: bytes) -> bytes:
        data = zipped(("~" * len(name), b"a"))
        return data.replace(b"~" * len(name), name)

    assert list(found(tmp_path, lms=unflagged("müller/kernels.py".encode())).files) == ["müller"]
    assert list(found(tmp_path, lms=unflagged("müller/kernels.py".encode("cp437"))).files) == ["müller"]
    assert list(found(tmp_path, lms=zipped(("mu\u0308ller/kernels.py", b"a"))).files) == ["müller"]
    assert list(found(tmp_path, lms=zipped(("王/kernels.py", b"a"))).files) == ["王"]


def with_mode(name: str, mode: int, text: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo(name, DAY1)
        info.create_system = 3
        info.external_attr = mode << 16
        archive.writestr(info, text)
        archive.writestr(zipfile.ZipInfo("bob/kernels.py", DAY1), b"b")
    return made.getvalue()


@pytest.mark.parametrize(
    ("archive", "said"),
    [
        (with_mode("ada/kernels.py", stat.S_IFLNK | 0o777, b"/etc/passwd"), "a link"),
        (with_mode("ada/kernels.py", stat.S_IFIFO | 0o644, b""), "no ordinary file"),
        (zipped(("../ada/kernels.py", b"a"), ("bob/kernels.py", b"b")), "leaves its folder"),
        (zipped(("ada/../../kernels.py", b"a"), ("bob/kernels.py", b"b")), "leaves its folder"),
        (zipped(("..\\ada\\kernels.py", b"a"), ("bob/kernels.py", b"b")), "leaves its folder"),
        (zipped(("/ada/kernels.py", b"a"), ("bob/kernels.py", b"b")), "leaves its folder"),
        (zipped(("C:\\ada\\kernels.py", b"a"), ("bob/kernels.py", b"b")), "leaves its folder"),
        (zipped(("a*a/kernels.py", b"a"), ("bob/kernels.py", b"b")), "the student's name"),
        (zipped(("a\x1b[31m/kernels.py", b"a"), ("bob/kernels.py", b"b")), "the student's name"),
        (zipped(("<img src=x>/kernels.py", b"a"), ("bob/kernels.py", b"b")), "the student's name"),
        (zipped(("a" * 300 + "/kernels.py", b"a"), ("bob/kernels.py", b"b")), "too long a name"),
        (zipped(("kernels (1).txt", b"a"), ("bob/kernels.py", b"b")), "no student's name in it"),
    ],
)
def test_what_is_no_file_of_a_student_is_left_out_and_named(tmp_path: Path, archive: bytes, said: str) -> None:
    got = found(tmp_path, lms=archive)
    assert got.files == {"bob": {"kernels.py": b"b"}}
    assert len(got.notes) == 1
    assert said in got.notes[0]


def test_an_encrypted_entry_is_said_to_be(tmp_path: Path) -> None:
    data = bytearray(zipped(("ada/kernels.py", b"a")))
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + flags] |= 1
    got = found(tmp_path, lms=bytes(data))
    assert (got.files, got.notes) == ({}, ("ada: no kernels.py; lms.zip, ada/kernels.py: encrypted, left out",))


def test_a_bomb_is_read_no_further_than_its_bound(tmp_path: Path) -> None:
    huge = zipped(("kernels.py", b"\0" * (module.MAX_FILE + 1)))
    assert len(huge) < 10_000
    for archive in (zipped(("ada/kernels.py", b"\0" * (module.MAX_FILE + 1))), zipped(("ada/work.zip", huge))):
        got = found(tmp_path, lms=archive)
        assert got.files == {}
        assert "larger than 4,194,304 bytes, left out" in got.notes[0]


def test_a_bomb_takes_no_more_memory_than_its_bound(tmp_path: Path) -> None:
    archive = zipped(("ada/kernels.py", b"\0" * (16 * module.MAX_FILE)))
    tracemalloc.start()
    try:
        found(tmp_path, lms=archive)
        assert tracemalloc.get_traced_memory()[1] < 4 * module.MAX_FILE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("nested", [False, True])
def test_whatever_lies_beside_it_the_work_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nested: bool
) -> None:
    monkeypatch.setattr(module, "MAX_STUDENT", 20_000)
    monkeypatch.setattr(module, "MAX_NESTED_ENTRIES", 10)
    packages = [(f"env/lib/{n}.py", b"\0" * 1000) for n in range(100)]
    files = [*packages, ("kernels.py", b"a"), ("work/matmul.ipynb", b"{}")]
    archive = zipped(("ada/all.zip", zipped(*files))) if nested else zipped(*((f"ada/{n}", c) for n, c in files))
    got = found(tmp_path, lms=archive)
    assert got.files == {"ada": {"kernels.py": b"a", "matmul.ipynb": b"{}"}}
    assert len(got.notes) <= 2  # that there are more, and what was left out


def test_a_notebook_may_be_as_large_as_in_the_exchange(tmp_path: Path) -> None:
    book = b"1" * MAX_NOTEBOOK_BYTES
    assert found(tmp_path, lms=zipped(("ada/matmul.ipynb", book))).files == {"ada": {"matmul.ipynb": book}}
    got = found(tmp_path, lms=zipped(("ada/matmul.ipynb", book + b"1")))
    why = f"ada: no kernels.py; matmul.ipynb: larger than {MAX_NOTEBOOK_BYTES:,} bytes, left out"
    assert (got.files, got.notes) == ({}, (why,))


def test_an_archive_that_lies_about_sizes_gains_nothing(tmp_path: Path) -> None:
    data = bytearray(zipped(("ada/kernels.py", b"\0" * (module.MAX_FILE * 2))))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)  # "uncompressed size"
    got = found(tmp_path, lms=bytes(data))
    assert got.files == {}
    assert "ada" in got.notes[0]


def test_all_that_one_student_may_have_read_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STUDENT", 1000)
    many = [(f"ada/{n}/kernels.py", b"\0" * 400) for n in range(50)]
    got = found(tmp_path, lms=zipped(*many, ("bob/kernels.py", b"b")))
    assert list(got.files) == ["ada", "bob"]
    assert any("larger than" in note for note in got.notes)


def test_a_flood_of_entries_is_cut_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NESTED_ENTRIES", 10)
    inner = zipped(("kernels.py", b"a"), *((f"{n}.txt", b"") for n in range(30)))
    got = found(tmp_path, lms=zipped(("ada/work.zip", inner)))
    assert got.files == {"ada": {"kernels.py": b"a"}}
    assert got.notes[0] == "ada: work.zip: 31 entries, of which 10 were read"


def test_links_and_pipes_among_the_downloads_are_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    (folder / "ada").mkdir(parents=True)
    (tmp_path / "outside.zip").write_bytes(zipped(("eve/kernels.py", b"e")))
    (folder / "ada/kernels.py").symlink_to("/etc/passwd")
    (folder / "lms.zip").symlink_to(tmp_path / "outside.zip")
    (folder / "bob").mkdir()
    os.mkfifo(folder / "bob/kernels.py")
    got = handed_in(folder, NOTEBOOKS)
    assert got.files == {}
    assert sorted(got.notes) == [
        "ada: no kernels.py; ada/kernels.py: a link, not followed",
        "bob: no kernels.py; kernels.py: cannot be read: no ordinary file",
        "lms.zip: a link, not followed",
    ]
    assert sorted(got.lost) == sorted(got.notes)


def test_what_systems_add_is_nobodys_work(tmp_path: Path) -> None:
    names = ("__MACOSX/ada/._kernels.py", "ada/.ipynb_checkpoints/matmul.ipynb", "ada/._kernels.py", "ada/.kernels.py")
    got = found(tmp_path, lms=zipped(*((name, b"?", DAY2) for name in names), ("ada/kernels.py", b"a")))
    assert (got.files, got.notes) == ({"ada": {"kernels.py": b"a"}}, ())


def test_a_pattern_of_ones_own_names_students_files_and_times(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    (folder / "all.zip").write_bytes(
        zipped(("g1-ada-20270301-kernels.py", b"old"), ("g1-ada-20270302-kernels.py", b"new"), ("readme.py", b""))
    )
    pattern = r"g\d-(?P<student_id>\w+)-(?P<timestamp>\d+)-(?P<file_id>\w+)"
    got = handed_in(folder, NOTEBOOKS, pattern)
    assert got.files == {"ada": {"kernels.py": b"new", "timestamp.txt": b"2027-03-02T00:00:00+00:00"}}
    assert "readme.py: no student's name in it, left out" in got.notes


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"2027-03-02 10:00:00.000000 UTC\n", b"2027-03-02T10:00:00+00:00"),
        (b"2027-03-02 11:00:00 +0100", b"2027-03-02T10:00:00+00:00"),  # nbgrader: one minute and forty seconds
        (b"2027-03-02 05:00:00 America/New_York", b"2027-03-02T10:00:00+00:00"),
        (b"yesterday", None),
        (b"\xff\x00" * 5_000, None),
        (b"", None),
    ],
)
def test_a_timestamp_is_kept_as_nbgrader_reads_it_rightly_or_not_at_all(
    tmp_path: Path, text: bytes, kept: bytes | None
) -> None:
    got = found(tmp_path, lms=zipped(("ada/kernels.py", b"a"), ("ada/timestamp.txt", text)))
    assert got.files["ada"].get("timestamp.txt") == kept
    assert got.notes == (() if kept else ("ada: timestamp.txt: names no date and time, left out",))


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip at all", zipped(("ada/kernels.py", b"a"))[:-30]])
def test_a_broken_archive_is_named_and_the_others_are_read(tmp_path: Path, data: bytes) -> None:
    got = found(tmp_path, broken=data, fine=zipped(("bob/kernels.py", b"b")))
    assert got.files == {"bob": {"kernels.py": b"b"}}
    assert got.notes[0].startswith("broken.zip: cannot be read: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.data())
def test_no_archive_whatever_is_in_it_is_an_exception(tmp_path: Path, data: st.DataObject) -> None:
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)
    names = data.draw(st.lists(st.one_of(text, text.map(lambda name: f"{name}/kernels.py")), max_size=5, unique=True))
    archive = bytearray(zipped(*((name, b"x") for name in names)))
    for _ in range(data.draw(st.integers(0, 3))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    got = found(tmp_path, lms=bytes(archive))
    for student, files in got.files.items():
        assert student_name_problem(student) is None
        assert set(files) <= {"kernels.py", "matmul.ipynb", "timestamp.txt"}
