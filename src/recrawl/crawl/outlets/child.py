"""A program run beside the crawl, for a bounded time: killed with all it started when that is over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence


class ChildTimeoutError(Exception):
    """It took too long, and was killed."""


async def ran(
    arguments: Sequence[str], given: bytes, timeout_s: float, *, env: Mapping[str, str] | None = None, shown: bool
) -> tuple[int, bytes]:
    """Its status and what it wrote, or, if that is to be shown, nothing: it goes to our standard error.

    OSError if it cannot be run, ChildTimeoutError if it took longer.
    """
    process = await asyncio.create_subprocess_exec(
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=_errors() if shown else asyncio.subprocess.PIPE,  # our standard output may be carrying events
        stderr=None if shown else asyncio.subprocess.DEVNULL,
        env=env,
        start_new_session=True,  # Ctrl-C is for the crawler, which lets it finish
    )
    written = b""
    try:
        async with asyncio.timeout(timeout_s):
            try:
                written = (await process.communicate(given))[0] or b""
            except RuntimeError:  # uvloop's word for a program that ended before anything was written
                await process.wait()
    except TimeoutError:
        raise ChildTimeoutError from None
    finally:
        if process.returncode is None:
            await _kill(process)
    return process.returncode or 0, written


def _errors() -> int:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return asyncio.subprocess.DEVNULL


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill the command and all it started in its session, and see it gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
