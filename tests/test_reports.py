"""Reports: nothing hidden is shown, nothing of a student acts on a terminal or a spreadsheet."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.gradebook import cell, to_csv
from grader.records import CheckResult, Failure, Finding, KernelPrints, PartScore, Place, Severity, State, Verdict
from grader.reports.json import from_json, to_json
from grader.reports.terminal import class_table, plain_table, student_report
from grader.reports.text import (
    MAX_FINDINGS,
    PRINTED_CHARACTERS,
    PRINTED_LINES,
    clean,
    failure_lines,
    first_lines,
    last_lines,
    one_line,
)
from grader.reports.view import for_student

EVIL = "\x1b]0;owned\x07\x1b[2J[bold red]=cmd|' /C calc'!A0[/]\u202egnp.exe\r\n"

PUBLIC = CheckResult(
    "test_sum[33]",
    "correctness",
    1.0,
    "out[0] is the sum.",
    False,
    False,
    failure=Failure("wrong-values", "out[0] is wrong.", "1.5", EVIL, "kernels.py:7", "add them all"),
    findings=(
        Finding("out-of-bounds", Severity.ERROR, Place(7, "out[i] = 0"), "written past the end", "guard", count=3),
    ),
)
HIDDEN = CheckResult(
    "test_secret[1025]",
    "correctness",
    1.0,
    "Other lengths work, too.",
    True,
    False,
    failure=Failure("wrong-values", "SECRET what", "SECRET expected", "SECRET found", "SECRET where", "SECRET try"),
    findings=(Finding("race", Severity.WARNING, Place(9, "SECRET line"), "SECRET finding"),),
    measured={"SECRET counter": 3.0},
)
UNMEASURED = CheckResult("test_race", "speed", 1.0, "Fast.", False, None, State.NOT_MEASURED, reason="no GPU")


def verdict(*checks: CheckResult, student: str = "ada", total: float | None = None) -> Verdict:
    return Verdict(
        student=student,
        assignment="02",
        sha256="0" * 64,
        device="simulated",
        parts=(PartScore("correctness", 60, 60, 12.5), PartScore("speed", 40, 0, 0)),
        checks=checks,
        total=total,
        points=100,
        points_judged=60,
        summary=f"2 of 3 checks failed: {EVIL}",
    )


def acts_on_a_terminal(text: str) -> bool:
    return any(not (c == "\n" or c.isprintable()) for c in text)


def test_a_student_report_shows_a_failure_with_all_that_helps() -> None:
    report = student_report(verdict(PUBLIC, HIDDEN, UNMEASURED))
    for part in ("out[0] is wrong.", "expected 1.5", "kernels.py:7", "add them all", "written past the end (3 times)"):
        assert part in report
    assert "not measured: no GPU" in report
    assert "open; so far 12.5 of the 60 points judged, 100 in all" in report


def test_a_total_that_was_scaled_says_from_what() -> None:
    scaled = "20.83 of 100 points, scaled from 12.5 of the 60 judged"
    assert scaled in student_report(verdict(PUBLIC, UNMEASURED, total=20.83))
    whole = replace(verdict(PUBLIC, total=12.5), points_judged=100)
    assert "total:  12.5 of 100 points\n" in student_report(whole)


def test_findings_that_a_report_leaves_out_are_counted() -> None:
    def told(count: int) -> str:
        findings = tuple(Finding("race", Severity.ERROR, Place(line), f"race {line}") for line in range(1, count + 1))
        return student_report(verdict(replace(PUBLIC, findings=findings)))

    assert "more finding" not in told(MAX_FINDINGS)
    assert told(MAX_FINDINGS + 1).count("and 1 more finding\n") == 1
    assert "and 2 more findings\n" in told(MAX_FINDINGS + 2)


def test_a_hidden_check_shows_its_sentence_and_nothing_else() -> None:
    shown = for_student(verdict(PUBLIC, HIDDEN))
    for text in (student_report(verdict(PUBLIC, HIDDEN)), to_json((shown,)), repr(shown)):
        assert "Other lengths work, too." in text
        assert "SECRET" not in text
        assert "test_secret" not in text
        assert "1025" not in text
    assert shown.checks[1].passed is False


def test_the_number_of_cases_of_a_hidden_check_is_hidden() -> None:
    one = student_report(verdict(PUBLIC, HIDDEN))
    three = student_report(verdict(PUBLIC, HIDDEN, HIDDEN, replace(HIDDEN, passed=True, failure=None)))
    assert one == three


def test_a_hidden_check_that_was_not_judged_gives_no_reason_away() -> None:
    lost = replace(HIDDEN, passed=None, failure=None, state=State.NOT_JUDGED, reason="SECRET size 1025")
    report = student_report(verdict(PUBLIC, lost))
    assert "SECRET" not in report
    assert "not judged: see your instructor" in report


def test_a_failure_that_an_earlier_check_shows_is_named_and_not_repeated() -> None:
    missing = Failure("no-kernels-file", "There is no kernels.py.", advice="Write kernels.py, then try again.")
    plain = replace(PUBLIC, findings=(), failure=missing)
    checks = [replace(plain, name=f"test_{name}[33]") for name in ("sum", "product", "speed")]
    checks[2] = replace(checks[2], part="speed")
    report = student_report(verdict(*checks))
    assert report.count("Write kernels.py") == 1
    assert report.count("as test_sum[33]: There is no kernels.py.") == 2
    assert report.count("There is no kernels.py.") == 3


def test_a_failure_that_says_something_else_is_shown_whole() -> None:
    other = replace(PUBLIC.failure or Failure("", ""), advice="start at zero")
    report = student_report(verdict(PUBLIC, replace(PUBLIC, name="test_product", failure=other)))
    assert "add them all" in report
    assert "start at zero" in report
    assert "as test_sum" not in report


def test_a_failed_case_stands_for_the_others_of_its_function() -> None:
    cases = [replace(PUBLIC, name=f"test_sum[{n}]") for n in (1, 33, 65)]
    report = student_report(verdict(replace(cases[0], passed=True, failure=None, findings=()), *cases[1:]))
    assert "test_sum: 1 of 3 cases passed" in report
    assert report.count("out[0] is wrong.") == 1
    assert "also failed: [65]" in report


@pytest.mark.parametrize("colour", [False, True])
def test_nothing_of_a_student_acts_on_a_terminal(colour: bool) -> None:
    evil = replace(PUBLIC, name=f"test[{EVIL}]", sentence=EVIL, findings=(replace(PUBLIC.findings[0], what=EVIL),))
    for text in (
        student_report(verdict(evil, student=EVIL), colour=colour),
        class_table([verdict(evil, student=EVIL)], colour=colour),
        plain_table([("ok", EVIL, EVIL)], colour=colour),
    ):
        assert "\x1b]" not in text
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
        assert "\x07" not in text
        assert "[bold red]" in text.replace("\n", "")
        if not colour:
            assert not acts_on_a_terminal(text)


@given(st.text())
def test_cleaned_text_has_no_control_and_no_direction_characters(text: str) -> None:
    forbidden = r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
    assert not re.search(forbidden, clean(text))
    assert "\n" not in one_line(text)


@given(st.text(max_size=300), st.integers(40, 120))
def test_a_block_keeps_to_its_width(text: str, width: int) -> None:
    lines = failure_lines(Failure("x", text or "x", text, text, text, text), width)
    assert all(len(line) <= width for line in lines)


def test_long_text_is_cut() -> None:
    assert len(clean("x" * 10_000)) < 3000


def test_a_table_fits_its_width_and_keeps_its_figures() -> None:
    rows = [verdict(student="x" * 100), verdict(student="y", total=99.5)]
    for width in (80, 100, 160):
        lines = class_table(rows, width=width).splitlines()
        assert all(len(line) <= width for line in lines)
        assert sum("12.5" in line for line in lines) == 2
        assert any("open" in line for line in lines)
        assert any("99.5" in line for line in lines)


LONG = "x" * 300


@pytest.mark.parametrize("width", [80, 100, 160])
def test_a_name_that_is_cut_in_a_table_carries_a_sign(width: int) -> None:
    lines = class_table([verdict(student=LONG), verdict(student="x" * 12), verdict(student="漢" * 50)], width=width)
    names = [line.split()[0] for line in lines.splitlines() if line[:1] in "x漢"]
    assert [name[-1] for name in names] == ["…", "x", "…"]
    assert all(len(name) > 10 for name in names)


def test_a_name_is_never_cut_in_a_file() -> None:
    row = verdict(student=LONG * 3)
    assert next(csv.DictReader(io.StringIO(to_csv([row]))))["student"] == LONG * 3
    assert from_json(to_json((row,)))[0].student == LONG * 3


def test_a_seed_is_in_the_instructors_results_and_in_no_students_view() -> None:
    seed = 9134568712345
    own = replace(verdict(PUBLIC, HIDDEN), seed=seed)
    assert from_json(to_json((own,)))[0].seed == seed
    for text in (to_json((for_student(own),)), repr(for_student(own)), student_report(own), class_table([own])):
        assert str(seed) not in text
    assert for_student(own).date == own.date


def test_a_failed_public_check_shows_the_end_of_what_was_printed_and_a_hidden_one_nothing() -> None:
    printed = replace(PUBLIC, printed=last_lines("first\n" * 50 + EVIL + "last"))
    report = student_report(verdict(printed, replace(HIDDEN, printed="SECRET")))
    assert "        printed  … first" in report
    assert report.count("first") < 10
    assert r"\x1b[2J[bold red]" in report
    assert "                 last\n" in report
    assert "SECRET" not in report + to_json((for_student(verdict(replace(HIDDEN, printed="SECRET"))),))


def test_a_passed_check_shows_nothing_of_what_was_printed() -> None:
    passed = replace(PUBLIC, passed=True, failure=None, printed="noise", kernels_printed="noise")
    assert "noise" not in student_report(verdict(passed))


def test_what_threads_printed_is_shown_for_a_public_check_and_never_for_a_hidden_one() -> None:
    printed = replace(PUBLIC, kernels_printed=first_lines(KernelPrints((EVIL.strip(), "1 2.5"), 4)))
    report = student_report(verdict(printed, replace(HIDDEN, kernels_printed="SECRET")))
    assert r"        threads  \x1b]0;owned" in report
    assert "                 1 2.5\n                 … and 4 more lines\n" in report
    shown = (for_student(verdict(replace(HIDDEN, kernels_printed="SECRET"))),)
    assert "SECRET" not in report + to_json(shown)


@given(st.lists(st.text(), max_size=20), st.integers(0, 5))
def test_the_first_lines_are_few_and_short_and_say_what_is_missing(lines: list[str], left_out: int) -> None:
    shown = first_lines(KernelPrints(tuple(lines), left_out))
    assert shown == clean(shown)
    assert len(shown) <= PRINTED_CHARACTERS + 2 * PRINTED_LINES + len("… and 20 more lines")
    assert ("… and " in shown.rpartition("\n")[2]) or (len(lines) <= PRINTED_LINES and not left_out)


@given(st.text())
def test_the_last_lines_are_few_and_short(text: str) -> None:
    kept = last_lines(text * 50)
    assert len(kept.splitlines()) <= PRINTED_LINES + 1
    assert len(kept) <= PRINTED_CHARACTERS + 2
    assert kept == clean(kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("\n \n", ""),
        ("  1 0\r\n  0 1\r\n", "  1 0\n  0 1"),
        ("10 %\r20 %\n", "10 %\n20 %"),
        ("\n".join("123456789"), "… 2\n3\n4\n5\n6\n7\n8\n9"),
        ("\U0010ffff" * PRINTED_CHARACTERS, "… " + r"\U0010ffff" * (PRINTED_CHARACTERS // 10)),
    ],
)
def test_what_was_left_out_of_a_print_leaves_a_sign(text: str, kept: str) -> None:
    assert last_lines(text) == kept


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n=1", "  =1+1", "|calc", "%0A"])
def test_a_name_never_becomes_a_formula(name: str) -> None:
    assert cell(name).startswith("'")
    rows = list(csv.reader(io.StringIO(to_csv([verdict(student=name)]))))
    assert rows[1][0].startswith("'")


def test_a_csv_row_is_blank_where_points_wait() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv([verdict(PUBLIC)])))
    assert (row["correctness"], row["speed"], row["total"], row["points_judged"]) == ("12.5", "", "", "60")


@pytest.mark.parametrize(
    ("bonus", "penalty", "columns", "figures"),
    [
        (None, 0.0, [], []),
        (2.5, 0.0, ["bonus", "final"], ["2.5", "92.5"]),
        (None, 18.0, ["late", "final"], ["-18", "72"]),
        (2.5, 18.5, ["bonus", "late", "final"], ["2.5", "-18.5", "74"]),
    ],
)
def test_bonus_and_points_off_stand_beside_the_total_in_table_and_csv_and_what_is_open_has_none(
    bonus: float | None, penalty: float, columns: list[str], figures: list[str]
) -> None:
    ada = replace(verdict(total=90.0), summary="fine", bonus=bonus, penalty=penalty, late_seconds=1000 * penalty)
    bob = replace(verdict(student="bob"), summary="waits", late_seconds=7.0)
    head, *lines = (line.split() for line in class_table([ada, bob], width=160).splitlines())
    assert head == ["student", "correctness", "speed", "total", *columns, "judged", "why"]
    assert lines[0] == ["ada", "12.5", "–", "90", *figures, "60/100", "fine"]
    nothing = ["open" if column == "final" else "0" for column in columns]
    assert lines[1] == ["bob", "12.5", "–", "open", *nothing, "60/100", "waits"]
    written = list(csv.DictReader(io.StringIO(to_csv([ada, bob]))))
    found = [[row[name] for name in ("total", "late_seconds", "bonus", "penalty", "final")] for row in written]
    assert found == [
        ["90.0", str(1000 * penalty), "" if bonus is None else "2.5", str(penalty), str(ada.final)],
        ["", "7.0", "", "", ""],
    ]


def test_one_student_is_one_csv_row_whatever_the_name() -> None:
    text = to_csv([verdict(student='a,"b"\r\nc')])
    assert len(text.splitlines()) == 2
    assert list(csv.reader(io.StringIO(text)))[1][0] == 'a,"b" c'


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(categories=["Cs", "Ll"]), min_size=1))
def test_whatever_text_is_in_a_verdict_files_can_hold_it(text: str, name: str) -> None:
    """Names of folders need not be UTF-8: Python shows their other bytes as lone surrogates."""
    evil = replace(PUBLIC, name=name, reason=text, measured={name: 1.0}, failure=Failure("x", text, name, text, name))
    rows = (verdict(evil, student=name), verdict(PUBLIC, student="ada"))
    rows = (replace(rows[0], summary=text, versions={name: text}), rows[1])
    escaped = name.encode("utf-8", "backslashreplace").decode()
    back = from_json(to_json(rows).encode("utf-8").decode("utf-8"))
    assert (back[0].student, back[1]) == (escaped, rows[1])
    table = list(csv.reader(io.StringIO(to_csv(rows).encode("utf-8").decode("utf-8"))))
    assert (len(table), table[2][0]) == (3, "ada")
    (class_table(rows) + student_report(rows[0])).encode("utf-8")


def test_a_name_that_is_no_utf_8_reads_the_same_everywhere() -> None:
    row = verdict(student=os.fsdecode(b"m\xfcller"))
    assert from_json(to_json((row,)))[0].student == r"m\udcfcller"
    assert to_csv([row]).splitlines()[1].startswith(r"m\udcfcller,")
    assert r"m\udcfcller " in class_table([row])


def test_json_gives_the_verdict_back() -> None:
    verdicts = (verdict(PUBLIC, HIDDEN, UNMEASURED, student=EVIL), verdict(total=1.25))
    assert from_json(to_json(verdicts)) == verdicts


def test_a_count_that_depends_on_the_order_of_threads_is_not_told() -> None:
    from grader.records import Finding, Place, Severity
    from grader.reports.text import finding_lines

    outside, race = (Finding(kind, Severity.ERROR, Place(7), "what", count=256) for kind in ("out-of-bounds", "race"))
    assert "(256 times)" in str(outside)
    assert "(256 times)" in " ".join(finding_lines(outside, 80))
    assert "times" not in str(race)
    assert "times" not in " ".join(finding_lines(race, 80))
