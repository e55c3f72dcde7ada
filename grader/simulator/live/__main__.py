"""Runs an unchanged script on the simulator. A process of its own, started by ``grader simulate``.

In: ``--report FILE --gpu MODEL --launch-seconds S SCRIPT [ARGS]…``. Out: what the script prints, its exit code, and in
FILE a JSON document of its launches and the text of their kernels (``groups``), also when the script fails.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

from grader.records import Place
from grader.simulator import install, trace
from grader.simulator.live.callers import is_internal
from grader.simulator.live.function_texts import function_texts
from grader.simulator.live.groups import as_json, launch_groups
from grader.simulator.live.launch_mistakes import not_launched
from grader.simulator.sources import AnyFile
from grader.traces import LaunchTrace

# Of Numba's message on a kernel that it rejects, which may have forty.
MESSAGE_LINES = 4
_SIMULATOR = str(Path(__file__).parents[1])


def main(arguments: Sequence[str]) -> int:
    """The script's exit code."""
    parser = argparse.ArgumentParser(prog="python -m grader.simulator.live")
    parser.add_argument("--report", required=True, type=Path)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--launch-seconds", required=True, type=float)
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    own_process = os.getpid()
    install(given.gpu, launch_seconds=given.launch_seconds)
    with trace() as launches:
        code = _run(given.script, given.args, launches)
    if os.getpid() == own_process:  # and not one that the script has forked
        _write(given.report, launches)
    return code


def _write(report: Path, launches: Sequence[LaunchTrace]) -> None:
    report.write_text(as_json(launch_groups(launches), function_texts(launches)), encoding="utf-8")


def _run(script: str, args: Sequence[str], launches: list[LaunchTrace]) -> int:
    """Execute a file as ``python SCRIPT ARGS…`` does; ``launches`` are those that it has made."""
    main_module = ModuleType("__main__")
    main_module.__dict__.update(__file__=script, __builtins__=__builtins__, __cached__=None)
    sys.modules["__main__"] = main_module
    sys.argv = [script, *args]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        with io.open_code(script) as file:
            code = compile(file.read(), script, "exec", dont_inherit=True)
        exec(code, main_module.__dict__)  # noqa: S102  (that is what was asked for)
    except SystemExit as error:
        return _exit_code(error)
    except BaseException as error:  # the script's, as Python would show it
        shown = _from_script(error.__traceback__, script)
        if isinstance(error, KeyboardInterrupt):
            _end_before_ours(shown)
        elif told := _not_launched(error, shown):
            launches.append(told)
            _end_before_ours(shown)
        elif launches and launches[-1].problem:  # of which the page says more than our own frames do
            _end_at(launches[-1].place, shown)
        if launches and any(finding.kind == "kernel-rejected" for finding in launches[-1].findings):
            _print_shortened(error, shown)
        else:
            traceback.print_exception(type(error), error, shown)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(error: SystemExit) -> int:
    """As Python takes ``sys.exit``: None is 0, a number is itself, anything else is printed."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _from_script(trace: TracebackType | None, script: str) -> TracebackType | None:
    """The traceback from the script's own frame on; ours would be no help."""
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    return trace


def _not_launched(error: BaseException, trace: TracebackType | None) -> LaunchTrace | None:
    """What there is to tell of an exception that comes from how the script launches, or calls what is for kernels."""
    last = None
    while trace is not None and not _is_ours(trace):
        last, trace = trace, trace.tb_next
    if last is None:
        return None
    code = last.tb_frame.f_code
    return not_launched(error, AnyFile().place_in(code.co_filename, last.tb_lineno, code.co_name))


def _is_ours(trace: TracebackType) -> bool:
    """Whether a frame is in the simulator or in Numba."""
    filename = trace.tb_frame.f_code.co_filename
    return filename.startswith(_SIMULATOR) or is_internal(filename)


def _print_shortened(error: BaseException, trace: TracebackType | None) -> None:
    """An exception as Python shows it, with the beginning of a message that the page makes a sentence of."""
    lines = [line for line in "".join(traceback.format_exception_only(error)).splitlines() if line]
    shown = lines if len(lines) <= MESSAGE_LINES else [*lines[: MESSAGE_LINES - 1], "[…]"]
    print("Traceback (most recent call last):", *traceback.format_tb(trace), sep="\n", end="", file=sys.stderr)
    print(*shown, sep="\n", file=sys.stderr)


def _end_before_ours(trace: TracebackType | None) -> None:
    """Cut a traceback where the script called the simulator or Numba first."""
    while trace is not None:
        if trace.tb_next is not None and _is_ours(trace.tb_next):
            trace.tb_next = None
        trace = trace.tb_next


def _end_at(place: Place, trace: TracebackType | None) -> None:
    """Cut what the simulator and Numba have at the end of a traceback, where ``place`` is what called them."""
    last = None
    while trace is not None:
        if not _is_ours(trace):
            last = trace
        trace = trace.tb_next
    if last is not None and (last.tb_frame.f_code.co_filename, last.tb_lineno) == (place.file, place.line):
        last.tb_next = None


if __name__ == "__main__":
    exit_code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(exit_code)
