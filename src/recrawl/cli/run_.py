"""`recrawl run`: crawl, within the budget, until stopped."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import click

from recrawl.cli.options import settings, store_options

if TYPE_CHECKING:
    from recrawl.cli.run_display import RunDisplay
    from recrawl.config import Config
    from recrawl.crawl.pipeline import Crawler
    from recrawl.policies.ab_plan import Trial
    from recrawl.store.roles import Catalogue

EXIT_INTERRUPTED = 130
PATIENCE_S = 6.0


@click.command(name="run", short_help="Crawl, within the budget, until stopped.")
@click.option("--budget", help="Requests that may be sent: 60/min, 5/s, 20000/day.")
@click.option("--policy", metavar="NAME", help="The policy; by default that of the settings, else learned_whittle.")
@click.option("--for", "duration", metavar="TIME", help="Stop after this time: 10m, 2h.")
@click.option("--once", is_flag=True, help="Fetch every source that may be fetched once, and stop.")
@click.option("--events", metavar="FILE", help="Append one JSON line per new item or change; - for standard output.")
@click.option("--webhook", metavar="URL", help="Post new items and changes there.")
@click.option(
    "--exec", "command_line", metavar="COMMAND", help="Run this for each new item or change, with it as input."
)
@click.option("--allow-private", is_flag=True, default=None, help="Fetch from private networks and this machine too.")
@click.option("--serve", "serve_port", type=click.IntRange(0, 65535), is_flag=False, flag_value=8080, metavar="[PORT]",
              help="Also show the web page, on this machine; port 8080 if none is given.")  # fmt: skip
@click.option(
    "--host", metavar="ADDRESS", help="With --serve: address to listen on; any but loopback needs a password."
)
@click.option("--json", "as_json", is_flag=True, help="Report as JSON lines instead of the live view.")
@store_options
def command(
    budget: str | None,
    policy: str | None,
    duration: str | None,
    once: bool,
    events: str | None,
    webhook: str | None,
    command_line: str | None,
    allow_private: bool | None,
    serve_port: int | None,
    host: str | None,
    as_json: bool,
) -> None:
    """Crawl the catalogue, within the budget, and show the progress.

    Ctrl-C or SIGTERM finishes visits in progress and stops within seconds; a second one stops at once.

    Exit status: 0 when it has finished, however it was asked to; 2 when it cannot go on; 130 when it was stopped at
    once, or interrupted before it began to crawl.
    """
    from recrawl.units import parse_duration

    config = settings(
        {
            "budget": budget,
            "policy": policy,
            "outlets.events": events,
            "outlets.webhook": webhook,
            "outlets.exec": command_line,
            "fetch.allow_private": allow_private,
        }
    )
    seconds = None if duration is None else parse_duration("--for", duration)
    if host is not None and serve_port is None:
        raise click.UsageError("--host says where --serve listens: give --serve too")
    from recrawl.cli.run_display import display_for

    show = display_for(as_json=as_json, quiet=config.outlets.events == "-")
    crawl(config, seconds, once=once, show=show, serve_port=serve_port, host=host)


def crawl(
    config: Config,
    seconds: float | None,
    *,
    once: bool,
    show: RunDisplay,
    serve_port: int | None = None,
    host: str | None = None,
    trial: Trial | None = None,
) -> None:
    """Open the store, crawl, close it; with a port, show the web page meanwhile.

    A trial runs with both of its policies, and the store keeps how far it has got.
    """
    with ExitStack() as ends:
        gc.disable()  # a tenth of a start is looking for rubbish where hardly any is made; see `collect_rarely`
        ends.callback(gc.enable)
        import asyncio

        from recrawl import logs, wiring
        from recrawl.clock import SystemClock
        from recrawl.store.opening import open_store

        logs.configure()
        clock = SystemClock()
        listener = None
        if serve_port is not None:
            from recrawl.cli.serve import listening

            listener = ends.enter_context(listening(config, serve_port, host))
        store = open_store(config.store)
        ends.callback(store.close)
        store.claim(wiring.owner(), clock.now())
        show.begin(config)
        _advise(store, once, show)
        others = []
        if listener is not None:
            from recrawl.cli.serve import beside

            others.append(beside(config, store, clock, listener))
        with patience():
            split = None if trial is None else wiring.make_split(config, trial)
            crawler = wiring.make_crawler(config, store, clock=clock, split=split)
        if trial is not None:
            from recrawl.cli.compare import kept

            others.append(kept(trial, store, clock))
        wiring.install_event_loop()
        wiring.give_memory_back()
        wiring.collect_rarely()
        until = None if seconds is None else clock.now() + seconds
        asyncio.run(_crawl(crawler, until, once, show, others))


def _advise(store: Catalogue, once: bool, show: RunDisplay) -> None:
    """Say what to do if there is nothing to fetch: waiting for it looks like work."""
    from recrawl.crawl.explaining.why_nothing import ADD, RESUME

    if store.count(state="active"):
        return
    waiting = "" if once else "; they are fetched as soon as they are there"
    show.hint(RESUME if store.count() else ADD + waiting)


@contextmanager
def patience() -> Iterator[None]:
    """Say what takes so long, if it does: on a new machine the kernels are compiled."""
    words = "compiling, once on this machine: half a minute or so …"
    timer = threading.Timer(PATIENCE_S, lambda: click.echo(words, err=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


async def _crawl(
    crawler: Crawler, until: float | None, once: bool, show: RunDisplay, others: Sequence[Coroutine[None, None, None]]
) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    interruption = _Interruption(crawler, show)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interruption)
    beside = [asyncio.create_task(each) for each in (show.follow(crawler), *others)]
    crawler.stats.told = partial(_hint, show)
    try:
        await (crawler.run(once=once) if until is None else crawler.run(until, once=once))
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        show.end(crawler)


def _hint(show: RunDisplay, cause: str, words: str) -> None:
    """Say it at once where a setting stands in the way: waiting for the end of the run would be in vain."""
    from recrawl.crawl.explaining.why_nothing import ALLOW_PRIVATE

    if cause == "address":
        show.note(f"{words}: {ALLOW_PRIVATE}")


class _Interruption:
    """What Ctrl-C and SIGTERM do: one lets the run finish, whatever it is at; the next leaves it as it is."""

    def __init__(self, crawler: Crawler, show: RunDisplay) -> None:
        self._crawler, self._show, self._asked = crawler, show, False

    def __call__(self) -> None:
        if self._asked:
            self._leave()
        self._asked = True
        work = "delivering events" if self._crawler.stopping else "finishing what is under way"
        self._show.note(f"stopping: {work} (once more to stop at once)")
        self._crawler.stop()

    def _leave(self) -> NoReturn:
        """End the process without waiting for anything: what is committed is safe."""
        try:
            self._show.leave()
            click.echo("recrawl: interrupted", err=True)
            sys.stdout.flush()
        finally:
            os._exit(EXIT_INTERRUPTED)
