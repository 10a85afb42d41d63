"""`recrawl synthweb`: a web of our own on loopback, to crawl without bothering anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

    from recrawl.synthweb.server import SynthWeb
    from recrawl.synthweb.sockets import HostsBy


@click.command(name="synthweb", short_help="Serve a synthetic web on loopback, with known truth and faults on demand.")
@click.option("--sources", type=click.IntRange(min=1), default=300, show_default=True)
@click.option("--hosts", type=click.IntRange(min=1), default=30, show_default=True)
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), default=3600.0, show_default=True,
              help="Virtual seconds per real second: 3600 is an hour per second.")  # fmt: skip
@click.option("--mix", type=click.Choice(["feeds", "mixed", "sitemaps", "pages"]), default="feeds", show_default=True)
@click.option("--law", type=click.Choice(["mixed", "steady", "diurnal", "drifting", "bursty"]), default="mixed",
              show_default=True, help="How sources publish.")  # fmt: skip
@click.option("--rate", "median_rate", type=click.FloatRange(min=0, min_open=True), default=0.2, show_default=True,
              help="Median items per virtual hour of a source.")  # fmt: skip
@click.option("--rate-spread", type=click.FloatRange(min=0), default=1.5, show_default=True,
              help="Standard deviation of the logarithm of the rates.")  # fmt: skip
@click.option("--half-life", "half_life_h", type=click.FloatRange(min=0, min_open=True), default=6.0, show_default=True,
              help="Virtual hours in which an item loses half its interest.")  # fmt: skip
@click.option("--half-life-spread", type=click.FloatRange(min=0), default=0.0, show_default=True,
              help="Standard deviation of the logarithm of the half-lives.")  # fmt: skip
@click.option("--interest-spread", type=click.FloatRange(min=0), default=0.0, show_default=True,
              help="Standard deviation of the logarithm of what items are worth.")  # fmt: skip
@click.option("--window", type=click.IntRange(min=1), default=20, show_default=True, help="Items a document shows.")
@click.option(
    "--forbidden",
    "forbidden_share",
    type=click.FloatRange(0, 1),
    default=0.0,
    help="Share of sources robots.txt forbids.",
)
@click.option(
    "--crawl-delay", "crawl_delay_s", type=click.FloatRange(min=0), default=None, help="Seconds, in every robots.txt."
)
@click.option("--lists", default="none", show_default=True, metavar="NAME[,NAME...]",
              help="How the sitemaps of sites tell of changes of their pages, by turns: honest, forgetful, nightly, "
                   "touchy, rebuilt, rebuilt_weekly, silent; mixed for all.")  # fmt: skip
@click.option("--hub", is_flag=True, help="Sources name a WebSub hub, at /hub.")
@click.option("--by", "hosts_by", type=click.Choice(["port", "address", "name"]), default="port", show_default=True,
              help="Hosts have a port each, an address each (127.0.1.*), or names under synth.localhost.")  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8600, show_default=True, help="Port of the first host; 0: any."
)
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Address to listen on, with --by port; anyone who reaches it can set faults.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--for", "duration", default="", help="Stop after this time, such as 10m.")
@click.option("--fault", "faults", multiple=True, metavar="NAME[:SHARE]", help="A fault, and the share of requests.")
@click.option("--list-faults", is_flag=True, help="List all faults and stop.")
@click.option("--plain", is_flag=True, help="Never compress.")
@click.option("--warm", is_flag=True, help="Prepare every answer before saying that it is ready.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line once ready, and nothing else.")
@click.option("--until-eof", is_flag=True, help="Stop when standard input ends.")
def command(
    hosts_by: HostsBy,
    speed: float,
    port: int,
    bind: str,
    hub: bool,
    duration: str,
    faults: tuple[str, ...],
    list_faults: bool,
    plain: bool,
    warm: bool,
    as_json: bool,
    until_eof: bool,
    **world: Any,
) -> None:
    """Serve feeds, sitemaps and pages that publish by known laws, in accelerated time, for this machine only."""
    import asyncio

    from recrawl.synthweb.faults import FAULTS, parse
    from recrawl.synthweb.server import SynthWeb
    from recrawl.synthweb.world import World
    from recrawl.units import parse_duration

    if list_faults:
        click.echo("\n".join(FAULTS))
        return
    seconds = parse_duration("--for", duration) if duration else None
    made, rules = World.make(**world), [parse(fault) for fault in faults]

    async def serve() -> None:
        synthweb = SynthWeb(
            made, hosts_by=hosts_by, speed=speed, port=port, bind=bind, compress=not plain, faults=rules, hub=hub
        )
        async with synthweb:
            if warm:
                synthweb.warm()
            (_announce_json if as_json else _announce)(synthweb)
            await _end(seconds, until_eof)

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(serve())


def _loop_factory() -> Callable[[], AbstractEventLoop] | None:
    """The faster event loop where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _end(seconds: float | None, until_eof: bool) -> None:
    """Wait for whatever stops the server: a signal, the time, or the end of standard input."""
    import asyncio
    import os
    import signal
    import threading

    loop, over = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)

    def watch() -> None:
        # Not through sys.stdin: a thread blocked in a buffered reader breaks the interpreter's exit.
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(over.set)

    if until_eof:
        threading.Thread(target=watch, daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        pass


def _announce_json(synthweb: SynthWeb) -> None:
    import os

    import msgspec

    said = {
        "base": synthweb.base,
        "pid": os.getpid(),
        "hosts": synthweb.netlocs,
        "sources": len(synthweb.world.sources),
    }
    click.echo(msgspec.json.encode(said))


def _lists_and_hub(synthweb: SynthWeb, admin: str) -> str:
    lists = f"  {admin}/lists   what each sitemap tells of its pages, and what of it is true\n"
    hub = f"  {admin}/hub     who subscribed at {synthweb.base}/hub, and what they were told\n"
    return (lists if synthweb.world.lists else "") + (hub if synthweb.hub is not None else "")


def _announce(synthweb: SynthWeb) -> None:
    from collections import Counter

    from recrawl.units import show_rate

    sources, line = synthweb.world.sources, synthweb.timeline
    kinds = ", ".join(f"{number} {kind}" for kind, number in Counter(s.kind for s in sources).most_common())
    total = sum(s.law.rate for s in sources) * line.speed / 3600.0
    admin = f"{synthweb.base}/_synthweb"
    click.echo(
        f"A synthetic web of {len(sources)} sources ({kinds}) on {len(synthweb.netlocs)} hosts, from {synthweb.base}\n"
        f"publishes {show_rate(total)} in all; {line.speed:g} virtual seconds pass per second.\n\n"
        f"  curl -o sources.csv {admin}/csv    # or …/opml for the feeds alone, …/text for bare URLs\n"
        "  recrawl import sources.csv\n"
        "  recrawl run --allow-private    # loopback is private\n\n"
        f"  {admin}/truth   what there is to find\n"
        f"  {admin}/log     every request\n"
        f"{_lists_and_hub(synthweb, admin)}"
        f"  {admin}/faults  POST {{\"name\": \"503_seconds\", \"share\": 0.1}}; recrawl synthweb --list-faults\n\n"
        "Ctrl-C ends it."
    )  # fmt: skip
