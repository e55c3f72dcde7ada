"""A JupyterLab server and a browser without a window, for tests of what people see. Nothing leaves the machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from nbgrader_commands import user_environment

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
FLAGS += ("--disable-sync", "--no-first-run")
TOKEN = "a-token-of-the-tests"
START_SECONDS = 60


def chromium_or_skip() -> str:
    """The browser's path; without one, or without Playwright, the test is skipped with the reason."""
    if find_spec("playwright") is None:
        pytest.skip("Playwright is not installed: pip install 'warpgrade[dev]'")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium here (Debian: apt-get install chromium)")
    return found


@contextlib.contextmanager
def jupyter_lab(course: Path, above: Path, home: Path) -> Iterator[str]:
    """JupyterLab started in the folder ``course``, serving the folder ``above`` it; gives the server's URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    # Where the extensions are, should the packages come from another environment than this Python's.
    prefix = Path(str(find_spec("nbgrader").origin)).parents[4]
    environment = user_environment(home) | {
        "JUPYTER_CONFIG_PATH": str(prefix / "etc/jupyter"),
        "JUPYTERLAB_DIR": str(prefix / "share/jupyter/lab"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={above}"]
    # It would ask for permission to look for news, in front of everything.
    asks = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (home / "jupyter_config_dir/labconfig").mkdir(parents=True)
    (home / "jupyter_config_dir/labconfig/page_config.json").write_text(json.dumps(asks), encoding="utf-8")
    log = home / "server.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, cwd=course, env=environment, stdout=out, stderr=out, start_new_session=True)
        try:
            _wait(server, f"{url}/api?token={TOKEN}", log)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, 9)
                server.wait()


def _wait(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(url):
            return
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text(errors='replace')[-3000:]}")


@contextlib.contextmanager
def browser_page(executable: str, server: str) -> Iterator[Any]:
    """A page of a new browser that has logged in to ``server`` and asks nobody else for anything."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        context.set_default_timeout(90_000)
        own = (f"{server}/", "file:", "data:", "blob:")
        context.route("**/*", lambda route: route.continue_() if route.request.url.startswith(own) else route.abort())
        page = context.new_page()
        page.goto(f"{server}/api?token={TOKEN}")
        yield page
        browser.close()


def screenshot(page: Any, file: Path) -> None:
    """What the page shows, as a PNG of 64 colours: text needs no more, and stays below 150 kB."""
    from PIL import Image

    file.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(file))
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(64)
    small.save(file, optimize=True)
