"""Making assignments/ from solutions/: the stub, what must never leak, and that nobody's work is overwritten."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import tiny_course as tiny
import tiny_notebook as notebook

from grader.course import Course, load_course
from grader.errors import ReleaseError
from grader.release import build, out_of_date, release
from grader.release_leaks import leaks
from grader.stub import make_stub, regions
from grader.student_archive import bundle, student_project

ROOT = Path(__file__).parents[1]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return load_course(tiny.write_course(tmp_path) / "course.yml")


def target_of(course: Course) -> Path:
    return course.file.parent / "assignments/01"


def change(course: Course, file: str, old: str, new: str) -> None:
    path = course.file.parent / "solutions/01" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


def test_the_stub_keeps_everything_but_the_solution() -> None:
    assert make_stub(tiny.KERNELS, "kernels.py") == (
        '"""Double every element."""\n\nfrom numba import cuda\n\n\n@cuda.jit\ndef double_kernel(x, out):\n'
        '    """out[i] = 2 * x[i], one thread per element."""\n    i = cuda.grid(1)\n'
        "    # YOUR CODE HERE (about 2 lines)\n\n\ndef double(x, out):\n"
        '    """x, out: float32 (n,); out starts with garbage."""\n    threads = 128\n'
        "    # YOUR CODE HERE (about 2 lines)\n"
    )


@pytest.mark.parametrize(
    ("source", "stub"),
    [
        (
            "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n",
            "def f():\n    # YOUR CODE HERE (about 1 line)\n    pass\n",
        ),
        (
            "def f(a):\n    if a:\n        ### BEGIN SOLUTION\n        # why\n\n        a = 1\n        return a\n"
            "        ### END SOLUTION\n    else:\n        a = 2\n",
            "def f(a):\n    if a:\n        # YOUR CODE HERE (about 2 lines)\n        pass\n    else:\n        a = 2\n",
        ),
        (
            "def f():\n    '''Doc.'''\n    ### BEGIN SOLUTION\n    a = 1\n    ### END SOLUTION\n"
            "    ### BEGIN SOLUTION\n    return a\n    ### END SOLUTION\n",
            "def f():\n    '''Doc.'''\n    # YOUR CODE HERE (about 1 line)\n    pass\n"
            "    # YOUR CODE HERE (about 1 line)\n",
        ),
        (
            "X = 1\n### BEGIN SOLUTION\nY = 2\n### END SOLUTION\nZ = 3\n",
            "X = 1\n# YOUR CODE HERE (about 1 line)\nZ = 3\n",
        ),
        (
            "def f():\n    pass\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n",
            "def f():\n    pass\n    # YOUR CODE HERE (about 1 line)\n",
        ),
    ],
)
def test_a_body_left_empty_gets_pass_and_no_other(source: str, stub: str) -> None:
    assert make_stub(source, "kernels.py") == stub
    ast.parse(stub)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("### BEGIN SOLUTION\nx = 1\n", "kernels.py:1: expected ### END SOLUTION for this"),
        ("x = 1\n### END SOLUTION\n", "kernels.py:2: expected ### BEGIN SOLUTION before this"),
        (
            "### BEGIN SOLUTION\n### BEGIN SOLUTION\n### END SOLUTION\n",
            "kernels.py:2: expected ### END SOLUTION for line 1",
        ),
        ("x = 1\n", "kernels.py: expected at least one region"),
    ],
)
def test_markers_that_do_not_pair_up_are_refused_with_their_line(text: str, said: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        regions(text, "kernels.py")
    assert said in str(caught.value)


def test_a_stub_that_is_no_python_is_refused() -> None:
    with pytest.raises(ReleaseError, match="without its solution regions the file is no Python"):
        make_stub("x = (\n### BEGIN SOLUTION\n1)\n### END SOLUTION\n", "kernels.py")


def test_a_release_holds_four_files_and_is_up_to_date(course: Course) -> None:
    done = release(course, "1")
    assert sorted(p.name for p in target_of(course).iterdir()) == [
        "course.yml",
        "kernels.py",
        "problem.py",
        "test_public.py",
    ]
    assert (done.kernels, len(done.changed)) == ("new", 4)
    assert out_of_date(course, "01") == ()
    assert release(course, "01").changed == ()
    part = load_course(target_of(course) / "course.yml").assignment_of(target_of(course))
    assert part.parts == course.assignment("01").parts


def test_a_changed_solution_makes_the_release_out_of_date(course: Course) -> None:
    release(course, "01")
    change(course, "test_public.py", "[1, 33]", "[1, 34]")
    change(course, "kernels.py", "threads = 128", "threads = 256")
    assert set(out_of_date(course, "01")) == {"kernels.py", "test_public.py", "course.yml"}


def test_an_untouched_old_stub_is_replaced(course: Course) -> None:
    release(course, "01")
    change(course, "kernels.py", "threads = 128", "threads = 256")
    assert release(course, "01").kernels == "replaced"
    assert "threads = 256" in (target_of(course) / "kernels.py").read_text()


def test_an_edited_stub_is_kept_through_every_later_release(course: Course) -> None:
    release(course, "01")
    mine = (target_of(course) / "kernels.py").read_text() + "# my work\n"
    (target_of(course) / "kernels.py").write_text(mine)
    assert out_of_date(course, "01") == ()
    for threads in ("256", "512"):
        change(course, "kernels.py", "threads = ", f"threads = {threads} #")
        done = release(course, "01")
        assert done.kernels == "kept"
        assert (target_of(course) / "kernels.py").read_text() == mine
        assert "kernels.py" not in done.changed
        assert "course.yml" in done.changed


def test_line_ends_of_another_system_are_no_edit(course: Course) -> None:
    release(course, "01")
    path = target_of(course) / "kernels.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    change(course, "kernels.py", "threads = 128", "threads = 256")
    assert release(course, "01").kernels == "replaced"


def test_a_kernels_file_without_a_note_of_its_release_is_kept(course: Course) -> None:
    release(course, "01")
    (target_of(course) / "course.yml").unlink()
    change(course, "kernels.py", "threads = 128", "threads = 256")
    assert release(course, "01").kernels == "kept"


def test_a_learners_other_files_survive_a_release(course: Course) -> None:
    release(course, "01")
    (target_of(course) / "notes.txt").write_text("remember the guard")
    change(course, "test_public.py", "[1, 33]", "[1, 34]")
    release(course, "01")
    assert (target_of(course) / "notes.txt").read_text() == "remember the guard"
    assert [p.name for p in target_of(course).parent.iterdir()] == ["01"]


KILLED = """\
import os, sys
from pathlib import Path
from grader.course import load_course
from grader.release import release
rename, at = Path.rename, int(sys.argv[1])
calls = iter(range(at))
def dying(self, target):
    if next(calls, None) is None:
        os._exit(137)
    return rename(self, target)
Path.rename = dying
release(load_course(Path("course.yml")), "01")
"""


@pytest.mark.parametrize("renames", [0, 1])
def test_a_release_that_was_killed_loses_nobodys_work_and_leaves_nothing(course: Course, renames: int) -> None:
    release(course, "01")
    target = target_of(course)
    work = (target / "kernels.py").read_text() + "# my own work\n"
    (target / "kernels.py").write_text(work)
    (target / "notes.txt").write_text("mine")
    change(course, "problem.py", "class Double", "# changed\n\n\nclass Double")
    command = [sys.executable, "-c", KILLED, str(renames)]
    done = subprocess.run(command, cwd=course.file.parent, env={"PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == 137
    made = release(course, "01")
    assert made.kept == ("kernels.py",)
    assert (target / "kernels.py").read_text() == work
    assert (target / "notes.txt").read_text() == "mine"
    assert "# changed" in (target / "problem.py").read_text()
    assert [path.name for path in target.parent.iterdir()] == ["01"]


def test_a_kept_file_is_not_written_at_all(course: Course) -> None:
    release(course, "01")
    kernels = target_of(course) / "kernels.py"
    kernels.write_bytes(kernels.read_bytes().replace(b"\n", b"\r\n") + b"# mine\r\n")
    before = kernels.read_bytes(), kernels.stat().st_mtime_ns
    change(course, "problem.py", "class Double", "# changed\n\n\nclass Double")
    release(course, "01")
    assert (kernels.read_bytes(), kernels.stat().st_mtime_ns) == before


@pytest.mark.parametrize("hidden", ["test_hidden.py", "wrong", "fast.py"])
def test_a_folder_with_something_hidden_in_it_is_refused(course: Course, hidden: str) -> None:
    release(course, "01")
    shutil.copy(course.file, target_of(course) / hidden)
    change(course, "test_public.py", "[1, 33]", "[1, 34]")
    before = {p.name: p.read_text() for p in target_of(course).iterdir()}
    with pytest.raises(ReleaseError, match="must not lie in a released folder"):
        release(course, "01")
    assert {p.name: p.read_text() for p in target_of(course).iterdir()} == before


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "kernels.py",
            "    threads = 128\n",
            "    threads = 128\n    # out[i] = 2 * x[i]\n",
            "kernels.py:16: holds the",
        ),
        (
            "kernels.py",
            "threads = 128\n",
            "threads = 128\n    blocks_needed = (x.size+threads-1) // threads\n",
            "kernels.py:16",
        ),
        (
            "problem.py",
            "import numpy as np\n",
            "import numpy as np\n\n# see test_odd_sizes\n",
            "'test_odd_sizes' is a hidden",
        ),
        ("test_public.py", "import pytest\n", "import pytest  # not like forgotten_guard\n", "name of the mutant"),
    ],
)
def test_whatever_shows_something_hidden_is_refused_with_its_line(
    course: Course, file: str, old: str, new: str, said: str
) -> None:
    (course.file.parent / "solutions/01/wrong").mkdir()
    (course.file.parent / "solutions/01/wrong/forgotten_guard.py").write_text("")
    change(course, file, old, new)
    with pytest.raises(ReleaseError) as caught:
        release(course, "01")
    assert said in str(caught.value)
    assert not target_of(course).exists()


def test_a_marker_in_a_public_file_is_refused(course: Course) -> None:
    change(course, "test_public.py", "import pytest\n", "import pytest\n### BEGIN SOLUTION\n")
    with pytest.raises(ReleaseError, match=r"test_public.py:2: a solution marker is left"):
        build(course, "01")


def test_a_missing_file_is_refused(course: Course) -> None:
    (course.file.parent / "solutions/01/test_public.py").unlink()
    with pytest.raises(ReleaseError, match="expected a readable text file"):
        release(course, "01")


def test_grade_cells_are_the_parts_of_course_yml_each_once_and_every_other_one_is_told(course: Course) -> None:
    """Of a notebook alone nbgrader refuses a second cell of one name, of two notebooks nobody else does."""
    first = notebook.notebook([notebook.grade_cell("correctness", 60), notebook.grade_cell("essay", 5)])
    second = notebook.notebook([notebook.grade_cell("correctness", 60), notebook.grade_cell("technique", 21)])
    with pytest.raises(ReleaseError) as caught:
        build(course, "01", {"a.ipynb": notebook.text_of(first), "b.ipynb": notebook.text_of(second)})
    where = course.file.parent / "solutions/01"
    assert str(caught.value).splitlines() == [
        f"{where}/a.ipynb: cell 'essay' has points, but course.yml has no such part of 01",
        f"{where}/b.ipynb: cell 'correctness': expected one cell for the part, found another in a.ipynb",
        f"{where}/b.ipynb: cell 'technique': expected course.yml's 20 points, found 21",
        f"{where}: expected a cell with grade_id 'speed' and 20 points in a notebook, found none",
    ]


def test_a_bundle_holds_no_solution_whatever_lies_in_assignments(course: Course) -> None:
    root = course.file.parent
    shutil.copytree(root / "solutions/01", target_of(course))
    (root / "tests").mkdir()
    (root / "tests/test_a.py").write_text("")
    (root / "README.md").write_text("Read me.")
    archive = bundle(course)
    with zipfile.ZipFile(archive) as zipped:
        assert sorted(zipped.namelist()) == [
            "tiny/README.md",
            "tiny/assignments/01/course.yml",
            "tiny/assignments/01/kernels.py",
            "tiny/assignments/01/problem.py",
            "tiny/assignments/01/test_public.py",
            "tiny/course.yml",
        ]
        assert "YOUR CODE HERE" in zipped.read("tiny/assignments/01/kernels.py").decode()
    first = archive.read_bytes()
    assert bundle(course).read_bytes() == first


def test_a_bundle_holds_what_was_asked_for_and_nothing_that_concerns_authors(tmp_path: Path) -> None:
    first, _, section = tiny.COURSE.partition("assignments:\n")
    two = section + section.replace('"01"', '"02"').replace("Doubling", "A secret topic")
    text = f"# calibrated on our GPU\n{first}authoring: {{mutants: 1}}\nassignments:\n{two}"
    course = load_course(tiny.write_course(tmp_path, course=text) / "course.yml")
    shutil.copytree(tmp_path / "solutions/01", tmp_path / "solutions/02")
    with zipfile.ZipFile(bundle(course, names=["1"])) as zipped:
        assert {name.split("/")[2] for name in zipped.namelist() if "/assignments/" in name} == {"01"}
        for name in zipped.namelist():
            shown = zipped.read(name).decode()
            assert not any(word in shown for word in ("calibrated", "authoring", "A secret topic")), name
        zipped.extractall(tmp_path / "unzipped")
    theirs = load_course(tmp_path / "unzipped/tiny/course.yml")
    assert (theirs.course, theirs.grading) == (course.course, course.grading)
    assert dict(theirs.assignments) == {"01": course.assignments["01"]}
    with zipfile.ZipFile(bundle(course)) as zipped:
        assert {name.split("/")[2] for name in zipped.namelist() if "/assignments/" in name} == {"01", "02"}


@pytest.fixture(scope="module")
def unzipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The student archive of this very course, unzipped. It is made from a copy: nothing is written here."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("grader", "solutions", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("README.md", "LICENSE", "pyproject.toml", "course.yml"):
        shutil.copy(ROOT / file, root)
    with zipfile.ZipFile(bundle(load_course(root / "course.yml"))) as zipped:
        zipped.extractall(root / "unzipped")
    (folder,) = (root / "unzipped").iterdir()
    return folder


def test_plain_pytest_in_the_unzipped_archive_collects_every_assignment(unzipped: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "--device=simulated"]
    done = subprocess.run(command, cwd=unzipped, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = set(re.findall(r"^(assignments/\d+/test_public\.py)", done.stdout, re.MULTILINE))
    assert found == {f"assignments/{name}/test_public.py" for name in load_course(ROOT / "course.yml").assignments}


def test_the_archives_readme_names_nothing_that_is_not_in_it(unzipped: Path) -> None:
    text = (unzipped / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")]
    files = re.findall(r"`([\w./-]+\.(?:py|md|yml|toml))`", text) + re.findall(r"assignments/\d+", text)
    assert {"kernels.py", "pyproject.toml", "assignments/01"} <= set(files)
    assert links == []
    for name in set(files) - {"try.py", "nbgrader_config.py"}:  # which the guide has its reader write
        assert any((place / name).exists() for place in (unzipped, unzipped / "assignments/01")), name
    for word in ("make ", "solution", "[dev]", "grader grade", "grader release"):
        assert word not in text
    for word in ("# GPU programming in Python", "pip install .", "grader check 01", "pytest assignments/01 -x"):
        assert word in text


def test_the_archives_project_file_installs_alike_and_sets_up_no_tool_of_ours(unzipped: Path) -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    theirs = tomllib.loads((unzipped / "pyproject.toml").read_text(encoding="utf-8"))
    tools = {"hatch": ours["tool"]["hatch"], "pytest": {"ini_options": {"testpaths": ["assignments"]}}}
    assert theirs == ours | {"tool": tools}
    assert all(
        (unzipped / file).is_file() for file in (theirs["project"]["readme"], *theirs["project"]["license-files"])
    )


@pytest.mark.parametrize("header", ["[tool.ruff]", "[[tool.mypy.overrides]]", "[tool.pytest.ini_options]  # ours"])
def test_tables_of_other_tools_are_left_out_whole(header: str) -> None:
    text = f'[project]\nname = "a"\n\n{header}\nx = [\n    "[b]",\n]\n\n[tool.hatch.version]\npath = "v.py"\n'
    assert tomllib.loads(student_project(text)) == {
        "project": {"name": "a"},
        "tool": {"hatch": {"version": {"path": "v.py"}}, "pytest": {"ini_options": {"testpaths": ["assignments"]}}},
    }


def notebooks(course: Course, name: str) -> dict[str, str]:
    """What nbgrader makes of an assignment's notebooks. It takes long to start: only where there are some."""
    if not any((ROOT / "solutions" / name).glob("*.ipynb")):
        return {}
    pytest.importorskip("nbgrader", reason="nbgrader, which makes the notebooks, is not installed")
    from grader.nbgrader_plugin.generate import notebooks

    return notebooks(course, name)


@pytest.mark.parametrize("name", ["01", "02", "03", "04"])
def test_the_committed_release_is_up_to_date_and_shows_nothing_hidden(name: str) -> None:
    course = load_course(ROOT / "course.yml")
    made = notebooks(course, name)
    assert out_of_date(course, name, made) == ()
    released = {p.name: p.read_text() for p in (ROOT / "assignments" / name).glob("*.*")}
    assert set(released) == {"course.yml", "kernels.py", "problem.py", "test_public.py", *made}
    for file in made:
        del released[file]  # a learner's copy has answers and outputs
    del released["kernels.py"]  # a learner's copy may hold their own solution; out_of_date knows the stub
    assert list(leaks(ROOT / "solutions" / name, released)) == []
