"""A command of the owner's, run once per event.

Text from the web never gets near a shell: the command is split once, as a shell would split it, and run without one;
the event comes as JSON on its standard input and, for those in a hurry, as a few environment variables.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from hashlib import blake2b

from recrawl.crawl.events import heading
from recrawl.crawl.outlets.base import RefusedError
from recrawl.crawl.outlets.child import ChildTimeoutError, ran
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
            code, _ = await ran(
                self._arguments, event.body + b"\n", self._timeout_s, env=os.environ | _variables(event), shown=True
            )
        except OSError as error:
            raise RefusedError(f"{name} cannot be run: {error.strerror or error}", TRIES) from error
        except ChildTimeoutError:
            raise RefusedError(f"{name} took longer than {self._timeout_s:g} s", TRIES) from None
        if code:
            raise RefusedError(f"{name} {_ending(code)}", TRIES)


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


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
