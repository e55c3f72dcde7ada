"""What Formgrader's buttons show where something is refused: the sentence, no traceback. nbgrader's process (trusted).

In: a step of nbgrader's or ours, about to be started. Out: what nbgrader's pages show of it, as a dictionary.
"""

from __future__ import annotations

from typing import Any

from nbgrader import utils
from nbgrader.converters import NbGraderException
from nbgrader.exchange.abc import ExchangeError


def capture_log(app: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    """In the place of ``nbgrader.apps.api.capture_log``: ``error`` is there for what nobody foresaw alone.

    What is refused ends with one of nbgrader's two exceptions, and has been logged by then.
    """
    refused: list[str] = []
    start = app.start

    def noting() -> None:
        try:
            start()
        except (NbGraderException, ExchangeError) as error:
            refused.append(str(error))
            raise

    app.start = noting
    shown: dict[str, Any] = utils.capture_log(app, *arguments, **options)
    if refused:
        del shown["error"]
        shown.setdefault("log", refused[0])
    return shown
