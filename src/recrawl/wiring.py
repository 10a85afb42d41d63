"""Where concrete classes meet: from settings to a running crawler. Nothing else knows which parts there are."""

from __future__ import annotations

import ctypes
import os
import random
import socket
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from recrawl.clock import Clock, SystemClock
from recrawl.config import Config
from recrawl.config.live_policies import live_policy
from recrawl.crawl import budget_note
from recrawl.crawl.allowance import Allotment
from recrawl.crawl.borders import Borders
from recrawl.crawl.causes import Causes
from recrawl.crawl.courier import Courier
from recrawl.crawl.decider import Decider
from recrawl.crawl.deciding import make_policy, make_terms, new_decider, recall
from recrawl.crawl.gate import GatedTransport
from recrawl.crawl.http import HttpTransport
from recrawl.crawl.outlets import CommandOutlet, FileOutlet, Outlet, Outlets, WebhookOutlet
from recrawl.crawl.pipeline import Crawler, Reading, Tempo
from recrawl.crawl.politeness import Slots, authority_of, domain_of
from recrawl.crawl.purse import Purse
from recrawl.crawl.readers import Readers
from recrawl.crawl.releasing import last_release
from recrawl.crawl.robots import RobotsCache
from recrawl.crawl.settings_note import leave_settings
from recrawl.crawl.transport import Transport
from recrawl.crawl.wishes import made_in_vain
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.policies.remembering import Memory
from recrawl.policies.split import Split
from recrawl.policies.trial import Trial
from recrawl.policies.warming import prepare
from recrawl.store.base import Batch, Keep, Store

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""From glibc's malloc.h."""
LARGE_BLOCK_BYTES = 128 * 1024
POOLS = 2


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


def make_decider(config: Config, store: Store, slots: Slots, now: float, split: Split | None = None) -> Decider:
    """A decider that goes on where the store left off; with two policies at once if they are given."""
    slots.restore(store.holds(now))
    decider = new_decider(config, slots, split)
    for policy in decider.memory.policies.values():
        if isinstance(policy, LearnedWhittle):  # the others are not compiled
            prepare(policy, now, store.count())
    decider.load(store.sources(), store.progress(), store.shared(), now)
    decider.grant(made_in_vain(store, decider.wishes(), now, decider.terms.log_s))
    if lifted := decider.drain_lifted():
        store.commit(Batch(progress=lifted))
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


def make_outlets(config: Config, store: Store, clock: Clock) -> Outlets:
    """What is found goes where the settings say."""
    wanted: list[Outlet] = []
    settings = config.outlets
    if settings.events:
        wanted.append(FileOutlet(settings.events))
    if settings.webhook:
        wanted.append(WebhookOutlet(settings.webhook, os.environ.get(settings.webhook_secret_env, ""), clock))
    if settings.exec:
        wanted.append(CommandOutlet(settings.exec))
    return Outlets(store, wanted, clock)


def make_budget(config: Config, per_second: float | None = None) -> Allotment:
    """What may be spent, for as long as the program runs; by another budget than that of the settings, if given."""
    rate = config.budget_per_s if per_second is None else per_second
    return Allotment(rate, float(config.burst) if config.burst else max(1.0, rate))


def make_tempo(config: Config) -> Tempo:
    """How a crawler paces itself."""
    return Tempo(parallel=config.fetch.parallel, quiet_hours=config.politeness.quiet)


def make_crawler(
    config: Config,
    store: Store,
    *,
    clock: Clock | None = None,
    transport: Transport | None = None,
    allotted: bool = False,
    borders: Borders | None = None,
    outlets: Outlets | None = None,
    tempo: Tempo | None = None,
    sweeps: bool = True,
    split: Split | None = None,
) -> Crawler:
    """A crawler over a store, ready to run on an event loop. The store is claimed by the caller.

    Parameters
        transport: what requests leave by; by default HTTP
        allotted: there is nothing to spend before the first `Crawler.allot`; by default the budget of the settings
        borders: which hosts are another crawler's; by default none
        outlets: where what is found goes; by default where the settings say
        tempo: how it paces itself; by default with as many visits at once, and the quiet hours, that the settings say
        sweeps: whether it drops what is past its time
        split: two policies to compare, in place of the one of the settings
    """
    timer = clock or SystemClock()
    leave_settings(store, config)
    revision, released = store.revision(), last_release(store)
    slots = Slots(config.politeness, timer.now(), random.Random(), Causes.of(config))
    decider = make_decider(config, store, slots, timer.now(), split)
    budget = None if allotted else make_budget(config)
    changeable = budget is not None and split is None  # a trial splits the budget itself
    if budget is not None and changeable:
        budget_note.begin(store, owner(), budget.per_second)
    purse = Purse(budget, timer)
    gate = GatedTransport(transport or HttpTransport(config.fetch, timer), budget, timer)
    courier = Courier(
        gate,
        RobotsCache(config.fetch.user_agent, store.robots),
        slots,
        purse,
        timer,
        config.fetch,
        obey_robots=config.politeness.robots,
        borders=borders,
        heed=lambda url: decider.heed(url, timer.now()),
    )
    return Crawler(
        decider=decider,
        courier=courier,
        readers=Readers(),
        store=store,
        purse=purse,
        gate=gate,
        clock=timer,
        outlets=outlets or make_outlets(config, store, timer),
        tempo=tempo or make_tempo(config),
        reading=Reading(config.pages.keep_text_bytes, config.hints),
        revision=revision,
        released=released,
        keep=Keep.of(config.retention) if sweeps else None,
        budgets=partial(make_budget, config) if changeable else None,
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


def install_event_loop() -> None:
    """Use the fast event loop where there is one."""
    try:
        import uvloop
    except ImportError:  # not on every platform
        return
    uvloop.install()


__all__: Sequence[str] = [
    "give_memory_back",
    "install_event_loop",
    "make_budget",
    "make_crawler",
    "make_decider",
    "make_outlets",
    "make_policy",
    "make_split",
    "make_tempo",
    "make_terms",
    "owner",
    "recall",
    "trial_host",
]
