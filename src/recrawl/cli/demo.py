"""`recrawl demo`: the whole loop on a web of our own, and a lying sitemap found out, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from recrawl.config import Config
    from recrawl.report.tables import Table
    from recrawl.sim.contest import Result
    from recrawl.sim.list_contest import ListContest
    from recrawl.synthweb.process import Served

STORE = "demo.db"
SPEED = 3600.0
"""Virtual seconds per second: the web lives an hour a second."""
HALF_LIFE_H = 6
WEB = ("--speed", SPEED, "--half-life", HALF_LIFE_H, "--half-life-spread", 0.5, "--interest-spread", 1)
"""Sources differ in pace, in what their items are worth, and in how fast that fades."""
TOLD = {"recrawl": "worth and fading", "oracle": "worth, fading, pace"}
TOLD_EQUAL = {"oracle": "pace"}
"""Who is told what of the single sources; the other rules have no use for it."""


class Contest(NamedTuple):
    """What everybody captured on the same web.

    Parameters
        live: recrawl as it crawled, told what items are worth; the rules on the web's record
        equal: the same record with equal items, all of them replayed
        fetches: requests the web saw
    """

    live: dict[str, Result]
    equal: dict[str, Result]
    fetches: int


@click.command(name="demo", short_help="See it crawl, learn and compare, on a web of its own.")
@click.option("--seconds", type=click.FloatRange(min=1.0), default=60.0, show_default=True, help="How long to crawl.")
@click.option("--sources", type=click.IntRange(min=1), default=240, show_default=True, help="Feeds on the web.")
@click.option("--budget", default="30/s", show_default=True, help="Requests that may be sent.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the web.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write the figures to this file.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo"), show_default=True,
              help="Directory for the store.")  # fmt: skip
@click.option("--tour", is_flag=True, help="A walk through the commands instead, five minutes at your own pace.")
def command(
    seconds: float, sources: int, budget: str, seed: int, json_file: Path | None, out: Path, tour: bool
) -> None:
    """Serve a synthetic web on this machine, crawl it over real HTTP, and compare with other rules.

    The web lives an hour a second. Its feeds differ in pace, which recrawl has to learn, and in how much their items
    are worth and how fast that fades, which it is told, as by `recrawl add --importance --half-life`. Other rules
    cannot use that. Their figures are computed from what the web published; recrawl's own figure is what the web saw it
    fetch. The second table gives no such advantage: all items are alike, and recrawl too is replayed on the record.

    The last part plays two months of three sites in virtual time: one sitemap tells of every change, one of some, and
    one says each night that everything is new. recrawl finds out which is which, and what that is worth.
    """
    if tour:
        from recrawl.cli.tour import walk

        walk(out / "tour", min(seconds, 20.0))
        return
    from recrawl.cli import demo_lists
    from recrawl.cli.console import console, note, show_table
    from recrawl.units import parse_rate

    per_second = parse_rate("--budget", budget)
    config = _prepared(out, json_file, budget)
    from recrawl.synthweb.process import running

    screen = note()
    screen.print(f"serving {sources} feeds on this machine; an hour of theirs passes every second")
    with demo_lists.computing(seed) as lists:
        with running("--sources", sources, "--hosts", max(sources // 10, 1), "--seed", seed, *WEB) as web:
            began, ended = _crawled(web, config, seconds)
            screen.print("comparing with other rules on what the web published …")
            contest = _compared(web, config, began, ended, per_second)
        listed = lists.figures()
    if json_file is not None:
        _write(json_file, contest, listed, seconds, per_second)
    out_screen = console()
    show_table(_table(contest.live, TOLD, "Interest captured at the same budget, items unequal"), out_screen)
    show_table(_table(contest.equal, TOLD_EQUAL, "The same with all items alike"), out_screen)
    _explain(out_screen)
    _show_lists(listed, out_screen)
    _say_where_next(out_screen, config.store)


def _prepared(out: Path, json_file: Path | None, budget: str) -> Config:
    """Fresh settings and a fresh store; says at once if something cannot be written."""
    from recrawl.config.loading import replaced
    from recrawl.config.settings import Config
    from recrawl.errors import OutputError

    try:
        out.mkdir(parents=True, exist_ok=True)
        for suffix in ("", "-wal", "-shm", ".lock"):
            (out / f"{STORE}{suffix}").unlink(missing_ok=True)
        if json_file is not None:
            json_file.open("ab").close()
    except OSError as error:
        raise OutputError(f"{error.filename}: cannot write there ({error.strerror})") from error
    return replaced(
        Config(),
        {
            "store": str(out / STORE),
            "budget": budget,
            "cold_start": 1.0,
            "politeness.delay": "50ms",
            "politeness.min_interval": "0s",
            "fetch.allow_private": True,
        },
    )


def _crawled(web: Served, config: Config, seconds: float) -> tuple[float, float]:
    """Crawl the web; when the first and the last moment were, in Unix seconds."""
    import time

    from recrawl.cli.run_ import crawl
    from recrawl.cli.run_display import display_for
    from recrawl.store.opening import open_store
    from recrawl.store.records import Source

    store = open_store(config.store)
    store.add(
        [Source(url=it.url, importance=it.interest, half_life=it.half_life_s, added=time.time()) for it in web.truths()]
    )
    store.close()
    crawl(config, seconds, once=False, show=display_for(as_json=False, quiet=False))
    began = min((access.start for access in web.log()), default=time.time())
    return began, min(began + seconds, time.time())


def _compared(web: Served, config: Config, began: float, ended: float, per_second: float) -> Contest:
    """What everybody captured: recrawl by the web's access log, the others, and all of equal items, by its record."""
    from recrawl.cli import baselines
    from recrawl.crawl.decider_setup import make_policy
    from recrawl.sim.contest import Result, compete
    from recrawl.synthweb.ledger import score_log

    truths, log = web.truths(until=ended), [access for access in web.log() if access.start <= ended]
    own, budget = score_log(truths, log, until=ended), per_second / SPEED
    record = baselines.publications(truths, began, ended, SPEED)
    alike = baselines.all_equal(record, HALF_LIFE_H * 3600.0)
    return Contest(
        {"recrawl": Result(own.total.captured, own.fetches)} | baselines.results(record, budget),
        {"recrawl": compete(make_policy(config), alike, budget)} | baselines.results(alike, budget),
        own.fetches,
    )


def _table(figures: dict[str, Result], told: dict[str, str], caption: str) -> Table:
    from recrawl.report.tables import Column, Table

    best = figures["oracle"].captured or 1.0
    ranked = sorted(figures.items(), key=lambda pair: -pair[1].captured)
    rows: list[list[Any]] = [
        [name, told.get(name, "–"), result.captured, result.fetches, result.per_fetch, 100.0 * result.captured / best]
        for name, result in ranked
    ]
    columns = (
        Column("policy"),
        Column("told of sources"),
        Column("captured", digits=0),
        Column("fetches", digits=0),
        Column("per fetch", digits=2),
        Column("% of oracle", digits=1),
    )
    return Table(columns, rows, caption=caption)


def _write(file: Path, contest: Contest, lists: ListContest | str, seconds: float, per_second: float) -> None:
    import msgspec

    live, equal = (
        {name: {"captured": r.captured, "per_fetch": r.per_fetch} for name, r in figures.items()}
        for figures in (contest.live, contest.equal)
    )
    body = {
        "seconds": seconds,
        "budget_per_s": per_second,
        "fetches": contest.fetches,
        "policies": live,
        "equal": {"policies": equal},
        "lists": None if isinstance(lists, str) else lists,
    }
    file.write_bytes(msgspec.json.format(msgspec.json.encode(body), indent=2) + b"\n")


def _show_lists(found: ListContest | str, screen: Any) -> None:
    from recrawl.cli import demo_lists
    from recrawl.cli.console import show_table

    screen.print()
    if isinstance(found, str):
        screen.print(f"How a lying sitemap is found out {found}", soft_wrap=True)
        return
    show_table(demo_lists.table(found), screen)
    show_table(demo_lists.worth(found), screen)
    for line in demo_lists.sentences(found):
        screen.print(line, soft_wrap=True)


def _explain(screen: Any) -> None:
    screen.print(
        "First table: recrawl and the oracle are told what items of each source are\n"
        "worth and how fast that fades; the other rules have no place for it. recrawl\n"
        "crawled over HTTP, robots.txt included; the others are replayed on what the web\n"
        "published. Second: every item is worth 1 and halves in 6 hours, and recrawl is\n"
        "replayed like the others. The oracle alone is told the pace that comes true.",
        soft_wrap=True,
    )


def _say_where_next(screen: Any, store: str) -> None:
    screen.print("\nLook closer:")
    for line in (
        f"recrawl sources --store {store}",
        f"recrawl explain 1 --store {store}",
        f"recrawl whatif --budget 60/s --store {store}",
        "recrawl add https://example.org/feed && recrawl run --budget 60/min",
    ):
        screen.print(f"  {line}", soft_wrap=True, highlight=False)
