"""A gradebook in PostgreSQL: autograde and both exports give what they give with SQLite."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clean_process
import nbgrader_class as handed_in
import pytest
import tiny_notebook as notebook
from nbgrader_commands import COMMAND, user_environment

GRADER = "from grader.cli import main; main()"
START_SECONDS = 30
SERVERS_USER = "postgres"  # the server refuses to run as root
OF_DEBIAN = Path("/usr/lib/postgresql")


def programs_or_skip() -> Path:
    """The folder with initdb and postgres; the test is skipped, with the reason, where something is missing."""
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: pip install 'warpgrade[dev]'")
    found = [Path(path).resolve() for path in filter(None, [shutil.which("initdb")])]
    found += sorted(OF_DEBIAN.glob("*/bin/initdb"))
    found = [path for path in found if (path.parent / "postgres").exists()]
    if not found:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    return found[0].parent


def _user() -> dict[str, Any]:
    """As whom the server runs, as subprocess wants it."""
    if os.getuid():
        return {}
    import pwd

    try:
        user = pwd.getpwnam(SERVERS_USER)
    except KeyError:
        pytest.skip(f"the tests run as root, PostgreSQL does not, and there is no user {SERVERS_USER!r}")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database. Its server has a socket in a folder of its own, no port, and ends with the test."""
    programs = programs_or_skip()
    user = _user()
    # Not tmp_path: another user's server must get there, and the path of a socket is at most 107 bytes long.
    with tempfile.TemporaryDirectory(prefix="grader-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if user:
            os.chown(folder, user["user"], user["group"])
        common: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, **user}
        initdb = [programs / "initdb", "-D", folder / "data", "-U", "grader", "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = subprocess.run(initdb, capture_output=True, text=True, check=False, **common)
        assert done.returncode == 0, done.stderr
        command = [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-F"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, **common)
        try:
            _create(server, folder)
            yield f"postgresql+psycopg://grader@/gradebook?host={folder}"
        finally:
            server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(10)
            server.kill()
            server.wait()


def _create(server: subprocess.Popen[bytes], folder: Path) -> None:
    import psycopg

    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(host=str(folder), user="grader", dbname="postgres", autocommit=True) as connection,
        ):
            connection.execute("CREATE DATABASE gradebook")
            return
        time.sleep(0.1)
    raise AssertionError(f"PostgreSQL did not start: {(folder / 'log').read_text(errors='replace')[-2000:]}")


def exports(root: Path, *gradebook: str, there: bytes = b"") -> dict[str, str]:
    """Autograde the class in a new course twice, the second time with a score by hand; what exports then say."""
    handed_in.write_class_course(root)
    if gradebook:
        with (root / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
            settings.write(f"\nc.CourseDirectory.db_url = {gradebook[0]!r}\n")
    elif there:
        (root / "gradebook.db").write_bytes(there)
    handed_in.hand_in(root, "ada", book=notebook.answered(handed_in.RIGHT))
    handed_in.hand_in(root, "bob", "test_doubles", timestamp=handed_in.LATE)
    handed_in.hand_in(root, "Zoë Müller-3", "fault", notebook.answered(handed_in.RIGHT))
    environment, out = user_environment(root.with_suffix(".home")), root.with_suffix(".out")
    out.mkdir()
    by_hand = f"""\
from nbgrader.api import Gradebook
with Gradebook({gradebook[0] if gradebook else "sqlite:///gradebook.db"!r}, "tiny") as book:
    book.find_grade("speed", "doubling", "01", "ada").manual_score = 12.5
    book.db.commit()
"""
    for code, *arguments in (
        (handed_in.FAKE_CLASS + COMMAND, "autograde", "01"),
        (by_hand,),
        (f"import os; os.environ['FAKE_GPU'] = '1'\n{handed_in.FAKE_CLASS}{COMMAND}", "autograde", "01", "--force"),
        (COMMAND, "export", "--to", "nbgraders.csv"),
        (GRADER, "export", *(("--gradebook", *gradebook) if gradebook else ())),
    ):
        done = clean_process.run(code, *arguments, cwd=root, env=environment, out=out)
        assert done.returncode == 0, done.stderr
    return {name: (root / name).read_text(encoding="utf-8") for name in ("nbgraders.csv", "exported/grades.csv")}


def test_a_gradebook_in_postgresql_gives_the_exports_that_sqlite_gives(
    tmp_path: Path, database: str, empty_gradebook: bytes
) -> None:
    made = exports(tmp_path / "postgresql", database)
    assert not (tmp_path / "postgresql/gradebook.db").exists()
    assert made == exports(tmp_path / "sqlite", there=empty_gradebook)
    assert "12.5" in made["nbgraders.csv"]
