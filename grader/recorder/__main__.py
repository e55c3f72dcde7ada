"""``python -m grader.recorder FD FOLDER``: the recorder's warm child. Started by ``sandbox.launch`` only.

In: requests with the text of kernels.py and calls. Out: plans, or what is wrong with the text (``session``).
"""

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
    """Answer one request, in a job.

    Student code shares this interpreter and may have replaced anything in it, also what the session is made
    of. Whatever comes of that is an answer too.
    """
    from grader.recorder import session
    from grader.recorder.mistakes import message_of, type_name

    answer, name_of, text_of = Message, type_name, message_of  # held here: modules may be empty by then
    try:
        return session.handle(request)
    except MemoryError:
        raise
    except BaseException as error:
        return answer({"broken": f"{name_of(error)}: {text_of(error)}"})


if __name__ == "__main__":
    serve(handle, warm_up, hidden=True)
