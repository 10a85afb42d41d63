"""The command line: one module per command, heavy parts imported only when a command runs.

Every command's module is light; what it needs to work (NumPy, numba, rich, matplotlib) it imports inside the command.
Errors that recrawl raises on purpose end a command with one line and exit status 2, Ctrl-C with 130.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from recrawl import __version__
from recrawl.cli.options import config_option
from recrawl.cli.suggestions import Suggesting
from recrawl.errors import RecrawlError
from recrawl.logs import guard

COMMANDS = {
    "demo": "recrawl.cli.demo",
    "add": "recrawl.cli.add",
    "import": "recrawl.cli.import_",
    "export": "recrawl.cli.export",
    "preview": "recrawl.cli.preview",
    "sources": "recrawl.cli.sources",
    "tag": "recrawl.cli.tag",
    "pause": "recrawl.cli.pause",
    "release": "recrawl.cli.release",
    "remove": "recrawl.cli.remove",
    "status": "recrawl.cli.status",
    "explain": "recrawl.cli.explain",
    "items": "recrawl.cli.items",
    "search": "recrawl.cli.search",
    "changes": "recrawl.cli.changes",
    "whatif": "recrawl.cli.whatif",
    "vacuum": "recrawl.cli.vacuum",
    "store": "recrawl.cli.store",
    "backup": "recrawl.cli.backup",
    "doctor": "recrawl.cli.doctor",
    "config": "recrawl.cli.config",
    "run": "recrawl.cli.run_",
    "crawl": "recrawl.cli.crawl_",
    "signal": "recrawl.cli.signal_",
    "budget": "recrawl.cli.budget",
    "compare": "recrawl.cli.compare",
    "serve": "recrawl.cli.serve",
    "cluster": "recrawl.cli.cluster",
    "reproduce": "recrawl.cli.reproduce",
    "replay": "recrawl.cli.replay",
    "synthweb": "recrawl.cli.synthweb",
}
USER_ERROR, INTERRUPTED = 2, 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Commands(Suggesting):
    """Finds a command's module only when it is named or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order they are meant to be read."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        home = COMMANDS.get(cmd_name)
        if home is None:
            return None
        command = import_module(home).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="recrawl", message="%(prog)s %(version)s")
@config_option
def recrawl() -> None:
    """Decide what to recrawl, and when, so that every fetch counts."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    guard()
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        status = recrawl.main(args=arguments, prog_name="recrawl", standalone_mode=False)
    except click.exceptions.Abort:
        return _complain("interrupted", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RecrawlError as error:
        return _complain(" ".join(str(error).split()), USER_ERROR)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        return _complain(
            f"the disk is full: {error.filename or error.strerror}; make room and run it again", USER_ERROR
        )
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    click.echo(f"recrawl: {message}", err=True)
    return status
