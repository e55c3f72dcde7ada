"""A child for tests that fails while it warms up."""

from __future__ import annotations

from grader.sandbox.protocol import Message, serve


def handle(message: Message) -> Message:
    return message


def warm_up() -> None:
    raise RuntimeError("no such compiler")


if __name__ == "__main__":
    serve(handle, warm_up)
