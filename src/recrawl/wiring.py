"""Where concrete classes meet: from settings to a running crawler. Nothing else knows which parts there are."""

from __future__ import annotations

import ctypes
import gc
import os
import random
import socket
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from recrawl.clock import Clock, SystemClock
from recrawl.config import Config
from recrawl.config.live_policies import live_policy
from recrawl.crawl import live_budget
from recrawl.crawl.decider import Decider
from recrawl.crawl.decider_setup import make_policy, make_rules, new_decider, recall
from recrawl.crawl.fetching.borrowed_turns import HostOwners
from recrawl.crawl.fetching.budgeted_transport import BudgetedTransport
from recrawl.crawl.fetching.fetcher import Fetcher
from recrawl.crawl.fetching.http_transport import HttpTransport
from recrawl.crawl.fetching.politeness import HostSlots, authority_of, domain_of
from recrawl.crawl.fetching.robots import RobotsCache
from recrawl.crawl.fetching.transport import Transport
from recrawl.crawl.hold_causes import Causes
from recrawl.crawl.hold_release import last_release
from recrawl.crawl.item_rules_note import read_rules
from recrawl.crawl.outlets import (
    CommandOutlet,
    EventStore,
    FileOutlet,
    NotificationOutlet,
    Outlet,
    Outlets,
    WebhookOutlet,
)
from recrawl.crawl.outlets.notification import services
from recrawl.crawl.pipeline import Crawler, Intervals, Reading
from recrawl.crawl.reading.readers import Readers
from recrawl.crawl.rendering.renderer import Renderer
from recrawl.crawl.rendering.shown_pages import ShownPages
from recrawl.crawl.request_budget import Allotment, RequestBudget
from recrawl.crawl.requested_crawls import made_in_vain
from recrawl.crawl.stored_settings import leave_settings
from recrawl.errors import ParameterError
from recrawl.policies.ab_plan import Trial
from recrawl.policies.ab_policy import Split
from recrawl.policies.compile_ahead import prepare
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.policies.stored_state import Memory
from recrawl.store.records import Batch, Keep
from recrawl.store.roles import Store

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""From glibc's malloc.h."""
LARGE_BLOCK_BYTES = 128 * 1024
POOLS = 2
MADE_BETWEEN_COLLECTIONS = 50_000
"""Objects that may refer to others: some megabytes."""


def make_split(config: Config, trial: Trial) -> Split:
    """The two policies of a trial as one."""
    keys = [live_policy("policy", name) for name in trial.names]
    named = keys if keys[0] != keys[1] else trial.names  # two kinds of one policy remember apart
    parts = {key: make_policy(config, name) for key, name in zip(named, trial.names, strict=True)}
    return Split(parts, trial, trial_host(config), config.budget_per_s, config.burst_requests)


def trial_host(config: Config) -> Callable[[str], str]:
    """What counts as one host in a trial: what shares a delay, and where every URL has its own, the host."""
    by_domain = config.politeness.scope == "domain"
    return lambda url: domain_of(authority_of(url)) if by_domain else authority_of(url)


def make_decider(config: Config, store: Store, slots: HostSlots, now: float, split: Split | None = None) -> Decider:
    """A decider that goes on where the store left off; with two policies at once if they are given."""
    slots.restore(store.holds(now))
    decider, count = new_decider(config, slots, split, store), store.count()
    for policy in decider.memory.policies.values():
        if isinstance(policy, LearnedWhittle):  # the others are not compiled
            prepare(policy, now, count)
    decider.load(store.every_source(), store.progress(), store.shared(), now, count)
    roster = decider.roster
    asked = decider.schedules.requested()
    requested = list(zip(roster.sources(asked), roster.progresses(asked), strict=True))
    decider.requests_made(made_in_vain(store, requested, now, decider.rules.log_s))
    if lifted := decider.drain_lifted():
        store.commit(Batch(progress=lifted))
        roster.stored([each.source for each in lifted], roster.turn)
    _say_what_is_not_used(decider.memory)
    return decider


def _say_what_is_not_used(memory: Memory) -> None:
    for other, sources in memory.unread.items():
        structlog.get_logger("recrawl").warning(
            "what another policy learned is not used; it is kept for when that one runs again",
            running=" and ".join(memory.policies),
            other=other,
            sources=sources,
        )


def make_outlets(config: Config, store: EventStore, clock: Clock) -> Outlets:
    """What is found goes where the settings say."""
    wanted: list[Outlet] = []
    settings = config.outlets
    if settings.events:
        wanted.append(FileOutlet(settings.events))
    if settings.webhook:
        wanted.append(WebhookOutlet(settings.webhook, os.environ.get(settings.webhook_secret_env, ""), clock))
    if settings.exec:
        wanted.append(CommandOutlet(settings.exec))
    return Outlets(store, [*wanted, *make_notifications(config)], clock)


def make_notifications(config: Config, names: Sequence[str] | None = None) -> list[NotificationOutlet]:
    """Those who are told, as `[notify.NAME]` says; ParameterError names an address that is missing or wrong."""
    addresses = {}
    for name in config.notify if names is None else names:
        said = config.notify[name]
        addresses[name] = os.environ.get(said.to_env, "").strip() if said.to_env else said.to
        if not addresses[name]:
            expected = "an environment variable that holds an address of Apprise"
            raise ParameterError(f"notify.{name}.to_env", expected, f"{said.to_env}, which is not set or empty")
    if not addresses:
        return []
    return [
        NotificationOutlet(name, to, config.notify[name], config.notify, service.room)
        for (name, to), service in zip(addresses.items(), services(addresses), strict=True)
    ]


def make_budget(config: Config, per_second: float | None = None) -> Allotment:
    """What may be spent, for as long as the program runs; by another budget than that of the settings, if given."""
    rate = config.budget_per_s if per_second is None else per_second
    return Allotment(rate, config.burst_at(rate))


def make_intervals(config: Config) -> Intervals:
    """How a crawler paces itself."""
    return Intervals(parallel=config.fetch.parallel, quiet_hours=config.politeness.quiet)


def make_crawler(
    config: Config,
    store: Store,
    *,
    clock: Clock | None = None,
    transport: Transport | None = None,
    allotted: bool = False,
    host_owners: HostOwners | None = None,
    outlets: Outlets | None = None,
    intervals: Intervals | None = None,
    sweeps: bool = True,
    split: Split | None = None,
) -> Crawler:
    """A crawler over a store, ready to run on an event loop. The store is claimed by the caller.

    Parameters
        transport: what requests leave by; by default HTTP
        allotted: there is nothing to spend before the first `Crawler.allot`; by default the budget of the settings
        host_owners: which hosts are another crawler's; by default none
        outlets, intervals: where what is found goes, and how it paces itself; by default as the settings say
        sweeps: whether it drops what is past its time
        split: two policies to compare, in place of the one of the settings
    """
    timer = clock or SystemClock()
    leave_settings(store, config)
    revision, released = store.revision(), last_release(store)
    slots = HostSlots(config.politeness, timer.now(), random.Random(), Causes.of(config))
    decider = make_decider(config, store, slots, timer.now(), split)
    budget = None if allotted else make_budget(config)
    changeable = budget is not None and split is None  # a trial splits the budget itself
    if budget is not None and changeable:
        live_budget.begin(store, owner(), budget.per_second)
    request_budget = RequestBudget(budget, timer)
    fetcher = Fetcher(
        BudgetedTransport(transport or HttpTransport(config.fetch, timer), request_budget),
        RobotsCache(config.fetch.user_agent, store.robots),
        slots,
        request_budget,
        timer,
        config.fetch,
        obey_robots=config.politeness.robots,
        owners=host_owners,
        turn_changed=lambda url: decider.holds.host_changed(slots.key_of(url), timer.now()),
    )
    return Crawler(
        decider=decider,
        fetcher=fetcher,
        readers=Readers(),
        store=store,
        request_budget=request_budget,
        clock=timer,
        outlets=outlets or make_outlets(config, store, timer),
        intervals=intervals or make_intervals(config),
        reading=Reading(config.pages.keep_text_bytes, config.hints),
        revision=revision,
        released=released,
        keep=Keep.of(config.retention) if sweeps else None,
        budgets=partial(make_budget, config) if changeable else None,
        push=config.push,
        item_rules=read_rules(store),
        shown_pages=ShownPages(Renderer(config.browser, config.fetch), fetcher, pictures=config.browser.screenshots),
    )


def owner() -> str:
    """Who is crawling, for others to read."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def give_memory_back() -> None:
    """Let the C library return large blocks as soon as they are free, and keep few pools; where it is glibc.

    Left alone it raises the size from which it does so to the largest block it ever saw, and keeps a pool per thread:
    after a few documents of megabytes the process stays as large as it ever was.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    for parameter, value in ((M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES), (M_ARENA_MAX, POOLS)):
        mallopt(parameter, value)


def collect_rarely() -> None:
    """Look for rubbish in what a crawl makes, not in the program itself, and not every few visits.

    A visit leaves nothing that refers to itself, save where something failed; as it is, Python goes through all that is
    loaded again and again, for a tenth of the time of a crawl. It is set for the whole process: for programs of ours
    alone, never where somebody else's program uses a `Scheduler` or a crawler.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(MADE_BETWEEN_COLLECTIONS)
    gc.enable()


def install_event_loop() -> None:
    """Use the fast event loop where there is one."""
    try:
        import uvloop
    except ImportError:  # not on every platform
        return
    uvloop.install()


__all__: Sequence[str] = [
    "collect_rarely",
    "give_memory_back",
    "install_event_loop",
    "make_budget",
    "make_crawler",
    "make_decider",
    "make_intervals",
    "make_outlets",
    "make_policy",
    "make_rules",
    "make_split",
    "owner",
    "recall",
    "trial_host",
]
