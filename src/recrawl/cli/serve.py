"""`recrawl serve`: the web page, the API and metrics over a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recrawl.cli.options import settings, store_options

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from socket import socket

    from recrawl.clock import Clock
    from recrawl.config import Config
    from recrawl.store.roles import Store
    from recrawl.web.safety.access import Access

LOOPBACK, PORT = "127.0.0.1", 8080


@click.command(name="serve", short_help="Show the store on a web page, with an API and metrics.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Address to listen on; any but loopback needs a password.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option("--allow-host", "names", multiple=True, metavar="NAME",
              help="Answer to this name too; may be repeated.")  # fmt: skip
@click.option("--password-file", "file", type=click.Path(path_type=Path), metavar="FILE",
              help="File with the password's hash; beside the store if not given.")  # fmt: skip
@click.option("--set-password", is_flag=True, help="Ask for a password, keep its hash, and end.")
@store_options
def command(host: str, port: int, names: tuple[str, ...], file: Path | None, set_password: bool) -> None:
    """Show the store on a web page, with an API and metrics.

    On loopback, the default, no password is needed. The password may also be given as RECRAWL_PASSWORD, a token for
    programs as RECRAWL_TOKEN.
    """
    config = settings()
    if set_password:
        _set_password(config, file)
        return
    _serve(config, host, port, names, file)


def _set_password(config: Config, file: Path | None) -> None:
    from recrawl.web.safety.access import password_file
    from recrawl.web.safety.credentials import write_file

    password = click.prompt("Password", hide_input=True, confirmation_prompt=True)
    kept = password_file(config.store, file)
    write_file(kept, password)
    click.echo(f"kept in {kept}; restart a running server to use it")


def listening(config: Config, port: int, host: str | None = None) -> socket:
    """Where `beside` will answer; what keeps it from that is said before a store is opened."""
    _require("recrawl run --serve")
    from recrawl.web.server import bound

    host = host or LOOPBACK
    _access(config, host)
    return bound(host, port, option="--serve")


def beside(config: Config, store: Store, clock: Clock, listener: socket) -> Coroutine[None, None, None]:
    """The web page for a crawler that runs in the same process; says where it is."""
    from recrawl.web.app import make_app
    from recrawl.web.connections import Limits
    from recrawl.web.server import serve

    host, port = listener.getsockname()[:2]
    click.echo(_address(host, port), err=True)
    app = make_app(store, config, clock, access=_access(config, host))
    return serve(app, listener=listener, limits=Limits.of(config.web))


def _access(config: Config, host: str, names: tuple[str, ...] = (), file: Path | None = None) -> Access:
    import os

    from recrawl.web.safety.access import make_access

    return make_access(host, config.store, os.environ, names=names, file=file, web=config.web, push=config.push)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _require(what: str = "recrawl serve") -> None:
    from recrawl.errors import require

    for module in ("fastapi", "uvicorn", "jinja2"):
        require(module, what, "web")


def _serve(config: Config, host: str, port: int, names: tuple[str, ...], file: Path | None) -> None:
    import asyncio

    _require()
    from recrawl import logs
    from recrawl.clock import SystemClock
    from recrawl.policies.compile_ahead import compiling
    from recrawl.store.opening import open_store
    from recrawl.web.app import make_app
    from recrawl.web.connections import Limits
    from recrawl.web.server import bound, serve
    from recrawl.wiring import install_event_loop

    logs.configure()
    install_event_loop()
    compiling.stay()
    access = _access(config, host, names, file)
    listener = bound(host, port)
    store = open_store(config.store)
    try:
        click.echo(f"{_address(host, listener.getsockname()[1])}  (Ctrl-C ends it)")
        if not store.count():
            click.echo(f"{config.store} has no sources yet: add some on the page, or with `recrawl add`")
        app = make_app(store, config, SystemClock(), access=access)
        asyncio.run(_until_interrupted(serve(app, listener=listener, limits=Limits.of(config.web))))
    finally:
        listener.close()
        store.close()


async def _until_interrupted(serving: Coroutine[None, None, None]) -> None:
    import asyncio
    import signal

    task = asyncio.create_task(serving)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return
