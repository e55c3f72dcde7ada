"""The runner on a GPU that is none, and that computes nothing. A warm child's module, started by fake_sanitizer.py.

The names of kernels that ran are written to the file that FAKE_SANITIZED names, for a log to be chosen by them. Two
names do what a GPU may: ``hangs``, and ``needs_optimising``, which is refused as a launch without registers is.
"""

# mypy: ignore-errors
from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from grader.sandbox.protocol import Message, serve

REFUSED = {"kind": "gpu-error", "what": "The GPU stopped the kernel: OUT_OF_RESOURCES"}


def handle(request: Message) -> Message:
    header = request.header
    assert header["do"] == "carry out"
    assert header["device"] == "cuda"
    assert header["runs"] == 1
    plan = header["plan"]
    names = [plan["functions"][each["kernel"]]["qualname"] for each in plan["operations"] if "kernel" in each]
    with Path(os.environ["FAKE_SANITIZED"]).open("a") as ran:
        ran.write("\n".join([*names, header["line_info"], ""]))
    if "hangs" in names:
        time.sleep(600)
    if "needs_optimising" in names and header["line_info"] == "debug":
        return Message({"problem": REFUSED})
    outputs = {name.removeprefix("fill:0:") for name in request.arrays if name.startswith("fill:0:")}
    run = {"findings": [], "launches": [], "lines": [], "changed_inputs": [], "printed": {"lines": [], "left_out": 0}}
    found = {f"output:0:{b['name']}": np.zeros(b["nbytes"], np.uint8) for b in plan["buffers"] if b["name"] in outputs}
    return Message({"runs": [run]}, found)


if __name__ == "__main__":
    serve(handle, lambda: None)
