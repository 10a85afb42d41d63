"""The command line: one module per command, and nothing is loaded before it is used.

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
    "demo": ("recrawl.cli.demo", "See it crawl, learn and compare, on a web of its own."),
    "add": ("recrawl.cli.add", "Add sources: feeds, sitemaps, pages."),
    "import": ("recrawl.cli.import_", "Add a whole list: OPML, text, CSV, changedetection.io, urlwatch."),
    "export": ("recrawl.cli.export", "Write the catalogue as OPML, CSV or text."),
    "preview": ("recrawl.cli.preview", "Show what recrawl reads at an address, and what counts."),
    "sources": ("recrawl.cli.sources", "List the catalogue."),
    "tag": ("recrawl.cli.tag", "Add tags to sources, remove tags, list them."),
    "pause": ("recrawl.cli.pause", "Stop fetching sources, or resume them."),
    "release": ("recrawl.cli.release", "Lift the holds of sources and of their hosts."),
    "remove": ("recrawl.cli.remove", "Forget sources and everything found in them."),
    "status": ("recrawl.cli.status", "Show the state of the crawl: sources, price, spend, finds, trouble."),
    "explain": ("recrawl.cli.explain", "Say why and when a source is fetched."),
    "items": ("recrawl.cli.items", "List items and changes of pages."),
    "search": ("recrawl.cli.search", "Search items and changes of pages."),
    "changes": ("recrawl.cli.changes", "Show what changed on pages."),
    "rules": ("recrawl.cli.rules", "Keep, block, tag or star items by what they say."),
    "whatif": ("recrawl.cli.whatif", "Compare budgets: what each would bring."),
    "vacuum": ("recrawl.cli.vacuum", "Delete what retention no longer keeps, and free the space."),
    "store": ("recrawl.cli.store", "Move a store from one place to another."),
    "backup": ("recrawl.cli.backup", "Copy the whole store while it is in use."),
    "doctor": ("recrawl.cli.doctor", "Check a store, and save the readable part of a damaged one."),
    "config": ("recrawl.cli.config", "Print the settings in force, as a commented file."),
    "run": ("recrawl.cli.run_", "Crawl, within the budget, until stopped."),
    "crawl": ("recrawl.cli.crawl_", "Fetch sources now."),
    "signal": ("recrawl.cli.signal_", "Tell the crawler that a source has changed."),
    "notify": ("recrawl.cli.notify", "List who is notified; --test sends each a message."),
    "budget": ("recrawl.cli.budget", "Show the budget, or give the running crawler another."),
    "compare": ("recrawl.cli.compare", "Run two policies at once on your own sources and compare what they capture."),
    "serve": ("recrawl.cli.serve", "Show the store on a web page, with an API and metrics."),
    "mcp": ("recrawl.cli.mcp_", "Answer a language model's questions about the store."),
    "reader": ("recrawl.cli.reader", "Let people read with programs of their own."),
    "cluster": ("recrawl.cli.cluster", "A fleet of crawlers over one PostgreSQL store."),
    "reproduce": (
        "recrawl.cli.reproduce",
        "Reproduce a PAPER, or all of them: every number and figure, published beside measured.",
    ),
    "replay": (
        "recrawl.cli.replay",
        "Replay real traces: what would each policy have found, seeing only what its own crawls show?",
    ),
    "synthweb": ("recrawl.cli.synthweb", "Serve a synthetic web on loopback, with known truth and faults on demand."),
}
"""Where each is, and the first sentence of its help, which is listed without loading it."""
USER_ERROR, INTERRUPTED = 2, 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Commands(Suggesting):
    """Finds a command's module only when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, in the order they are meant to be read."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their names with a sentence about each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in COMMANDS.items()])


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
