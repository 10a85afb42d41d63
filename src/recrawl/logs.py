"""How faults of the program are told: what went wrong and where, never with what.

A traceback that shows variables shows headers, addresses and documents of strangers with them. Here it is one line of
files, lines and functions, in any log format, and the exception's own words go through `redaction`. `configure` and
`guard` see to what reaches standard error by other ways: the standard library's loggers (asyncio, uvicorn), uncaught
exceptions, threads and destructors.
"""

from __future__ import annotations

import io
import logging
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from recrawl.redaction import message_of

FRAMES = 12
"""Of one exception, those nearest to it."""
CAUSES = 4
_LONGEST_LINE = 2000


def fault(error: BaseException) -> dict[str, str]:
    """The fields of a log line that tell of an exception."""
    return {"error": message_of(error), "trace": trace_of(error)}


def trace_of(error: BaseException) -> str:
    """Where an exception came from, and where those behind it did: the place of the fault first.

    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     trace_of(error)
    '<doctest>:2 <module>'
    """
    parts = [_places(error.__traceback__)]
    behind = _behind(error)
    while behind is not None and len(parts) < CAUSES:
        parts.append(f"after {message_of(behind)} at {_places(behind.__traceback__)}")
        behind = _behind(behind)
    return "; ".join(parts)


def _behind(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _places(found: TracebackType | None) -> str:
    frames = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in traceback.walk_tb(found)]
    return " < ".join(f"{_short(file)}:{line} {name}" for file, line, name in reversed(frames[-FRAMES:])) or "nowhere"


def _short(file: str) -> str:
    """The path from its package on."""
    if file.startswith("<"):
        return file.partition(" ")[0].rstrip(">") + ">"
    parts = Path(file).parts
    for home in ("site-packages", "src"):
        if home in parts:
            return "/".join(parts[len(parts) - parts[::-1].index(home) :])
    return "/".join(parts[-2:])


def configure() -> None:
    """Log to standard error, and see to it that nothing else writes values there."""
    import structlog

    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(_STANDARD_ERROR))  # events have the other
    root = logging.getLogger()
    if not any(isinstance(each, _Handler) for each in root.handlers):
        root.addHandler(_Handler(logging.WARNING))


class _StandardError(io.StringIO):
    """Standard error as it is when something is written: a live view takes its place, and prints lines above itself."""

    def write(self, text: str) -> int:
        """Write it there."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Show what was written."""
        sys.stderr.flush()


_STANDARD_ERROR = _StandardError()


def guard() -> None:
    """The same for what is caught nowhere; for whole programs, not for libraries."""
    sys.excepthook = _uncaught
    threading.excepthook = lambda found: _told("a thread ended with a fault", found.exc_value)
    sys.unraisablehook = lambda found: _told("a fault was ignored", found.exc_value)


class _Handler(logging.Handler):
    """What the loggers of the standard library say, in a line each."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it down."""
        import structlog

        error = record.exc_info[1] if record.exc_info else None
        words: dict[str, Any] = {"logger": record.name, **(fault(error) if error is not None else {})}
        level = min(max(record.levelno // 10 * 10, logging.WARNING), logging.CRITICAL)
        structlog.get_logger("recrawl").log(level, _first_line(record), **words)


def _first_line(record: logging.LogRecord) -> str:
    """What it says; the lines behind the first repeat tasks and futures with all they hold."""
    try:
        said = record.getMessage()
    except Exception:  # whoever wrote the line is not to fail for it
        said = str(record.msg)
    return said.partition("\n")[0][:_LONGEST_LINE]


def _uncaught(kind: type[BaseException], error: BaseException, found: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("recrawl: interrupted", file=sys.stderr)
    else:
        _told("recrawl: a fault in the program, please report it", error)


def _told(words: str, error: BaseException | None) -> None:
    if error is not None and sys.stderr is not None:
        print(f"{words}: {message_of(error)} (at {trace_of(error)})", file=sys.stderr)
