"""A child for tests: a job executes the Python text that its request brings. Runs as a warm child's module.

The text sees ``message`` (the request) and sets ``answer`` (a Message). When ``grader.sandbox.record`` is the caller,
the text is what it sends as kernels.py.
"""

from __future__ import annotations

import sys

from grader.sandbox.protocol import Message, serve


def handle(message: Message) -> Message:
    text = message.header.get("python") or message.arrays["source"].tobytes().decode()
    names = {"message": message, "Message": Message, "answer": Message({})}
    exec(text, names)
    answer = names["answer"]
    assert isinstance(answer, Message)
    return answer


def warm_up() -> None:
    assert "numba" not in sys.modules


if __name__ == "__main__":
    serve(handle, warm_up)
