"""`recrawl compare`: two policies at once on one's own sources, and what each captured."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from recrawl.cli.options import opened_store, settings, store_options

if TYPE_CHECKING:
    from recrawl.clock import Clock
    from recrawl.config import Config
    from recrawl.crawl.explaining.live_comparison import Comparison
    from recrawl.policies.ab_plan import Trial
    from recrawl.store.roles import Notes, Store

NOTE = "trial"
"""Under which the store keeps the trial."""
KEPT_EVERY_S = 5.0
LOOK_BACK_S = 2 * 86400.0
"""How far before the trial its sources' last fetches are looked for."""
MOST_CRAWLS = 50_000_000
LEAST_SWAP_S = 1.0
PERIODS = 4
"""Changes of halves in a trial, if nothing else is said."""


@click.command(name="compare", short_help="Run two policies at once on your own sources and compare what they capture.")
@click.argument("policies", nargs=-1, metavar="[POLICY POLICY]")
@click.option("--for", "duration", default="1d", show_default=True, metavar="TIME",
              help="How long they run in all, earlier runs of this comparison included.")  # fmt: skip
@click.option("--swap", metavar="TIME", help="Change halves this often; 0 for never. A quarter of --for if not given.")
@click.option("--anew", is_flag=True, help="Start a new comparison, even if the store has one of these two.")
@click.option("--budget", help="Requests that may be sent, by both together: 60/min, 5/s, 20000/day.")
@click.option("--allow-private", is_flag=True, default=None, help="Fetch from private networks and this machine too.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, with the fields of docs/commands.md.")
@store_options
def command(
    policies: tuple[str, ...],
    duration: str,
    swap: str | None,
    anew: bool,
    budget: str | None,
    allow_private: bool | None,
    as_json: bool,
) -> None:
    """Crawl with two policies at once, each on half of the hosts with half of the budget, and say what each captured.

    A hash of their names divides the hosts into halves. Halves differ, so the policies change halves after each period
    (ABBA BAAB …), and every host is its own control. Fetches count for the policy that made them, what was found for
    the policy that had the host when it was published. The difference comes with a 95 % interval over hosts: what to
    expect of hosts like these. With --swap 0 halves never change, and the luck of the halves is in the interval too.

    A period should be at least three times as long as a round of all sources at the budget: shorter ones make the
    difference look smaller than it is, and the command warns. If one policy leaves budget unspent, the other does not
    get it.

    Ctrl-C stops it and shows the state; the same command continues it. Without policies, nothing is fetched: the
    command shows the state of the last comparison in the store.

    Example: recrawl compare learned_whittle miniflux --for 2d
    """
    if len(policies) not in (0, 2):
        raise click.UsageError("name two policies to compare, or none to see how the last comparison stands")
    config = settings({"budget": budget, "fetch.allow_private": allow_private})
    if policies:
        _run(config, (policies[0], policies[1]), duration, swap, anew=anew, as_json=as_json)
    with opened_store(config) as store:
        trial = stored(store)
        if trial is None:
            raise click.UsageError("there is no comparison in this store yet: name two policies to begin one")
        found = judged(trial, store, config)
    if as_json:
        _write(found, one_line=bool(policies))
    else:
        _show(found)


def _run(config: Config, names: tuple[str, str], duration: str, swap: str | None, *, anew: bool, as_json: bool) -> None:
    from recrawl.cli.run_ import crawl
    from recrawl.cli.run_display import display_for
    from recrawl.crawl.explaining.live_comparison import caution, round_of
    from recrawl.store.opening import open_store
    from recrawl.units import parse_duration, show_duration

    seconds = parse_duration("--for", duration)
    store = open_store(config.store)
    try:
        trial, fresh = _trial(store, names, seconds, None if swap is None else parse_duration("--swap", swap), anew)
        warning = caution(trial.swap_s, round_of(store.sources(state="active"), config.budget_per_s))
    finally:
        store.close()
    left = seconds - trial.ran_s
    show = display_for(as_json=as_json, quiet=False)
    if left <= 0.0:
        show.note(f"these two have run for {show_duration(trial.ran_s)}: a longer --for goes on, --anew begins again")
        return
    periods = f"changing halves every {show_duration(trial.swap_s)}" if trial.swap_s else "each on the same half"
    begins = "begins" if fresh else f"goes on after {show_duration(trial.ran_s)}"
    show.note(f"{trial.names[0]} against {trial.names[1]} {begins}, for {show_duration(left)}, {periods}")
    if warning:
        show.hint(warning)
    crawl(config, left, once=False, show=show, trial=trial)


def _trial(
    store: Notes, names: tuple[str, str], seconds: float, swap_s: float | None, anew: bool
) -> tuple[Trial, bool]:
    """The trial in the store if it is one of these two, else another; and whether it is another."""
    from recrawl.config.live_policies import live_policy
    from recrawl.errors import ParameterError
    from recrawl.policies.ab_plan import Trial
    from recrawl.units import show_duration

    for name in names:
        live_policy("POLICY", name)
    if names[0] == names[1]:
        raise ParameterError("POLICY", "two different policies", f"{names[0]!r} twice")
    if swap_s is not None and 0.0 < swap_s < LEAST_SWAP_S:
        raise ParameterError("--swap", f"at least {show_duration(LEAST_SWAP_S)}, or 0 for never", show_duration(swap_s))
    known = stored(store)
    if known is None or anew or {*known.names} != {*names}:
        period = seconds / PERIODS if swap_s is None else swap_s
        return Trial(names=names, began=time.time(), swap_s=period), True
    if swap_s is not None and swap_s != known.swap_s:
        expected = f"{show_duration(known.swap_s)}, as this comparison began (--anew begins another)"
        raise ParameterError("--swap", expected, show_duration(swap_s))
    return known, False


async def kept(trial: Trial, store: Notes, clock: Clock) -> None:
    """Let the store know how far a trial has got, until this is cancelled."""
    trial.resume(clock.now())
    try:
        while True:
            _keep(trial, store, clock.now())
            await clock.sleep(KEPT_EVERY_S)
    finally:
        _keep(trial, store, clock.now())


def _keep(trial: Trial, store: Notes, now: float) -> None:
    """It has run until now; a store that refuses is told next time."""
    import msgspec

    from recrawl.errors import StoreError

    trial.reach(now)
    with suppress(StoreError):
        store.write_note(NOTE, msgspec.json.encode(trial))


def stored(store: Notes) -> Trial | None:
    """The last trial in a store."""
    import msgspec

    from recrawl.policies.ab_plan import Trial

    text = store.note(NOTE)
    try:
        return None if text is None else msgspec.json.decode(text, type=Trial)
    except msgspec.DecodeError:
        return None


def judged(trial: Trial, store: Store, config: Config) -> Comparison:
    """What each captured, by the crawl log."""
    from recrawl.crawl.explaining.live_comparison import compare
    from recrawl.store.source_terms import Defaults
    from recrawl.wiring import trial_host

    return compare(
        trial,
        store.sources(),
        store.crawls(since=trial.began - LOOK_BACK_S, limit=MOST_CRAWLS),
        host_of=trial_host(config),
        defaults=Defaults.of(config),
        budget_per_s=config.budget_per_s,
    )


def _write(found: Comparison, *, one_line: bool) -> None:
    """One object; behind the lines of a run, one line."""
    import msgspec

    from recrawl.cli.tables import harmless, write_json

    body: dict[str, Any] = {"type": "comparison", **msgspec.to_builtins(found)}
    if one_line:
        click.echo(harmless(msgspec.json.encode(body).decode()))
    else:
        write_json(body)


def _show(found: Comparison) -> None:
    from recrawl.cli.console import console, show_table
    from recrawl.report.tables import Column, Table
    from recrawl.units import show_duration

    columns = (
        Column("policy"),
        Column("fetches", digits=0),
        Column("captured", digits=1),
        Column("per fetch", digits=3),
        Column("new items", digits=0),
        Column("captured a day", digits=1),
    )
    rows: list[list[Any]] = [
        [each.policy, each.fetches, each.captured, each.per_fetch, each.new_items, each.captured_per_day]
        for each in found.policies
    ]
    swapped = f"changing halves every {show_duration(found.swap_s)}" if found.swap_s else "each on the same half"
    caption = f"{show_duration(found.seconds)} side by side on {found.hosts} hosts, {swapped}"
    out = console()
    show_table(Table(columns, rows, caption=caption), out)
    out.print(found.why, soft_wrap=True)
    if found.caution:
        out.print(found.caution, soft_wrap=True)
