"""A command of the owner's, run once per event.

Text from the web never gets near a shell: the command is split once, as a shell would split it, and run without one;
the event comes as JSON on its standard input and, for those in a hurry, as a few environment variables.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from hashlib import blake2b

from recrawl.crawl.events import heading
from recrawl.crawl.outlets.base import RefusedError
from recrawl.errors import ParameterError
from recrawl.redaction import program
from recrawl.store.records import Event

TRIES = 3
TIMEOUT_S = 60.0
LONGEST_VARIABLE = 4096
"""Characters of an environment variable; the system refuses to start a program with very long ones."""


class CommandOutlet:
    """Runs a command per event, one at a time; one that fails three times is passed over with a warning.

    Parameters
        command: program and arguments, quoted as for a shell, but no shell runs it: no pipes, no variables
        timeout_s: after which the command and what it started are killed, and it counts as failed
    """

    batch = 1

    def __init__(self, command: str, timeout_s: float = TIMEOUT_S) -> None:
        self._arguments = _split(command)
        self._timeout_s = timeout_s
        digest = blake2b("\0".join(self._arguments).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()
        self.name = f"exec:{digest}"

    async def deliver(self, events: Sequence[Event]) -> None:
        """Run the command for each."""
        for event in events:
            await self._run(event)

    async def close(self) -> None:
        """Nothing is held between events."""

    async def _run(self, event: Event) -> None:
        name = self._arguments[0]
        try:
            process = await asyncio.create_subprocess_exec(
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=_errors(),  # standard output may be carrying events
                env=os.environ | _variables(event),
                start_new_session=True,  # Ctrl-C is for the crawler, which lets the command finish
            )
        except OSError as error:
            raise RefusedError(f"{name} cannot be run: {error.strerror or error}", TRIES) from error
        try:
            async with asyncio.timeout(self._timeout_s):
                try:
                    await process.communicate(event.body + b"\n")
                except RuntimeError:  # uvloop's word for a command that ended before anything was written
                    await process.wait()
        except TimeoutError:
            raise RefusedError(f"{name} took longer than {self._timeout_s:g} s", TRIES) from None
        finally:
            if process.returncode is None:
                await _kill(process)
        if process.returncode:
            raise RefusedError(f"{name} {_ending(process.returncode)}", TRIES)


def _split(command: str) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise ParameterError("exec", "a command with balanced quotes", repr(program(command))) from error
    if not arguments:
        raise ParameterError("exec", "a command", repr(command))
    if shutil.which(arguments[0]) is None:
        raise ParameterError("exec", "a command that can be run", repr(arguments[0]))
    return arguments


def _variables(event: Event) -> dict[str, str]:
    about = heading(event)
    values = {"ID": about.id, "TYPE": about.type, "LINK": about.link, "TITLE": about.title}
    return {f"RECRAWL_EVENT_{name}": value.replace("\0", "")[:LONGEST_VARIABLE] for name, value in values.items()}


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


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
