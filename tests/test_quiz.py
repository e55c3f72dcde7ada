"""Quizzes: an answer is a literal that is read and never run, and what is said of it shows no key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import AuthoringError
from grader.notebook import Cell
from grader.quiz import judge, waiting
from grader.quiz_keys import Question, asked, questions, without_key
from grader.records import CheckResult, Failure, State


def text(source: str) -> Cell:
    return Cell("", "markdown", source, False, False, None, "text")


def answer_cell(source: str, number: int = 1) -> Cell:
    return Cell(f"answer_{number}", "code", source, False, True, None, f"answer-{number}")


def keyed(key: str, comment: str = "", number: int = 1) -> Cell:
    mark = f"  # {comment}" if comment else ""
    return answer_cell(
        f"answer_{number} = ...{mark}\n### BEGIN SOLUTION\n{key}\n### END SOLUTION\n",
        number,
    )


def question(key: str, comment: str = "") -> Question:
    (found,) = questions([text("What is it?"), keyed(key, comment)])
    return found


CHOICE = question('answer_1 = "b"\nwhy_1 = {"a": "A is a warp.", "c": "C is a grid."}', '"a", "b" or "c"')
CHOICES = question(
    'answer_1 = {"a", "c"}\nwhy_1 = {"b": "B is a warp.", "d": "D is a grid."}', 'a set of "a", "b", "c", "d"'
)
NUMBER = question('answer_1 = 261\nwhy_1 = {133: "That counts blocks from 1.", None: "Count again."}')
MEASURE = question('answer_1 = 0.3\nwithin_1 = 0.1\nwhy_1 = {3.0: "That is ten times as much."}')


def judged(asked_for: Question, source: str) -> CheckResult:
    (check,) = judge([asked_for], {"answer_1": source})
    assert (check.part, check.weight, check.hidden) == ("quiz", 1.0, False)
    assert check.state is State.JUDGED
    return check


def failure(asked_for: Question, source: str) -> Failure:
    check = judged(asked_for, source)
    assert (check.passed, check.credit) == (False, 0.0)
    assert check.failure is not None
    return check.failure


@pytest.mark.parametrize("source", ['answer_1 = "b"', "answer_1 = ' B '", 'answer_1: str = "b"', 'answer_1 = x = "b"'])
def test_a_right_choice_earns_its_question(source: str) -> None:
    check = judged(CHOICE, source)
    assert (check.passed, check.credit, check.failure) == (True, 1.0, None)


def test_a_wrong_choice_is_explained_and_the_key_is_not_shown() -> None:
    told = failure(CHOICE, 'answer_1 = "C"')
    assert (told.kind, told.found, told.advice) == ("wrong-answer", "'c'", "C is a grid.")
    assert "b" not in (told.found, told.expected)
    assert "A is a warp" not in str(told)


@pytest.mark.parametrize("source", ['answer_1 = {"a", "c"}', 'answer_1 = ["C", "a", "a"]', "answer_1 = ('a', ' c ')"])
def test_a_right_set_of_choices_earns_its_question(source: str) -> None:
    assert judged(CHOICES, source).passed is True


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ('answer_1 = {"a", "b", "c"}', "B is a warp."),
        ('answer_1 = {"d", "b", "a", "c"}', "B is a warp. D is a grid."),
        ('answer_1 = "a"', "A choice that belongs to the answer is missing."),
        ("answer_1 = set()", "A choice that belongs to the answer is missing."),
        ('answer_1 = {"a", "b"}', "B is a warp. A choice that belongs to the answer is missing."),
    ],
)
def test_each_wrong_choice_of_a_set_is_explained(source: str, advice: str) -> None:
    assert (failure(CHOICES, source).kind, failure(CHOICES, source).advice) == ("wrong-answer", advice)


@pytest.mark.parametrize("source", ["answer_1 = 261", "answer_1 = +261.0", "answer_1 = 0x105", "answer_1 = 2_61"])
def test_a_right_number_earns_its_question(source: str) -> None:
    assert judged(NUMBER, source).passed is True


@pytest.mark.parametrize(
    ("source", "advice"), [("133", "That counts blocks from 1."), ("-261", "Count again."), ("261.5", "Count again.")]
)
def test_a_wrong_number_is_explained(source: str, advice: str) -> None:
    assert failure(NUMBER, f"answer_1 = {source}").advice == advice


@pytest.mark.parametrize(
    ("number", "right"), [("0.4", True), ("0.2", True), ("0.40001", False), ("0.19999", False), ("3.05", False)]
)
def test_a_tolerance_is_meant_as_it_is_written(number: str, right: bool) -> None:
    """0.4 - 0.3 is more than 0.1 in binary."""
    assert judged(MEASURE, f"answer_1 = {number}").passed is right


def test_a_typical_wrong_number_is_known_within_the_tolerance() -> None:
    assert failure(MEASURE, "answer_1 = 3.05").advice == "That is ten times as much."


@pytest.mark.parametrize(
    "value", ["nan", "float('nan')", "1e999", "-1e999", "True", "None", "'261'", "[261]", "261 + 0j", "1" * 1900]
)
def test_what_is_no_finite_number_is_never_right(value: str) -> None:
    assert judged(NUMBER, f"answer_1 = {value}").passed is False
    one = question("answer_1 = 1")
    assert judged(one, f"answer_1 = {value}").passed is False


def test_an_infinite_answer_is_judged_where_an_infinite_one_is_explained() -> None:
    explained = question('answer_1 = 1\nwhy_1 = {1e999: "No.", None: "Other."}')
    assert failure(explained, "answer_1 = 1e999").advice == "Other."


@pytest.mark.parametrize(
    ("asked_for", "value", "kind"),
    [
        (CHOICE, "2", "answer-kind"),
        (CHOICE, "{'b'}", "answer-kind"),
        (CHOICE, "b'b'", "answer-kind"),
        (CHOICE, "'z'", "no-such-choice"),
        (CHOICE, "''", "no-such-choice"),
        (CHOICES, "{'a', 3}", "answer-kind"),
        (CHOICES, "{'a': 'c'}", "answer-kind"),
        (CHOICES, "{'a', 'z'}", "no-such-choice"),
        (NUMBER, "'b'", "answer-kind"),
        (NUMBER, "True", "answer-kind"),
    ],
)
def test_another_kind_of_answer_is_told_as_that(asked_for: Question, value: str, kind: str) -> None:
    told = failure(asked_for, f"answer_1 = {value}")
    assert told.kind == kind
    assert told.advice


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", "not-assigned"),
        ("answer_2 = 'b'", "not-assigned"),
        ("if True:\n    answer_1 = 'b'", "not-assigned"),
        ("answer_1: str", "not-assigned"),
        ("answer_1 == 'b'", "not-assigned"),
        ("(answer_1, x) = ('b', 1)", "not-assigned"),
        ("answer_1 = ...  # 'a', 'b'", "no-answer"),
        ("answer_1 = b", "no-literal"),
        ("answer_1 = 'b'.strip()", "no-literal"),
        ("answer_1 = f'b'", "no-literal"),
        ("answer_1 = {['b']}", "no-literal"),
        ("answer_1 = __import__('os').system('touch PWNED')", "no-literal"),
        ("answer_1 = open('PWNED', 'w') and 'b'", "no-literal"),
        ("answer_1 = 'b", "no-python"),
        ("answer_1 = 'b'\x00", "no-python"),
        ("answer_1 = " + "(" * 1500, "no-python"),
        ("answer_1 = " + "-" * 1900 + "1", "no-literal"),
        ("answer_1 = " + "9" * 5000, "too-long"),
        ("# " + "x" * 2000 + "\nanswer_1 = 'b'", "too-long"),
    ],
)
def test_what_is_no_literal_is_told_and_not_run(
    source: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = failure(CHOICE, source)
    assert told.kind == kind
    assert told.what.startswith(("answer_1", "The cell with answer_1"))
    assert len(str(told)) < 500
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["...", "b", "1.5", "'zzz'", "{1}", "", "None"])
@pytest.mark.parametrize(
    "asked_for",
    [
        *(question(f'answer_1 = "{key}"\nwhy_1 = {{}}', '"a", "b", "c"') for key in "abc"),
        *(question(f"answer_1 = {key}\nwhy_1 = {{}}", '"a", "b", "c"') for key in ({"a", "b"}, {"b", "c"}, {"a"})),
        question("answer_1 = 42\nwhy_1 = {}"),
        question("answer_1 = 40.0\nwithin_1 = 5\nwhy_1 = {}"),
    ],
)
def test_no_example_of_an_answer_is_the_right_one(asked_for: Question, value: str) -> None:
    source = f"answer_1 = {value}" if value else ""
    told = failure(asked_for, source)
    for text in (told.what, told.expected, told.advice):
        for example in re.findall("answer_1 = .*", text):
            assert judged(asked_for, example).passed is not True
            assert re.search(r'"[a-z]"|[0-9]', example.partition("=")[2]) is None


def test_a_line_is_named() -> None:
    assert failure(CHOICE, "# mine\nanswer_1 = b").where == "answer_1, line 2"
    assert failure(CHOICE, "x = 1\nanswer_1 = = 2").where == "answer_1, line 2"


@pytest.mark.parametrize("magic", ["%time", "!ls", "%%check", "?len", "  %matplotlib inline"])
def test_lines_for_the_notebook_do_not_hide_an_answer(magic: str) -> None:
    assert judged(CHOICE, f'{magic}\nanswer_1 = "b"\n{magic}').passed is True


@pytest.mark.parametrize(
    "source",
    [
        '  answer_1 = "b"',
        '\n\n\t# I think\n\tanswer_1 = "b"\n',
        '  x = 1\n  if x:\n    x = 2\n  answer_1 = "b"',
        '>>> answer_1 = "b"',
        '>>> x = (1 +\n...     2)\n>>> answer_1 = "b"',
        'In [12]: answer_1 = "b"',
        'answer_1 = "b"\nanswer_1?',
        'len??\nanswer_1 = "b"',
        '%%time\n  answer_1 = "b"',
        '%time\nanswer_1 = "b"  # is it?',
        '  %time\n  answer_1 = "b"\n  answer_1?',
    ],
)
def test_whatever_a_notebook_runs_is_read(source: str) -> None:
    assert judged(CHOICE, source).passed is True


def test_a_line_is_named_as_it_is_numbered_in_the_cell() -> None:
    assert failure(CHOICE, "\n  # mine\n  answer_1 = b").where == "answer_1, line 3"
    assert failure(CHOICE, "%time\n!ls\nanswer_1 = b").where == "answer_1, line 3"


def test_the_last_answer_counts_and_no_later_error_of_another_name() -> None:
    assert judged(CHOICE, "answer_1 = 'a'\nanswer_1 = 'b'\nx = f()").passed is True
    assert judged(CHOICE, "answer_1 = 'b'\nanswer_1 = ...").passed is False


def test_a_question_without_a_cell_is_not_passed() -> None:
    (check,) = judge([CHOICE], {"answer_2": 'answer_1 = "b"'})
    assert check.passed is False
    assert check.failure is not None
    assert (check.failure.kind, check.failure.what) == ("no-answer", "No answer to answer_1 was handed in.")


@pytest.mark.parametrize("asked_for", [CHOICE, CHOICES, NUMBER, MEASURE])
def test_the_authors_own_answer_is_right_and_the_released_one_is_none(asked_for: Question) -> None:
    assert judged(asked_for, asked_for.right_line).passed is True
    released = without_key(keyed('answer_1 = "b"').source)
    assert released == "answer_1 = ..."
    assert failure(asked_for, released).kind == "no-answer"


@given(st.text(max_size=60) | st.from_regex(r"answer_1 = [-+0-9eE\[\]{}()'\"a-c,.: ]{0,20}", fullmatch=True))
def test_any_text_is_judged(source: str) -> None:
    for asked_for in (CHOICE, CHOICES, NUMBER, MEASURE):
        check = judged(asked_for, source)
        assert check.passed is (check.failure is None)


numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
literals = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=5,
)


@given(literals)
def test_any_literal_is_right_or_told(value: object) -> None:
    for asked_for in (CHOICE, CHOICES, NUMBER, MEASURE):
        assert judged(asked_for, f"answer_1 = {value!r}").passed is not None


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_an_integer_is_right_when_it_is_equal(key: int, value: int) -> None:
    assert judged(question(f"answer_1 = {key}"), f"answer_1 = {value}").passed is (key == value)


# ---------------------------------------------------------------------- what is asked, and keys


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("# Title\n\nSome words.\n\nWhich **element** is\nit?", "Which element is it?"),
        ('Which is it?\n\n- "a": one\n- "b": two', "Which is it?"),
        ('Which is it?\n- "a": one', "Which is it?"),
        ("Which is it?\n\n```python\nx = 1\n\ny = 2\n```", "Which is it?"),
        ("### Which is it?", "Which is it?"),
        ("1. one\n2. two", "answer_1"),
        ("", "answer_1"),
    ],
)
def test_a_question_is_the_last_paragraph_before_it(source: str, sentence: str) -> None:
    (found,) = asked([text("Another one?"), text(source), keyed("answer_1 = 1")])
    assert found.sentence == sentence


def test_a_released_notebook_asks_the_same_questions() -> None:
    cells = [text("Which?"), keyed('answer_1 = "b"', '"A" or "b"'), text("How many?"), keyed("answer_2 = 3", number=2)]
    released = [
        cells[0],
        answer_cell('answer_1 = ...  # "A" or "b"\n# write'),
        cells[2],
        answer_cell("answer_2 = ...", 2),
    ]
    assert asked(released) == asked(cells)
    assert [(one.name, one.sentence, one.choices) for one in asked(released)] == [
        ("answer_1", "Which?", ("a", "b")),
        ("answer_2", "How many?", ()),
    ]


@pytest.mark.parametrize("key", ['answer_1 = "b"', 'answer_1 = {"a", "b"}'])
def test_a_question_of_which_the_choices_are_the_key_is_an_authors_mistake(key: str) -> None:
    with pytest.raises(AuthoringError, match="expected wrong choices, too"):
        questions([answer_cell(f"answer_1 = ...\n### BEGIN SOLUTION\n{key}\n### END SOLUTION\n")])


def test_a_cell_that_is_graded_by_hand_or_only_named_so_is_no_question() -> None:
    by_hand = Cell("answer_1", "code", "answer_1 = ...", True, True, 5.0, "a")
    locked = Cell("answer_2", "code", "answer_2 = ...", False, False, None, "b")
    other = Cell("answer_x", "code", "answer_x = ...", False, True, None, "c")
    assert asked([by_hand, locked, other]) == ()


def test_a_cell_that_is_there_twice_is_one_question_and_the_first() -> None:
    first, second = keyed("answer_1 = 1"), keyed("answer_1 = 2")
    assert [one.key for one in questions([first, second])] == [1]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("", "The cell with answer_1 assigns nothing to it"),
        ("answer_1 = f()", "not written as a value"),
        ("answer_1 = True", "expected a number, a text in small letters, or a set"),
        ("answer_1 = 1e999", "expected a number, a text in small letters, or a set"),
        ('answer_1 = "B"', "expected a number, a text in small letters, or a set"),
        ("answer_1 = set()", "expected a number, a text in small letters, or a set"),
        ("answer_1 = 0.5", "expected within_1, how far off an answer may be, found none"),
        ("answer_1 = 5\nwithin_1 = -1", "of 0 or more as within_1, found -1"),
        ("answer_1 = 5\nwithin_1 = 'x'", "expected within_1"),
        ("answer_1 = 'b'\nwithin_1 = 1", "within_1 is for numbers"),
        ("answer_1 = 'd'", "'d' is none of the choices"),
        ("answer_1 = 'b'\nwhy_1 = {'z': 'No.'}", "explains 'z', which is none of the choices"),
        ("answer_1 = 'b'\nwhy_1 = {'b': 'No.'}", "explains 'b', which is right"),
        ("answer_1 = {'b'}\nwhy_1 = {'b': 'No.'}", "explains 'b', which is right"),
        ("answer_1 = 'b'\nwhy_1 = {'A': 'No.'}", "in small letters, to sentences"),
        ("answer_1 = 'b'\nwhy_1 = {'a': ''}", "in small letters, to sentences"),
        ("answer_1 = 'b'\nwhy_1 = ['a']", "in small letters, to sentences"),
        ("answer_1 = 5\nwithin_1 = 2\nwhy_1 = {7: 'No.'}", "explains 7, which is right"),
        ("answer_1 = 5\nwhy_1 = {'five': 'No.'}", "explains 'five', and the key is a number"),
    ],
)
def test_an_authors_mistake_is_told_with_its_question(key: str, said: str) -> None:
    with pytest.raises(AuthoringError) as told:
        question(key, '"a", "b", "c"')
    assert str(told.value).startswith("answer_1: ")
    assert said in str(told.value)


@pytest.mark.parametrize(
    "source", ["answer_1 = 1", "### BEGIN SOLUTION\nanswer_1 = 1", "### END SOLUTION\n### BEGIN SOLUTION"]
)
def test_a_question_without_a_region_for_its_key_is_an_authors_mistake(source: str) -> None:
    with pytest.raises(AuthoringError, match="expected its key between"):
        questions([answer_cell(source)])


# ---------------------------------------------------------------------- where the key is not


def test_without_a_key_nothing_is_measured() -> None:
    (check,) = waiting([CHOICE])
    assert (check.passed, check.state, check.credit) == (None, State.NOT_MEASURED, 0.0)
    assert (check.reason, check.sentence) == ("judged when you hand in", "What is it?")
    assert waiting(["answer_3"])[0].name == "answer_3"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('answer_1 = "a"', "judged when you hand in"),
        ('answer_1 = "b"', "judged when you hand in"),
        ("answer_1 = ...", "answer_1 is not answered yet; judged when you hand in"),
        ("answer_1 = b", "answer_1 is not written as a value that can be read; judged when you hand in"),
        ('answer_1 = "b)"', "answer_1 names a choice that there is not; judged when you hand in"),
        ('answer_1 = {"a", "e"}', "answer_1 names a choice that there is not; judged when you hand in"),
        ('answer_1 = ["a", "C "]', "judged when you hand in"),
        ("answer_1 = 1", "judged when you hand in"),
    ],
)
def test_without_a_key_a_student_learns_which_answers_can_be_read(source: str, reason: str) -> None:
    (found,) = asked([text("What is it?"), keyed('answer_1 = "b"', '"a", "b" or "c"')])
    (check,) = waiting([found], {"answer_1": source})
    assert (check.passed, check.reason) == (None, reason)
