"""``python -m grader.recorder FD FOLDER``: the recorder's warm child. Started by ``sandbox.launch`` only."""

from __future__ import annotations

import warnings

from grader.sandbox.protocol import Message, serve


def warm_up() -> None:
    """Import what every job needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecation in numba.cuda is no student's business
        from grader.recorder import names, session

        assert session
        names.load_real()


def handle(request: Message) -> Message:
    """Answer one request, in a job."""
    from grader.recorder import session

    return session.handle(request)


if __name__ == "__main__":
    serve(handle, warm_up)
