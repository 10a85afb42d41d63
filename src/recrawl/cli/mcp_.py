"""`recrawl mcp`: the store for language models, over standard input and output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import settings, store_options

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.web.context import Context


@click.command(name="mcp", short_help="Answer a language model's questions about the store.")
@store_options
def command() -> None:
    """Answer a language model's questions about the store.

    This speaks the Model Context Protocol on standard input and output. A client starts it itself: give it the command
    `recrawl mcp --store PATH`. The store is opened for reading only, until a source is to be added, which the user is
    asked about first. `recrawl serve` has the same tools at /api/mcp.
    """
    import asyncio
    import sys

    from recrawl.errors import require

    for module in ("mcp", "starlette"):
        require(module, "recrawl mcp", "mcp")
    from recrawl import logs

    logs.configure()  # before the SDK does it in its own way
    config = settings()
    if sys.stdin.isatty():
        click.echo("waiting for a client on standard input; Ctrl-D ends it", err=True)
    asyncio.run(_serve(config))


async def _serve(config: Config) -> None:
    from recrawl.clock import SystemClock
    from recrawl.store.opening import open_store
    from recrawl.web.context import Context
    from recrawl.web.mcp.answers import Answers
    from recrawl.web.mcp.server import make_server

    @contextmanager
    def writing() -> Iterator[Context]:
        with open_store(config.store) as store:
            yield Context(store, config, SystemClock())

    with open_store(config.store, read_only=True) as store:
        await make_server(Answers(Context(store, config, SystemClock()), writing)).run_stdio_async()
