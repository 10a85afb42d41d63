"""Scheduling for people with their own fetcher: keys in, keys out, everything remembered in a store.

Nothing here fetches. The caller asks what is due, fetches it as it likes, and reports what that brought. Longer than
other modules, because it is the library's face: half of it says what arguments mean.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from recrawl.arguments import moment, number, plain, shown, text, whole
from recrawl.clock import Clock, SystemClock
from recrawl.config import Config
from recrawl.config.live_policies import LEARNED
from recrawl.config.loading import replaced
from recrawl.config.settings import HALF_LIFE, MAX_AGE, ObjectiveName, Scope
from recrawl.crawl import list_notes
from recrawl.crawl.catalogue.key_fields import checked_terms, key_source, key_text
from recrawl.crawl.decider_polling import DeciderPolling
from recrawl.crawl.explaining.explanation import Explanation, circumstances, explain
from recrawl.crawl.explaining.list_evidence import with_lists
from recrawl.crawl.explaining.ranking import Ranking
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.retry_after import MAX_RETRY_AFTER_S
from recrawl.crawl.hold_causes import Causes
from recrawl.crawl.hold_release import last_release, released_since
from recrawl.crawl.pending_writes import PendingWrites
from recrawl.crawl.reports import NO_ANSWER, Answer, Failure, Report, outcome_of_failure, outcome_of_report
from recrawl.crawl.request_budget import RequestBudget
from recrawl.crawl.signals import Told, gather
from recrawl.crawl.stored_settings import leave_settings
from recrawl.crawl.visits import Intent
from recrawl.errors import ContractError, ParameterError, StoreError
from recrawl.store.opening import open_store
from recrawl.store.records import Crawl, Hold, Progress, Source
from recrawl.store.roles import Store
from recrawl.units import parse_duration
from recrawl.wiring import make_budget, make_decider, make_policy, owner

Moment = float | datetime
Time = str | float | timedelta
P = ParamSpec("P")
T = TypeVar("T")
EXPLAINED = 10
"""Fetches an explanation looks back on."""


def _locked(method: Callable[Concatenate[Scheduler, P], T]) -> Callable[Concatenate[Scheduler, P], T]:
    """One thread at a time, and nobody once it is closed."""

    @wraps(method)
    def guarded(self: Scheduler, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            _require_open(self._closed)
            return method(self, *args, **kwargs)

    return guarded


class Scheduler(AbstractContextManager["Scheduler"]):
    """What to fetch next, under a budget, for any fetcher.

    Parameters
        store: path or address of a store, or an open one
        budget: fetches per time, as text (`60/min`) or per second
        policy: what decides: "learned_whittle", or another of `recrawl.policies.LIVE`, to compare with, such as
            "miniflux" or "miniflux:filled"
        objective: "ephemeral" (interest captured), "freshness", "discovery" or "changes"
        half_life, max_age: of sources that are given none: how fast news fades, and how old a source may get
        min_interval: no key comes back sooner
        burst: fetches that may be saved up; by default one second's worth, and at least 1
        scope: what shares holds and `parallel_per_host`: every key by itself ("url"), or, where keys are URLs, those of
            one "host" or registrable "domain"
        parallel_per_host: so many keys of one scope may be in flight
        write_every: reports may wait so long to be written, several in one transaction; what is waiting when the
            process dies is lost. By default each is written before `report` returns

    A key handed out by `due` is in flight until it is reported or released. One scheduler (or crawler) at a time works
    on a store; `recrawl status` and `recrawl explain` may look on.

    >>> from tempfile import mkdtemp
    >>> from recrawl.clock import ManualClock
    >>> scheduler = Scheduler(mkdtemp() + "/recrawl.db", budget="10/s", clock=ManualClock())
    >>> _ = scheduler.add("https://example.org/feed", importance=2.0, half_life="6h")
    >>> scheduler.clock.advance(1.0)
    >>> for key in scheduler.due():
    ...     crawl = scheduler.report(key, published=[])
    >>> scheduler.due()
    []
    >>> scheduler.close()
    """

    def __init__(
        self,
        store: str | Path | Store = "recrawl.db",
        budget: str | float = "60/min",
        *,
        policy: str = LEARNED,
        objective: ObjectiveName = "ephemeral",
        half_life: Time = HALF_LIFE,
        max_age: Time = MAX_AGE,
        min_interval: Time = "1s",
        burst: float | None = None,
        scope: Scope = "url",
        parallel_per_host: int = 1,
        write_every: Time = 0.0,
        clock: Clock | None = None,
    ) -> None:
        self.clock = SystemClock() if clock is None else _a_clock(clock)
        self._config = _settings(
            budget=plain(budget),
            burst="" if burst is None else plain(burst),
            policy=policy,
            objective=objective,
            half_life=half_life,
            max_age=max_age,
            min_interval=min_interval,
            scope=scope,
            parallel_per_host=plain(parallel_per_host),
        )
        self._write_every_s = parse_duration("write_every", write_every)
        make_policy(self._config)  # its options are checked before anybody's store is touched
        allotment = make_budget(self._config)
        self._lock, self._writing, self._closed = threading.RLock(), threading.Lock(), False
        """The first for everything but the store, so that writing may go on in another thread; the second for that."""
        self._store = _opened(store)
        with ExitStack() as failed:
            if self._store is not store:
                failed.callback(self._store.close)
            now = self.clock.now()
            self._store.claim(owner(), now)
            failed.callback(self._store.release)
            leave_settings(self._store, self._config)
            self._slots = HostSlots(self._config.politeness, now, random.Random(), Causes.of(self._config))
            self._revision, self._released = self._store.revision(), last_release(self._store)
            self._decider = make_decider(self._config, self._store, self._slots, now)
            self._intents: dict[str, Intent] = {}
            """Of the keys in flight."""
            self._again = DeciderPolling(self._decider.holds.ends(now), now)
            self._pending = PendingWrites(self._decider, now)
            # Last: nothing is saved up while all this is made.
            self._request_budget = RequestBudget(allotment, self.clock)
            failed.pop_all()

    # -- the catalogue

    def add(
        self,
        key: str,
        *,
        importance: float = 1.0,
        half_life: Time | None = None,
        max_age: Time | None = None,
        cost: float = 1.0,
        tags: Sequence[str] = (),
        memo: str = "",
    ) -> bool:
        """Take in a key, or change the terms of one that is there; whether it is new.

        `memo` is any text the fetcher wants to find again with the key.
        """
        times: dict[str, Any] = {"half_life": half_life, "max_age": max_age}
        return self.add_many({key: times | {"importance": importance, "cost": cost, "tags": tags, "memo": memo}})[key]

    @_locked
    def add_many(self, keys: Mapping[str, Mapping[str, Any]]) -> dict[str, bool]:
        """Take in keys with their terms, in one transaction; which of them are new.

        Terms left out are the usual ones for a new key, and stay as they are for one that is there.
        """
        if not isinstance(keys, Mapping):
            raise ParameterError("keys", "a dictionary of terms by key, such as {'https://…': {}}", shown(keys))
        now = self.clock.now()
        wanted = [key_source(key, terms, now) for key, terms in keys.items()]
        added = self._store.add(wanted)
        ids = [each.id for each in added]
        there = {line.id: line for line in self._store.sources(ids=ids)}
        edits = []
        for line, each, given in zip(wanted, added, keys.values(), strict=True):
            terms = {name: getattr(line, name) for name in given}
            if any(getattr(there[each.id], name) != value for name, value in terms.items()):
                there[each.id] = msgspec.structs.replace(there[each.id], **terms)
                edits.append(there[each.id])
        if edits:
            self._store.edit(edits)
        self._decider.upsert([there[each] for each in ids], now, self._store.progress(ids))
        self._again.changed()
        return {line.url: each.new for line, each in zip(wanted, added, strict=True)}

    def check(self, terms: Mapping[str, Any]) -> None:
        """ParameterError if `add_many` would refuse these terms."""
        checked_terms(terms)

    @_locked
    def remove(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        line = self._store.source(key_text(key))
        if line is None:
            return False
        self._store.remove([line.id])
        self._decider.remove([line.id])
        self.release(key)
        return True

    @_locked
    def refresh(self) -> bool:
        """Follow what others did meanwhile; whether there was any of it: edits of the catalogue (`recrawl add`, the web
        page), holds that were lifted (`recrawl release`), and word that something changed (`recrawl signal`)."""
        now, revision = self.clock.now(), self._store.revision()
        lifted = released_since(self._store, self._released)
        signals = self._pending.unheard(self._store.signals())
        if revision == self._revision and not lifted and not signals:
            return False
        if revision != self._revision:
            removed, edited = self._store.removed(self._revision), self._store.sources(since_revision=self._revision)
            self._decider.remove(removed)
            self._decider.upsert(edited, now, self._store.progress([line.id for line in edited]))
            self._pending.hold((), self._decider.drain_lifted())
            self._revision = revision
        for each in lifted:
            freed = self._decider.release(each.sources, each.hosts, now)
            self._pending.hold(self._slots.drain_holds(), freed)
            self._released = each.number
        told = gather(signals, self._decider.roster.numbers, now)
        if told.heard:
            self._pending.learned(self._decider.signal(told, now), told.heard)
        self._again.changed()
        return True

    @_locked
    def source(self, key: str) -> Source | None:
        """What is said about a key, its memo included; None for one that is not there."""
        number = self._decider.roster.urls.get(key_text(key))
        return None if number is None else self._decider.roster.source(number)

    @_locked
    def progress(self, key: str) -> Progress | None:
        """What fetching a key has led to so far, its validators included; None for one that is not there."""
        number = self._decider.roster.urls.get(key_text(key))
        return None if number is None else self._decider.progress(number)

    @_locked
    def explain(self, key: str) -> Explanation:
        """Why and when a key is handed out, in the very numbers it is ranked by; `why` is all of it in a sentence."""
        number = self._decider.roster.urls.get(key_text(key))
        if number is None:
            raise ContractError(f"{key!r} is not in the catalogue: add it first")
        now, decider, config = self.clock.now(), self._decider, self._config
        source, progress = decider.roster.source(number), decider.progress(number)
        host = self._slots.key_of(source.url)
        until, reason = self._slots.held(host, now)
        around = circumstances(
            config,
            source,
            now,
            price=self.price,
            hold=Hold(host=host, until=until, reason=reason) if until else None,
            waiting=decider.roster.count_unfetched() if progress.last is None else 0,
            budget=self._request_budget.per_second,
        )
        if number in decider.roster.in_flight:
            around = msgspec.structs.replace(around, in_flight=True)
        ranking = Ranking(decider.policy, decider.roster.numbers)
        standing = ranking.standing(progress, now, around.price)
        lists = {each.source: each for each in list_notes.noted(decider, now)}
        crawls = self._store.crawls(source=source.id, limit=EXPLAINED)
        made = not decider.schedules.is_requested(number)
        found = explain(source, progress, now, around, standing, crawls, in_vain=made)
        return with_lists(found, ranking, lists.get(source.id), now)

    def __len__(self) -> int:
        return len(self._decider)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key in self._decider.roster.urls

    # -- scheduling

    @_locked
    def due(self, limit: int | None = None) -> list[str]:
        """The keys to fetch now, most wanted first, as far as the budget goes; empty if it is to be waited.

        `limit` is the most that are handed out.
        """
        if limit is not None and whole("limit", limit) == 0:
            return []
        now, dearest = self.clock.now(), self._decider.dearest
        self._request_budget.make_room(dearest)
        available = self._request_budget.available()
        tokens = available if limit is None else min(available, max(float(limit), dearest))
        intents = self._decider.choose(now, tokens) if tokens >= 1.0 - 1e-9 else []
        if limit is not None and len(intents) > limit:
            self._decider.give_back(intents[limit:], now)
            intents = intents[:limit]
        if intents:
            self._request_budget.spend(sum(intent.source.cost for intent in intents))
        elif tokens >= 1.0 - 1e-9:
            self._again.in_vain(tokens, now)
        self._intents.update((intent.source.url, intent) for intent in intents)
        return [intent.source.url for intent in intents]

    @_locked
    def wait_s(self, requests: float = 1.0) -> float:
        """Seconds until there may be something due: the budget allows so many requests, and nothing known holds
        every key; 0 for now, inf if a report or a new key has to come first."""
        requests = number("requests", requests, "a finite number >= 0")
        decider, idle = self._decider, self.in_flight < len(self._decider)
        return self._again.wait_s(self.clock.now(), requests, self._request_budget, decider.dearest, idle)

    @_locked
    def spend(self, requests: float = 1.0) -> bool:
        """Pay for a request beyond the fetch itself (a redirect, a retry); False if the budget has nothing left."""
        requests = number("requests", requests, "a finite number >= 0")
        if self._request_budget.available() < requests:
            return False
        self._request_budget.spend(requests)
        return True

    @_locked
    def heed(self, key: str, status: int, retry_after: str | float | None = None) -> float:
        """Tell the status of an answer from the host of a key (with `scope="url"`: of the key itself).

        After 429, 503 and 403 it is left alone for as long as the Retry-After header (its text, or seconds) asks, a
        week at most; after a 429 without one, and once several of its keys in a row have failed (5xx), for a back-off
        that doubles. Seconds for which it is held, 0 if it is not. Hosts no key belongs to are not looked at.
        """
        status = whole("status", status, low=100, high=999)
        asked = None if retry_after is None else _header(retry_after)
        now, scope = self.clock.now(), self._slots.key_of(key_text(key))
        if not self._decider.hosts.knows(scope):
            return 0.0
        self._slots.answered(scope, status, asked, now, key)
        until, _ = self._slots.held(scope, now)
        if until <= now:
            return 0.0
        self._decider.holds.host_changed(scope, now)
        self._again.hold_ends(until)
        self._pending.hold(self._slots.drain_holds())
        return until - now

    @_locked
    def held_s(self, key: str) -> float:
        """Seconds for which the host of a key (with `scope="url"`: the key itself) is to be left alone; 0 for none."""
        now = self.clock.now()
        return max(self._slots.held(self._slots.key_of(key_text(key)), now)[0] - now, 0.0)

    def report(
        self,
        key: str,
        *,
        changed: bool | None = None,
        digest: str = "",
        published: Iterable[Moment] | None = None,
        new: int = 0,
        listed: Iterable[tuple[str, Moment | None]] | None = None,
        sitemap: Iterable[tuple[str, Moment | None]] | None = None,
        failed: bool = False,
        refused: bool = False,
        gone: bool = False,
        hold: Time | None = None,
        error: str = "",
        answer: Answer = NO_ANSWER,
    ) -> Crawl:
        """Say what a fetch brought; returns its line in the log, to which what is believed then is added when it is
        written.

        Parameters
            changed: whether a page differed from the last fetch (on a first one, whatever it is, only the baseline)
            digest: instead, any text that differs when the page does; it is compared with that of the last fetch
            published: publication times of the items that were new; on a first fetch all those listed
            new: new items without a date
            listed: instead, name and publication time (or None) of all items there are now; they are compared with
                those of the last fetch
            sitemap: of a list (a sitemap, an index): keys that it names, and when it says that each was last modified
                (or None). How far it is to be believed is learned. Keys that are not in the catalogue are ignored; one
                of a list reported without it says what it said before
            failed: nothing was brought; the key is as wanted as before, after a back-off or `hold`
            refused: nothing was brought because it is not allowed (robots.txt); the back-off is longer
            gone: it will not come back (410): the key is retired
            hold: do not hand the key out for so long (Retry-After)
            answer: what to keep of the requests
        """
        failure = Failure.told(failed=failed, refused=refused, gone=gone, error=error, hold=hold, answer=answer)
        told = Report.told(
            changed=changed, digest=digest, published=published, new=new, listed=listed, hold=hold, answer=answer,
            sitemap=sitemap,
        )  # fmt: skip
        if failure is not None:
            failure.require_nothing_brought(told)
        crawl = self._take_over(key_text(key), failure or told)
        if self.clock.now() - self._pending.since >= self._write_every_s:
            self.flush()
        return crawl

    def signal(self, key: str, at: Moment | None = None) -> bool:
        """Say that a key has changed, as somebody else told (a push, a ping); whether it is there.

        `at` is when it changed, by default now. How far such word is believed is learned from the fetches that follow.
        """
        changed = None if at is None else moment("at", at)
        known = self._hear(key_text(key), changed)
        if known and self.clock.now() - self._pending.since >= self._write_every_s:
            self.flush()
        return known

    @_locked
    def release(self, key: str) -> None:
        """A key was not fetched after all: it is as wanted as before. What it cost is not given back."""
        intent = self._intents.pop(key_text(key), None)
        if intent is not None:
            self._decider.give_back([intent], self.clock.now())
            self._again.changed()

    @property
    def in_flight(self) -> int:
        """How many keys are handed out."""
        return len(self._decider.roster.in_flight)

    @property
    def price(self) -> float:
        """What the last fetch had to be worth; NaN before the first."""
        return self._decider.policy.price

    # -- writing

    @property
    def unwritten(self) -> int:
        """Reports waiting to be written."""
        return len(self._pending)

    def flush(self) -> None:
        """Write what waits to be written. Other threads may go on meanwhile."""
        with self._writing:
            with self._lock:
                _require_open(self._closed)
                now = self.clock.now()
                batch, turn = self._pending.take(now), self._decider.roster.turn
                lists = list_notes.noted(self._decider, now) if batch.shared is not None else []
                changed, _ = list_notes.judged_anew(lists, {})
            try:
                with self._lock:
                    batch.progress += self._decider.scheduled(self._decider.roster.numbers_of(changed))
                self._store.commit(batch)
            except BaseException:
                with self._lock:
                    self._pending.put_back(batch)
                raise
            with self._lock:
                written = [*(each.crawl.source for each in batch.updates), *(each.source for each in batch.progress)]
                self._decider.roster.stored(written, turn)
            if lists:  # after the commit, which is not to be made again if this fails
                list_notes.write(self._store, lists)

    def close(self) -> None:
        """Give keys in flight back, write what is left to write, and let others have the store.

        Once is enough, and twice is no error. Everything else asked of it then is a ContractError, but for its
        properties, `len` and `in`, which answer as of the end.
        """
        with self._lock:
            if self._closed:
                return
            for key in list(self._intents):
                self.release(key)
            self._pending.account(self.clock.now(), self._request_budget.per_second)
        try:
            self.flush()
        finally:
            self._closed = True
            with suppress(StoreError):
                self._store.release()
            self._store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    @_locked
    def _hear(self, key: str, at: float | None) -> bool:
        number, now = self._decider.roster.urls.get(key), self.clock.now()
        if number is None:
            return False
        told = Told(at={number: now if at is None else min(at, now)})
        self._pending.learned(self._decider.signal(told, now))
        self._again.changed()
        return True

    @_locked
    def _take_over(self, key: str, told: Report | Failure) -> Crawl:
        intent = self._intents.get(key)
        if intent is None:
            raise ContractError(f"{key!r} was not handed out by due(), or was reported before")
        now, decider = self.clock.now(), self._decider
        if isinstance(told, Failure):
            outcome = outcome_of_failure(intent, told, now, decider.rules, self._slots.held(intent.host, now)[0])
        else:
            outcome = outcome_of_report(intent, told, now, decider.rules)
        decider.take_over([intent.number], [outcome], now)
        del self._intents[key]  # not before: where the store cannot be read it may be reported again
        decider.holds.end_visits([intent], now)
        self._again.hold_ends(outcome.hold_until)
        self._again.changed()
        self._pending.report(intent.number, outcome, now, self._request_budget.per_second)
        return outcome.crawl


def _require_open(closed: bool) -> None:
    if closed:
        raise ContractError("the scheduler is closed: make a new one over the same store")


def _settings(**said: Any) -> Config:
    """The settings of `recrawl.toml` that these arguments mean; ParameterError by the name of the argument."""
    tables = {name: f"politeness.{name}" for name in ("scope", "min_interval", "parallel_per_host")}
    for name in ("half_life", "max_age", "min_interval"):
        seconds = parse_duration(name, said[name])
        said[name] = said[name] if isinstance(said[name], str) else str(seconds)
    given = {tables.get(name, name): value for name, value in said.items()}
    try:
        return replaced(Config(), {"politeness.delay": "0s", **given})
    except ParameterError as error:
        raise ParameterError(error.argument.rpartition(".")[2], error.expected, error.got, error.element) from None


def _a_clock(clock: Any) -> Clock:
    """Something that tells the time."""
    if not callable(getattr(clock, "now", None)):
        raise ParameterError("clock", "a clock with now(), such as recrawl.clock.SystemClock()", shown(clock))
    found: Clock = clock
    return found


def _header(retry_after: Any) -> str:
    """A Retry-After header as a server would write it."""
    expected = "the text of a header, a number of seconds >= 0, or None"
    if isinstance(retry_after, str):
        return text("retry_after", retry_after, expected)
    return str(math.ceil(min(number("retry_after", retry_after, expected), 2.0 * MAX_RETRY_AFTER_S)))


def _opened(store: Any) -> Store:
    """The store meant."""
    if isinstance(store, str | Path):
        return open_store(str(store))
    if not (hasattr(store, "claim") and hasattr(store, "commit")):
        raise ParameterError("store", "a path, the address of a store, or an open one", shown(store))
    opened: Store = store
    return opened
