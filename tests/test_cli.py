"""The command ``grader``, as a process of its own: what it prints, its exit codes, one sentence per error."""

from __future__ import annotations

import csv
import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import class_judges
import pytest
import tiny_course as tiny

from grader import cli
from grader.classroom import Task
from grader.gradebook import read_results
from grader.records import Verdict
from grader.release import release
from grader.sandbox.walls import VARIABLE, offer


def grader(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command like a user whose terminal has 80 columns."""
    return subprocess.run(
        [sys.executable, "-c", "from grader.cli import main; main()", *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    text = tiny.COURSE.replace("timeouts: 500 ms", "timeouts: 5 s")
    return tiny.write_course(tmp_path / "course folder", course=text)


def assert_one_sentence(done: subprocess.CompletedProcess[str], said: str, code: int = 2) -> None:
    assert done.returncode == code, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.startswith("grader: ")
    assert done.stderr.count("\n") == 1


def test_help_names_every_command(tmp_path: Path) -> None:
    done = grader("--help", cwd=tmp_path)
    assert done.returncode == 0
    for command in ("check", "grade", "export", "release", "lint", "demo", "doctor"):
        assert f"\n  {command} " in done.stdout
        assert grader(command, "--help", cwd=tmp_path).returncode == 0
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_the_version_is_the_packages(tmp_path: Path) -> None:
    assert grader("--version", cwd=tmp_path).stdout == "warpgrade 0.1.0\n"


def test_outside_of_a_course_one_sentence_says_where_to_go(tmp_path: Path) -> None:
    assert_one_sentence(grader("check", "03", cwd=tmp_path), "no course.yml here or in a folder above")


def test_above_a_folder_with_a_course_of_its_own_a_sentence_says_to_go_there_and_nothing_of_it_runs(
    root: Path, tmp_path: Path
) -> None:
    above = root.parent
    (root / "problem.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for place in (root, root / "solutions/01", root / "solutions/01/kernels.py"):
        done = grader("check", "01", str(place.relative_to(above)), cwd=above)
        assert_one_sentence(done, f"cd '{root}'")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "7"), "unknown assignment '7'; there are 01"),
        (("grade", "01"), "expected a folder submitted with <student>/01, found none"),
        (("grade", "01", "--submitted", "solutions"), "expected submissions solutions/<student>/01, found none"),
        (("check", "01", "nowhere"), "expected a folder with kernels.py, found no nowhere"),
        (("check", "01", "course.yml"), "expected a folder with kernels.py, found the file course.yml"),
        (("check", "01", "solutions"), "did you mean solutions/01?"),
        (("check", "01", "--part", "quiz"), "expected a part of 01: correctness, technique, speed; found quiz"),
        (("lint", "2"), "unknown assignment '2'"),
        (("release", "x"), "unknown assignment 'x'"),
        (("demo", "--keep", "solutions"), "solutions exists; give a new folder"),
    ],
)
def test_a_wrong_call_is_one_sentence(root: Path, arguments: tuple[str, ...], said: str) -> None:
    assert_one_sentence(grader(*arguments, cwd=root), said)


def test_a_mistake_in_course_yml_is_one_sentence_with_its_line(root: Path) -> None:
    (root / "course.yml").write_text(tiny.COURSE.replace("speed: 20", "sped: 20"))
    assert_one_sentence(grader("check", "1", cwd=root), "course.yml:5: unknown key 'sped' (did you mean 'speed'?)")


def test_without_solutions_what_needs_them_says_so(root: Path) -> None:
    from grader.course import load_course

    release(load_course(root / "course.yml"), "01")
    shutil.rmtree(root / "solutions")
    (root / "submitted").mkdir()
    assert_one_sentence(grader("grade", "01", cwd=root), "this command needs the course's solutions")
    assert_one_sentence(grader("lint", "01", cwd=root), "this command needs the course's solutions")


def test_a_sandbox_level_that_is_not_reached_is_refused_before_anything_is_judged(root: Path) -> None:
    (root / "course.yml").write_text(f"grading: {{sandbox: isolated}}\n{tiny.COURSE}")
    tiny.write_kernels(root / "submitted/ada/01")
    done = grader("grade", "01", cwd=root, WARPGRADE_SANDBOX="limits")
    assert_one_sentence(
        done, "demands the sandbox level 'isolated'; for students' Python this machine reaches 'limits'"
    )
    assert not (root / "results").exists()
    assert_one_sentence(grader("grade", "01", cwd=root, WARPGRADE_SANDBOX="none"), "WARPGRADE_SANDBOX is 'none'")


TOLD_THE_LEVEL = """\
import class_judges, grader.judging
grader.judging.judge_task = class_judges.told_the_level
from grader.cli import main
main()
"""


@pytest.mark.parametrize("level", ["limits", "restricted"])
def test_whoever_judges_is_told_the_level_that_is_demanded_and_whoever_grades_what_is_missing(
    root: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, level)
    if offer().level != level:
        pytest.skip(f"not run: {'; '.join(offer().missing)}")
    (root / "course.yml").write_text(f"grading: {{sandbox: {level}}}\n{tiny.COURSE}")
    tiny.write_kernels(root / "submitted/ada/01")
    done = subprocess.run(
        [sys.executable, "-c", TOLD_THE_LEVEL, "grade", "01"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    (line,) = [line for line in done.stderr.splitlines() if "sandbox" in line]
    assert line.startswith("students' Python")
    assert line.endswith(f"at the sandbox level {level!r}, not 'isolated' ({VARIABLE} is {level})")
    (verdict,) = read_results(root / "results/01.json")
    assert verdict.summary == f"judged at the level {level!r} or a stronger one"


def test_native_windows_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("grader: native Windows is not supported")


def test_one_part_alone_is_judged_and_has_its_own_total(root: Path) -> None:
    done = grader("check", "1", "solutions/01", "--part", "technique", cwd=root)
    assert done.returncode == 0
    assert "technique: 20 of 20 points" in done.stdout
    assert "total:  20 of 20 points\nthe only check passed." in done.stdout
    assert "correctness" not in done.stdout


def test_python_m_grader_is_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grader", "--version"]
    assert subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE).stdout == b"warpgrade 0.1.0\n"


def test_python_m_grader_has_workers_where_the_package_itself_lies_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "submitted/ada/01").mkdir(parents=True)
    (tmp_path / "submitted/ada/01/kernels.py").write_text("not Python(")
    command = [sys.executable, "-m", "grader", "grade", "01", "--workers", "2"]
    command += ["--submitted", str(tmp_path / "submitted"), "--results", str(tmp_path / "results")]
    home = Path(cli.__file__).parents[2]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=120)
    (ada,) = json.loads((tmp_path / "results/01.json").read_text())["verdicts"]
    assert ada["total"] in (0, None), done.stderr
    assert {check["state"] for check in ada["checks"] if check["part"] == "correctness"} == {"judged"}


@pytest.mark.parametrize("name", ["numpy", "typer", "numba", "pathlib"])
def test_a_module_in_the_current_folder_is_not_taken_for_a_package(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('mine')\n")
    command = [sys.executable, "-m", "grader", "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "mine" in done.stderr) == (0, False), done.stderr


def test_checking_ones_own_kernels_prints_the_report(root: Path) -> None:
    assert grader("release", cwd=root).returncode == 0
    done = grader("check", "1", cwd=root)
    assert done.returncode == 1
    assert "test_doubles: 0 of 2 cases passed" in done.stdout
    assert "launched no kernel" in done.stdout
    assert "test_odd_sizes" not in done.stdout  # a hidden check shows its sentence only
    assert "Sizes that are no multiple of a block work too." in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    shutil.copy(root / "solutions/01/kernels.py", root / "assignments/01/kernels.py")
    done = grader("check", "01", "--device", "simulated", cwd=root / "assignments")
    assert done.returncode == 0, done
    assert "correctness: 60 of 60 points" in done.stdout
    assert "not measured: no GPU" in done.stdout


def test_a_folder_copied_elsewhere_can_be_checked(root: Path, tmp_path: Path) -> None:
    grader("release", cwd=root)
    copied = tmp_path / "elsewhere"
    shutil.copytree(root / "assignments/01", copied)
    shutil.copy(root / "solutions/01/kernels.py", copied)
    done = grader("check", "01", "--json", cwd=copied)
    assert done.returncode == 0, done
    assert grader("check", "01", "--json", "kernels.py", cwd=copied).returncode == 0
    (verdict,) = json.loads(done.stdout)["verdicts"]
    assert [part["earned"] for part in verdict["parts"]] == [60, 20, 0]


def test_grading_a_class_writes_table_and_files_and_goes_on_after_anything(root: Path) -> None:
    submitted = root / "submitted"
    tiny.write_kernels(submitted / "ada/01")
    tiny.write_kernels(submitted / "=eve/01")
    (submitted / "bob/01").mkdir(parents=True)
    (submitted / "bob/01/report.pdf").write_text("no kernels")
    (submitted / "cy/01").mkdir(parents=True)
    (submitted / "cy/01/kernels.py").write_text("import sys\nsys.exit(0)\n")
    (submitted / "dan").mkdir()
    (submitted / "flo").mkdir()
    (submitted / "flo/01").symlink_to(root / "solutions/01")
    (submitted / "gil").mkdir()
    (submitted / "gil/01").write_text("a file")
    # An instructor's own settings for pytest must not change a score.
    done = grader("grade", "1", "--workers", "2", cwd=root, PYTEST_ADDOPTS="-x -k nothing")
    assert done.returncode == 0, done
    assert "nothing handed in: 1 of 7 in submitted" in done.stdout
    assert "the student's name '=eve' holds '='" in done.stdout
    assert done.stdout.count("judged here, but nbgrader would refuse it") == 1
    # Nothing went wrong, so the exit code is 0; what cannot start (bob, cy, flo, gil) fails without a GPU, too.
    assert "2 of 7 totals are open; the table says what they wait for" in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line and line[0] != " "][:8] == [
        "student",
        "=eve",
        "ada",
        "bob",
        "cy",
        "dan",
        "flo",
        "gil",
    ]
    rows = {row["student"]: row for row in csv.DictReader((root / "results/01.csv").read_text().splitlines())}
    assert {name: row["correctness"] for name, row in rows.items()} == {
        "'=eve": "60.0",
        "ada": "60.0",
        "bob": "0.0",
        "cy": "0.0",
        "dan": "0.0",
        "flo": "0.0",
        "gil": "0.0",
    }
    assert rows["ada"]["total"] == ""  # speed waits for a GPU
    assert "There is no kernels.py" in rows["bob"]["why"]
    assert "link" in rows["flo"]["why"]
    verdicts = json.loads((root / "results/01.json").read_text())["verdicts"]
    assert [v["student"] for v in verdicts] == ["=eve", "ada", "bob", "cy", "dan", "flo", "gil"]
    assert sorted(file.name for file in (root / "results").iterdir()) == ["01.csv", "01.json"]


def test_whoever_handed_in_nothing_is_in_all_results_with_no_points_and_is_never_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny.write_kernels(root / "submitted/cy/01")
    for student in ("bob", "zoe"):
        (root / "submitted" / student).mkdir()
    judged: list[str] = []

    def grade_class(tasks: list[Task], *_: object, **__: object) -> tuple[Verdict, ...]:
        judged.extend(task.student for task in tasks)
        partial = json.loads((root / "results/01.partial.json").read_text())["verdicts"]
        assert [v["student"] for v in partial] == ["bob", "cy", "zoe"]
        return tuple(class_judges.full_marks(task) for task in tasks)

    monkeypatch.setattr("grader.classroom.grade", grade_class)
    monkeypatch.setattr(sys, "argv", ["grader", "grade", "01"])
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert judged == ["cy"]
    lines = capsys.readouterr().out.splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("zoe "))
    assert lines[row].split() == ["zoe", "0", "0", "0", "0", "–"]
    assert lines[row + 1].strip() == "nothing handed in"
    with (root / "results/01.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    absent = rows["zoe"]
    assert (absent["total"], absent["points"], absent["points_judged"]) == ("0.0", "100.0", "100.0")
    assert (absent["why"], absent["handed_in"], rows["cy"]["handed_in"]) == ("nothing handed in", "no", "yes")
    verdicts = {v["student"]: v for v in json.loads((root / "results/01.json").read_text())["verdicts"]}
    assert {name: v["handed_in"] for name, v in verdicts.items()} == {"bob": False, "cy": True, "zoe": False}
    assert (verdicts["bob"]["total"], verdicts["bob"]["checks"]) == (0, [])


def test_results_hold_the_seed_with_which_a_submission_can_be_judged_again(root: Path) -> None:
    from grader.judging import judge_submission

    for student in ("ada", "bob"):
        tiny.write_kernels(root / "submitted" / student / "01")
        text = tiny.KERNELS.replace("2 * x[i]", "3 * x[i]")
        (root / "submitted" / student / "01/kernels.py").write_text(text)
    began = datetime.now(UTC).replace(microsecond=0)
    assert grader("grade", "01", "--workers", "1", cwd=root).returncode == 0
    ada, bob = json.loads((root / "results/01.json").read_text())["verdicts"]
    assert ada["seed"] != bob["seed"]
    judged = datetime.fromisoformat(ada["date"])
    assert judged.utcoffset() == timedelta(0)
    assert began <= judged <= datetime.now(UTC)
    with (root / "results/01.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["date"] == ada["date"]

    def found(seed: int) -> str:
        verdict = judge_submission(root / "solutions/01", root / "submitted/ada/01", seed=seed)
        assert verdict.checks[0].failure is not None
        return verdict.checks[0].failure.found

    assert found(ada["seed"]) == ada["checks"][0]["failure"]["found"] != found(bob["seed"])
    done = grader("check", "01", "submitted/ada/01", "--json", "--seed", str(ada["seed"]), cwd=root)
    (shown,) = json.loads(done.stdout)["verdicts"]
    assert shown["checks"][0]["failure"]["found"] == ada["checks"][0]["failure"]["found"]
    assert shown["seed"] is None
    assert str(ada["seed"]) not in done.stdout


@pytest.mark.parametrize(
    "arguments", [("check", "01", "submitted/ada/01"), ("grade", "01"), ("lint", "01"), ("demo", "--keep", "samples")]
)
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_judged(root: Path, arguments: tuple[str, ...]) -> None:
    (root / "submitted/ada/01").mkdir(parents=True)
    marks = f"open({str(root / 'judged')!r}, 'w')\n"
    for folder in ("submitted/ada/01", "solutions/01"):
        (root / folder / "kernels.py").write_text(marks + tiny.KERNELS)
    # Where there is a GPU it must not be seen, or this would judge on it.
    done = grader(*arguments, "--device", "cuda", cwd=root, CUDA_VISIBLE_DEVICES="", WARPGRADE_SANDBOX="limits")
    said = "needs a GPU, and Numba can use none here; `grader doctor` says what is missing"
    assert_one_sentence(done, f"--device cuda {said}")
    assert done.stdout == ""
    assert not any((root / name).exists() for name in ("judged", "results", "samples"))


@pytest.mark.parametrize("place", ["course.yml", "course.yml/below", "01"])
def test_unusable_results_are_noticed_before_anything_is_judged(root: Path, place: str) -> None:
    (root / "01/01.csv").mkdir(parents=True)
    (root / "submitted/ada/01").mkdir(parents=True)
    (root / "submitted/ada/01/kernels.py").write_text(f"open({str(root / 'judged')!r}, 'w')\n")
    done = grader("grade", "01", "--results", place, cwd=root, WARPGRADE_SANDBOX="limits")
    assert "sandbox level 'limits'" in done.stderr.splitlines(keepends=True)[0]
    done.stderr = done.stderr.partition("\n")[2]
    assert_one_sentence(done, place)
    assert not (root / "judged").exists()
    assert grader("grade", "01", "--workers", "1", cwd=root, WARPGRADE_SANDBOX="limits").returncode == 0
    assert (root / "judged").exists()  # else the first half proves nothing


def test_a_name_that_is_no_utf_8_costs_nobody_the_results(root: Path) -> None:
    name = os.fsdecode(b"m\xfcller")
    tiny.write_kernels(root / "submitted/ada/01")
    try:
        tiny.write_kernels(root / "submitted" / name / "01")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    (root / "submitted" / name / "01/kernels.py").unlink()
    done = grader("grade", "01", "--workers", "1", "--results", f"of {name}", cwd=root)
    assert done.returncode == 0, done
    assert r"m\udcfcller" in done.stdout
    verdicts = json.loads((root / f"of {name}/01.json").read_text("utf-8"))["verdicts"]
    assert [v["student"] for v in verdicts] == ["ada", r"m\udcfcller"]
    assert r"m\udcfcller," in (root / f"of {name}/01.csv").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "asked_by"),
    [(("calibrate", "01"), "calibrate"), (("check", "01", "--sanitize"), "--sanitize")],
)
def test_what_needs_a_gpu_says_so_in_its_own_name(root: Path, arguments: tuple[str, ...], asked_by: str) -> None:
    done = grader(*arguments, cwd=root, CUDA_VISIBLE_DEVICES="")
    assert_one_sentence(done, f"grader: {asked_by} needs a GPU, and Numba can use none here; `grader doctor` says what")
    assert done.stdout == ""


def test_a_release_says_in_one_line_what_it_wrote_and_what_it_kept(root: Path) -> None:
    def told() -> str:
        return grader("release", cwd=root).stdout

    assert told() == "assignments/01: wrote kernels.py, problem.py, test_public.py, course.yml\n"
    assert told() == "assignments/01: nothing changed\n"
    (root / "assignments/01/kernels.py").write_text("# mine\n")
    kept = "kept kernels.py, which has been edited (remove it to get the stub)"
    assert told() == f"assignments/01: {kept}; all else was up to date\n"
    (root / "assignments/01/problem.py").unlink()
    done = grader("release", "--bundle", cwd=root)
    assert done.stdout.startswith(f"assignments/01: wrote problem.py; {kept}\n")
    assert (root / "dist/tiny-student.zip").is_file()


def test_a_bundle_is_of_the_assignments_that_are_named(root: Path) -> None:
    first, head, section = (root / "course.yml").read_text().partition("assignments:\n")
    (root / "course.yml").write_text(first + head + section + section.replace('"01"', '"02"'))
    shutil.copytree(root / "solutions/01", root / "solutions/02")
    for named, wanted in ((("1",), ["01"]), ((), ["01", "02"])):
        done = grader("release", *named, "--bundle", cwd=root)
        assert done.stdout.endswith(f"dist/tiny-student.zip: {', '.join(wanted)}\n"), done
        with zipfile.ZipFile(root / "dist/tiny-student.zip") as zipped:
            folders = {name.split("/")[2] for name in zipped.namelist() if "/assignments/" in name}
        assert sorted(folders) == wanted


def test_lint_prints_a_row_for_each_thing_and_fails_on_a_problem(root: Path) -> None:
    (root / "solutions/01/wrong").mkdir()
    wrong = tiny.KERNELS.replace("2 * x[i]", "x[i] + x[0]").replace(
        '"""Double every element."""',
        '"""Adds the first.\n\nCaught by: test_doubles, test_odd_sizes, test_reads_once\n"""',
    )
    (root / "solutions/01/wrong/adds_the_first.py").write_text(wrong)
    (root / "course.yml").write_text(f"authoring: {{mutants: 2}}\n{(root / 'course.yml').read_text()}")
    grader("release", cwd=root)
    done = grader("lint", "01", "--workers", "2", cwd=root)
    assert done.returncode == 1, done
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()[1:] if line[:1].strip()]
    marks = {row[1]: row[0] for row in rows}
    assert marks["reference"] == marks["stub"] == marks["empty"] == marks["copied"] == marks["release"] == "ok"
    assert marks["adds_the_first"] == "ok", done.stdout
    assert marks["mutants"] == "PROBLEM"
    assert done.stdout.endswith("1 problem\n")


def test_doctor_says_what_is_here_and_what_is_missing(tmp_path: Path) -> None:
    done = grader("doctor", cwd=tmp_path)
    assert done.returncode == 0, done
    for what in ("Python", "numba", "numpy", "GPU", "sandbox", "runner"):
        assert any(line.split()[1:2] == [what] for line in done.stdout.splitlines()), what
    # What is fine, and could give more, is neither a problem nor "open", which of a sandbox would be read as a fault.
    assert "note  sandbox " in grader("doctor", cwd=tmp_path, WARPGRADE_SANDBOX="limits").stdout
    assert "open" not in {line.split()[0] for line in done.stdout.splitlines() if line[:1].strip()}


def test_the_checks_of_an_assignments_own_folder_are_said_to_be_only_a_part(tmp_path: Path) -> None:
    from grader.cli.learner import _other_checks

    own = tmp_path / "assignments" / "01"
    hidden = tmp_path / "solutions" / "01"
    for folder in (own, hidden):
        folder.mkdir(parents=True)
        (folder / "problem.py").touch()
    (own / "course.yml").touch()
    assert _other_checks(own, "01", own) == ""  # a folder on its own
    (tmp_path / "course.yml").touch()
    assert str(tmp_path) in _other_checks(own, "01", own)
    assert _other_checks(tmp_path, "01", hidden) == ""
    (hidden / "problem.py").unlink()
    assert _other_checks(own, "01", own) == ""  # what a student has
