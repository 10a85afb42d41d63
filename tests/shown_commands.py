"""Whether a command line that is shown somewhere is one that recrawl takes."""

from __future__ import annotations

import re

import click

from recrawl import cli


def unknown(arguments: list[str]) -> list[str]:
    """What of a command line no command of recrawl takes."""
    command: click.Command = cli.recrawl
    options = {option for each in command.params for option in each.opts} | {"-h", "--help"}
    for word in arguments:
        if word.startswith("-") and word != "-" and not re.match(r"-\d", word):
            if word.partition("=")[0].rstrip("…") not in options:
                return [word]
        elif isinstance(command, click.Group) and re.fullmatch(r"[a-z-]+", word):
            found = command.get_command(click.Context(command), word)
            if found is None:
                return [word]
            command = found
            options |= {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    return []
