"""Worker processes that end when the process that started them does, however it ends. Trusted process.

In: how many. Out: an Executor.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import Connection


class WorkerPool(ProcessPoolExecutor):
    """Fresh worker processes: nothing is inherited from the caller but its arguments.

    Each worker watches a pipe of which only this process has the other end. When that is closed, by
    ``shutdown(wait=False)`` or by the end of this process, even by SIGKILL, the workers end at once, and their
    warm children notice that and end with all that they started.
    """

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        watched, self._lifeline = context.Pipe(duplex=False)
        super().__init__(workers, mp_context=context, initializer=_begin_worker, initargs=(watched,))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """As every Executor's; but with ``wait`` False what is being judged is given up."""
        if not wait:
            self._lifeline.close()
        super().shutdown(wait, cancel_futures=cancel_futures)


def _begin_worker(lifeline: Connection) -> None:
    """In a worker, before its first submission."""
    # Ctrl-C reaches the whole group of processes; what it means is for the process that was called to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()


def _end_with(lifeline: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()  # nothing is ever sent: it returns when the other end is gone
    os._exit(1)  # the main thread may be busy judging, and clean-up is up to the children
