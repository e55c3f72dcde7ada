"""Reports as HTML: nothing in them acts, nothing hidden is shown, findings stand at their lines."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from autograded_course import evil_verdict
from hypothesis import given, settings
from hypothesis import strategies as st
from live_markup import EVIL, Markup
from tiny_course import MEASURED

from grader.quiz import judge, waiting
from grader.quiz_keys import Question
from grader.records import QUIZ, CheckResult, Failure, Finding, PartScore, Place, Severity, State, Verdict
from grader.reports.html import MAX_LINES, MAX_TOLD, kernels_html, question_html, verdict_html
from grader.reports.markup import TAGS
from grader.reports.race import race_rows
from grader.reports.text import MAX_FINDINGS
from grader.reports.view import findings_for_student

FINDING = Finding("out-of-bounds", Severity.ERROR, Place(3, "out[i] = 0"), "written past the end", "guard it", count=3)
FAILED = CheckResult(
    "test_sum[33]",
    "correctness",
    1.0,
    "out[0] is the sum.",
    False,
    False,
    failure=Failure("wrong-values", "out[0] is wrong.", "1.5", "nan\nand more", "kernels.py:7  x", "add them all"),
    findings=(FINDING,),
    printed="i am here",
)
PASSED = CheckResult("test_shape", "correctness", 1.0, "The shape is kept.", False, True, credit=1.0)
HIDDEN = CheckResult(
    "test_secret[1025]",
    "correctness",
    1.0,
    "Other lengths work, too.",
    True,
    False,
    failure=Failure("wrong-values", "SECRET what", "SECRET expected", "SECRET found", "kernels.py:2", "SECRET try"),
    findings=(Finding("race", Severity.WARNING, Place(2, "SECRET line"), "SECRET finding"),),
    measured={"SECRET counter": 3.0},
)
RACE = CheckResult("test_race", "speed", 1.0, "Fast.", False, True, credit=0.5, measured=MEASURED)
UNMEASURED = replace(RACE, passed=None, state=State.NOT_MEASURED, reason="no GPU", measured={}, credit=0.0)
QUESTION = Question("answer_1", "What shares an instruction?", ("a", "b"), "b", 0.0, {"a": "That is a block."})
KERNELS = "import numpy\ndef f(out, i):\n    out[i] = 0  # <b>\n\n\n\nx = '''a\nb'''\n"


def verdict(*checks: CheckResult) -> Verdict:
    parts = (PartScore("correctness", 60, 60, 12.5), PartScore("speed", 40, 0, 0))
    return Verdict("ada", "02", "0" * 64, "simulated", parts, checks, None, 100, 60, "2 of 3 checks failed.", seed=77)


def assert_plain(fragment: str) -> Markup:
    """A fragment has tags of ``TAGS`` alone, closed in order, with no attribute but a span's class."""
    found = Markup(fragment)
    assert found.live == []
    assert {tag for tag, _ in found.tags} <= TAGS
    for tag, attributes in found.tags:
        assert set(attributes) <= ({"class"} if tag == "span" else set())
        assert re.fullmatch(r"(grader-[a-z]+ ?)*", attributes.get("class", ""))
    assert all(letter == "\n" or unicodedata.category(letter)[0] != "C" for letter in fragment)
    return found


@pytest.mark.parametrize("text", EVIL)
def test_nothing_of_a_student_is_alive_in_a_report(text: str) -> None:
    made = evil_verdict("ada", text)
    assert_plain(verdict_html(made))
    for part in ("correctness", "speed", QUIZ):
        assert_plain(verdict_html(made, part))
    for check in made.checks:
        assert_plain(question_html(check))
    assert_plain(kernels_html(f"{text}\n\nx = '{text}'  # {text}\n'''\n{text}", findings_for_student(made)))


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200))
def test_whatever_the_text_fragments_are_plain(text: str) -> None:
    made = evil_verdict("ada", text)
    assert_plain(verdict_html(made))
    assert_plain(kernels_html(text, findings_for_student(made)))


def test_what_waits_is_open_and_never_zero() -> None:
    shown = verdict_html(verdict(FAILED, UNMEASURED))
    assert "speed: open, 40 points" in shown
    assert "0 of 40" not in shown
    some = replace(verdict(RACE, UNMEASURED), parts=(PartScore("speed", 40, 20, 10),))
    assert "speed: open; so far 10 of the 20 points judged, 40 in all" in verdict_html(some)


def test_a_part_that_is_scaled_says_so_with_its_points_and_is_nowhere_open() -> None:
    made = replace(verdict(FAILED, UNMEASURED), total=20.83)
    for shown in (verdict_html(made), verdict_html(made, "speed")):
        assert "<b>speed: 8.33 of 40 points, scaled from what was judged: no GPU</b>" in shown
        assert "speed: open" not in shown
        assert "not measured: no GPU" in shown


def test_a_report_shows_a_failure_with_all_that_helps_and_before_what_was_passed() -> None:
    shown = Markup(verdict_html(verdict(PASSED, FAILED, UNMEASURED))).text
    for words in (
        "correctness: 12.5 of 60 points",
        "✗ test_sum",
        "out[0] is wrong.",
        "expected 1.5",
        "nan\nand more",
        "add them all",
        "i am here",
        "written past the end (3 times)",
        "not measured: no GPU",
        "open; so far 12.5 of the 60 points judged, 100 in all",
    ):
        assert words in shown
    assert shown.index("test_sum") < shown.index("✓ test_shape: The shape is kept.")


@pytest.mark.parametrize("where", ["/home/prof/course/submitted/ada/01/kernels.py", r"C:\\Users\\prof\\kernels.py"])
def test_where_a_class_is_graded_is_not_told(where: str) -> None:
    shown = verdict_html(verdict(replace(FAILED, failure=Failure("link", "It is a link.", where=where))))
    assert "prof" not in shown
    assert "where kernels.py" in Markup(shown).text
    assert "kernels.py:7  x" in verdict_html(verdict(FAILED))


def test_one_part_alone_tells_nothing_of_the_others() -> None:
    shown = verdict_html(verdict(FAILED, RACE), "correctness")
    assert "test_sum" in shown
    assert "test_race" not in shown
    assert "speed" not in shown


def test_a_part_without_checks_says_why() -> None:
    assert "2 of 3 checks failed." in verdict_html(verdict(), "correctness")


def test_a_hidden_check_shows_its_sentence_and_nothing_else() -> None:
    made = verdict(FAILED, HIDDEN)
    for shown in (verdict_html(made), kernels_html(KERNELS, findings_for_student(made)), question_html(HIDDEN)):
        assert "SECRET" not in shown
        assert "secret" not in shown
        assert "1025" not in shown
        assert "77" not in shown
    assert "✗ hidden check" in Markup(verdict_html(made)).text
    assert "Other lengths work, too." in verdict_html(made)
    three = verdict(FAILED, HIDDEN, HIDDEN, replace(HIDDEN, passed=True, failure=None))
    assert verdict_html(made) == verdict_html(three)  # nor how many cases it has


def test_a_hidden_check_that_was_not_judged_gives_no_reason_away() -> None:
    lost = replace(HIDDEN, passed=None, failure=None, state=State.NOT_JUDGED, reason="SECRET size 1025")
    lost = replace(lost, measured=MEASURED)
    shown = verdict_html(verdict(FAILED, lost))
    assert "not judged: see your instructor" in shown
    assert "SECRET" not in shown
    assert "CPU baseline" not in shown


def test_findings_that_are_left_out_are_counted() -> None:
    findings = tuple(Finding("race", Severity.ERROR, Place(n), f"race {n}") for n in range(1, MAX_FINDINGS + 2))
    assert "and 1 more finding<" in verdict_html(verdict(replace(FAILED, findings=findings)))


def test_a_races_figures_are_in_rows() -> None:
    shown = Markup(verdict_html(verdict(RACE), "speed"))
    for label, figures in race_rows(MEASURED):
        assert f"{label} {figures}" in shown.text
    assert race_rows({}) == []


# ---------------------------------------------------------------------- questions


def test_a_wrong_answer_gets_its_explanation_and_never_the_key() -> None:
    (wrong,) = judge([QUESTION], {"answer_1": 'answer_1 = "a"'})
    shown = Markup(question_html(wrong)).text
    assert shown == "✗ not right your answer 'a'That is a block."
    (right,) = judge([QUESTION], {"answer_1": 'answer_1 = "b"'})
    assert Markup(question_html(right)).text == "✓ right"
    (none,) = judge([QUESTION], {"answer_1": "answer_1 = ..."})
    assert "write your answer in place of the dots" in question_html(none)
    (later,) = waiting(["answer_1"])
    assert "– open" in Markup(question_html(later)).text


# ---------------------------------------------------------------------- kernels.py


def below(fragment: str, line: int) -> str:
    """The text between a numbered line and the next one."""
    text = Markup(fragment).text
    start = text.index(f"{line:4d}  ")
    end = text.find(f"{line + 1:4d}  ", start)
    return text[start : None if end < 0 else end]


def test_each_finding_stands_at_its_line() -> None:
    shown = kernels_html(KERNELS, (FINDING, replace(FINDING, kind="race", severity=Severity.ADVICE, what="a race")))
    told = below(shown, 3)
    assert "out[i] = 0" in told
    assert told.index("error: written past the end (3 times)") < told.index("advice: a race")
    assert "guard it" in told
    assert "written" not in shown.replace(told, "").split("out[i]")[0]
    assert '<span class="grader-line grader-error">' in shown


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_counts_them(end: str) -> None:
    source = f"a = '\x0c\x1c\u2028\x85'{end}# two{end}out[i] = 0{end}"
    told = below(kernels_html(source, (FINDING,)), 3)
    assert told.startswith("   3  out[i] = 0")
    assert "written past the end" in told


def test_one_mistake_that_many_checks_met_is_told_once() -> None:
    again = replace(FINDING, what="written past another end", count=7)
    assert kernels_html(KERNELS, (FINDING, again)).count("written past") == 1


@pytest.mark.parametrize("line", [0, -1, 99])
def test_a_finding_at_no_line_of_the_file_is_not_lost(line: int) -> None:
    shown = Markup(kernels_html(KERNELS, (replace(FINDING, place=Place(line, "elsewhere")),))).text
    assert shown.index("b'''") < shown.index("written past the end")


def test_a_failure_at_a_line_stands_there_too_unless_a_finding_says_the_same() -> None:
    wrong = replace(
        FAILED, failure=Failure("syntax-error", "It is not Python.", where="kernels.py:2  def"), findings=()
    )
    assert "It is not Python." in below(kernels_html(KERNELS, findings_for_student(verdict(wrong))), 2)
    told = replace(FAILED, failure=Failure("out-of-bounds", FINDING.what, where="kernels.py:3"))
    assert findings_for_student(verdict(told)) == (FINDING,)
    assert findings_for_student(verdict(replace(wrong, hidden=True))) == ()


def test_strings_over_lines_and_comments_are_coloured_line_by_line() -> None:
    shown = kernels_html(KERNELS)
    assert '<span class="grader-comment"># &lt;b&gt;</span>' in shown
    assert '<span class="grader-string">&#x27;&#x27;&#x27;a</span>\n' in shown
    assert '<span class="grader-keyword">def</span>' in shown
    assert Markup(kernels_html("def f(:\n  ('''open\n\x00")).text.count("\n") == 2


def test_a_file_of_any_size_makes_a_page_that_can_be_read() -> None:
    assert "… and 7 more lines" in kernels_html("x\n" * (MAX_LINES + 7))
    assert len(kernels_html("y" * 1_000_000)) < 2000
    assert kernels_html("") == ""
    many = [replace(FINDING, place=Place(n), severity=Severity.ADVICE) for n in range(1, MAX_TOLD + 7)]
    shown = kernels_html("x\n" * 500, [*many, replace(FINDING, place=Place(400))])
    assert "error" in below(shown, 400)
    assert shown.count("guard it") == MAX_TOLD
    assert "and 7 more findings" in shown
