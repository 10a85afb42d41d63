"""Scheduling for people with their own fetcher: keys in, keys out, everything remembered in a store.

Nothing here fetches. The caller asks what is due, fetches it as it likes, and reports what that brought.
"""

from __future__ import annotations

import heapq
import math
import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import msgspec

from recrawl.arguments import number, plain, shown, text, whole
from recrawl.clock import Clock, SystemClock
from recrawl.config import Config
from recrawl.config.live_policies import LEARNED
from recrawl.config.loading import replaced
from recrawl.config.settings import ObjectiveName, Scope
from recrawl.crawl.causes import Causes
from recrawl.crawl.duties import FIRST_S
from recrawl.crawl.explanation import Explanation, circumstances, explain
from recrawl.crawl.intents import Intent
from recrawl.crawl.key_terms import checked_terms, key_source, key_text
from recrawl.crawl.politeness import MAX_RETRY_AFTER_S, Slots
from recrawl.crawl.purse import Purse
from recrawl.crawl.releasing import Release, last_release, released_since
from recrawl.crawl.reports import NO_ANSWER, Answer, Failure, Report, settle_failure, settle_report
from recrawl.crawl.settings_note import leave_settings
from recrawl.crawl.settled import Settled
from recrawl.errors import ContractError, ParameterError, StoreError
from recrawl.store.base import Batch, Crawl, Hold, Price, Progress, Source, Store
from recrawl.store.opening import open_store
from recrawl.units import parse_duration
from recrawl.wiring import make_budget, make_decider, make_policy, owner

Moment = float | datetime
Time = str | float | timedelta
P = ParamSpec("P")
T = TypeVar("T")
ACCOUNTS_S = 60.0
"""Time between two lines of the price history, and two writes of the learner's shared record."""
ASK_AGAIN_S = 1.0
"""After so long it is worth asking what is due again, whatever is known of holds."""
EXPLAINED = 10
"""Fetches an explanation looks back on."""


def _locked(method: Callable[Concatenate[Scheduler, P], T]) -> Callable[Concatenate[Scheduler, P], T]:
    """One thread at a time, and nobody once it is closed."""

    @wraps(method)
    def guarded(self: Scheduler, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            self._require_open()
            return method(self, *args, **kwargs)

    return guarded


class Scheduler:
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
        half_life: Time = "12h",
        max_age: Time = "30d",
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
        budgeted = make_budget(self._config)
        self._lock, self._writing = threading.RLock(), threading.Lock()
        """The first for everything but the store, so that writing may go on in another thread; the second for that."""
        self._closed = False
        self._store = _opened(store)
        try:
            self._store.claim(owner(), self.clock.now())
            try:
                self._begin(self.clock.now())
                self._purse = Purse(budgeted, self.clock)  # last: nothing is saved up while all this is made
            except BaseException:
                self._store.release()
                raise
        except BaseException:
            if self._store is not store:
                self._store.close()
            raise

    def _begin(self, now: float) -> None:
        """Go on where the store, which is ours now, left off."""
        leave_settings(self._store, self._config)
        self._slots = Slots(self._config.politeness, now, random.Random(), Causes.of(self._config))
        self._revision, self._released = self._store.revision(), last_release(self._store)
        self._decider = make_decider(self._config, self._store, self._slots, now)
        self._flying: dict[str, Intent] = {}
        self._frees = sorted(self._decider.held(now))
        self._tried: float | None = None
        """Tokens there were when nothing was due; None if something may have become due since."""
        self._tried_at = now
        self._waiting = Batch()
        self._waiting_since = now
        self._unscheduled: list[int] = []
        """The policy's numbers of the last of them, which the decider has yet to write down."""
        self._accounted, self._requests, self._captured, self._errors = now, 0, 0.0, 0
        self._account_s = FIRST_S

    def _require_open(self) -> None:
        if self._closed:
            raise ContractError("the scheduler is closed: make a new one over the same store")

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
        self._decider.admit([there[each] for each in ids], now, self._store.progress(ids))
        self._tried = None
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
        self._decider.dismiss([line.id])
        intent = self._flying.pop(key, None)
        if intent is not None:
            self._decider.give_back([intent], self.clock.now())
        return True

    @_locked
    def refresh(self) -> bool:
        """Follow what others did meanwhile; whether there was any of it: edits of the catalogue (`recrawl add`, the web
        page), and holds that were lifted (`recrawl release`)."""
        now, revision = self.clock.now(), self._store.revision()
        lifted = released_since(self._store, self._released)
        if revision == self._revision and not lifted:
            return False
        if revision != self._revision:
            since, self._revision = self._revision, revision
            removed, edited = self._store.removed(since), self._store.sources(since_revision=since)
            self._decider.dismiss(removed)
            self._decider.admit(edited, now, self._store.progress([line.id for line in edited]))
            self._waiting.progress += self._decider.drain_lifted()
        for each in lifted:
            self._lift(each, now)
        self._tried = None
        return True

    def _lift(self, released: Release, now: float) -> None:
        freed = {each.source: each for each in self._decider.release(released.sources, released.hosts, now)}
        for settlement in self._waiting.settlements:  # what was reported before it was released
            settlement.progress = freed.get(settlement.crawl.source, settlement.progress)
        self._waiting.progress += freed.values()
        self._waiting.holds += self._slots.drain_holds()
        self._released = released.number

    @_locked
    def source(self, key: str) -> Source | None:
        """What is said about a key, its memo included; None for one that is not there."""
        number = self._decider.number(key_text(key))
        return None if number is None else self._decider.source(number)

    @_locked
    def progress(self, key: str) -> Progress | None:
        """What fetching a key has led to so far, its validators included; None for one that is not there."""
        number = self._decider.number(key_text(key))
        return None if number is None else self._decider.progress(number)

    @_locked
    def explain(self, key: str) -> Explanation:
        """Why and when a key is handed out, in the very numbers it is ranked by; `why` is all of it in a sentence."""
        number = self._decider.number(key_text(key))
        if number is None:
            raise ContractError(f"{key!r} is not in the catalogue: add it first")
        now, decider, config = self.clock.now(), self._decider, self._config
        source, progress = decider.source(number), decider.progress(number)
        host = self._slots.key_of(source.url)
        until, reason = self._slots.held(host, now)
        around = circumstances(
            config,
            source,
            now,
            price=self.price,
            hold=Hold(host=host, until=until, reason=reason) if until else None,
            waiting=decider.newcomers() if progress.last is None else 0,
            budget=self._purse.per_second,
        )
        if key in self._flying:
            around = msgspec.structs.replace(around, in_flight=True)
        standing = decider.ranking().standing(progress, now, around.price)
        crawls = self._store.crawls(source=source.id, limit=EXPLAINED)
        return explain(source, progress, now, around, standing, crawls, in_vain=not decider.is_wished(number))

    def __len__(self) -> int:
        return len(self._decider)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._decider.number(key) is not None

    # -- scheduling

    @_locked
    def due(self, limit: int | None = None) -> list[str]:
        """The keys to fetch now, most wanted first, as far as the budget goes; empty if it is to be waited.

        `limit` is the most that are handed out.
        """
        if limit is not None and whole("limit", limit) == 0:
            return []
        now, dearest = self.clock.now(), self._decider.dearest()
        self._purse.make_room(dearest)
        available = self._purse.available()
        tokens = available if limit is None else min(available, max(float(limit), dearest))
        intents = self._decider.choose(now, tokens) if tokens >= 1.0 - 1e-9 else []
        if limit is not None and len(intents) > limit:
            self._decider.give_back(intents[limit:], now)
            intents = intents[:limit]
        if intents:
            self._purse.spend(self._decider.cost(intents))
        elif tokens >= 1.0 - 1e-9:
            self._tried, self._tried_at = tokens, now
        self._flying.update((intent.source.url, intent) for intent in intents)
        return [intent.source.url for intent in intents]

    @_locked
    def wait_s(self, requests: float = 1.0) -> float:
        """Seconds until there may be something due: the budget allows so many requests, and nothing known holds
        every key; 0 for now, inf if a report or a new key has to come first."""
        requests = number("requests", requests, "a finite number >= 0")
        available = self._purse.available()
        if available < requests:
            return self._purse.wait_s(requests)
        if self._tried is None:
            return 0.0
        now = self.clock.now()
        if self._frees and self._frees[0] <= now:
            while self._frees and self._frees[0] <= now:
                heapq.heappop(self._frees)
            self._tried = None
            return 0.0
        held = self._frees[0] - now if self._frees else math.inf
        if held == math.inf and len(self._flying) < len(self._decider):
            held = max(self._tried_at + ASK_AGAIN_S - now, 0.0)
        dearest = self._decider.dearest()
        if self._tried < dearest:
            if available >= self._tried + 1.0:
                return 0.0
            held = min(held, self._purse.wait_s(min(self._tried + 1.0, dearest)))
        return held

    @_locked
    def spend(self, requests: float = 1.0) -> bool:
        """Pay for a request beyond the fetch itself (a redirect, a retry); False if the budget has nothing left."""
        requests = number("requests", requests, "a finite number >= 0")
        if self._purse.available() < requests:
            return False
        self._purse.spend(requests)
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
        if not self._decider.visits_host(key_text(key)):
            return 0.0
        now, scope = self.clock.now(), self._slots.key_of(key)
        self._slots.answered(scope, status, asked, now, key)
        until, _ = self._slots.held(scope, now)
        if until <= now:
            return 0.0
        self._decider.heed(key, now)
        self._free_at(until)
        self._waiting.holds += self._slots.drain_holds()
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
            failed: nothing was brought; the key is as wanted as before, after a back-off or `hold`
            refused: nothing was brought because it is not allowed (robots.txt); the back-off is longer
            gone: it will not come back (410): the key is retired
            hold: do not hand the key out for so long (Retry-After)
            answer: what to keep of the requests
        """
        failure = Failure.told(failed=failed, refused=refused, gone=gone, error=error, hold=hold, answer=answer)
        told = Report.told(
            changed=changed, digest=digest, published=published, new=new, listed=listed, hold=hold, answer=answer
        )
        if failure is not None:
            failure.require_nothing_brought(told)
        crawl = self._take(key_text(key), failure or told)
        if self.clock.now() - self._waiting_since >= self._write_every_s:
            self.flush()
        return crawl

    @_locked
    def release(self, key: str) -> None:
        """A key was not fetched after all: it is as wanted as before. What it cost is not given back."""
        intent = self._flying.pop(key_text(key), None)
        if intent is not None:
            self._decider.give_back([intent], self.clock.now())
            self._tried = None

    @property
    def in_flight(self) -> int:
        """How many keys are handed out."""
        return len(self._flying)

    @property
    def price(self) -> float:
        """What the last fetch had to be worth; NaN before the first."""
        return self._decider.policy.price

    # -- writing

    @property
    def unwritten(self) -> int:
        """Reports waiting to be written."""
        return len(self._waiting.settlements)

    def flush(self) -> None:
        """Write what waits to be written. Other threads may go on meanwhile."""
        with self._writing:
            with self._lock:
                self._require_open()
                self._write_down()
                batch, self._waiting = self._waiting, Batch()
                self._waiting_since = self.clock.now()
            try:
                self._store.commit(batch)
            except BaseException:
                with self._lock:
                    self._waiting = _joined(batch, self._waiting)
                raise

    def close(self) -> None:
        """Give keys in flight back, write what is left to write, and let others have the store.

        Once is enough, and twice is no error. Everything else asked of it then is a ContractError, but for its
        properties, `len` and `in`, which answer as of the end.
        """
        with self._lock:
            if self._closed:
                return
            for key in list(self._flying):
                self.release(key)
            self._keep_accounts(self.clock.now())
        try:
            self.flush()
        finally:
            self._closed = True
            with suppress(StoreError):
                self._store.release()
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what a report leads to

    @_locked
    def _take(self, key: str, told: Report | Failure) -> Crawl:
        intent = self._flying.get(key)
        if intent is None:
            raise ContractError(f"{key!r} was not handed out by due(), or was reported before")
        now, terms = self.clock.now(), self._decider.terms
        if isinstance(told, Failure):
            held = self._slots.held(intent.host, now)[0]
            settled = settle_failure(intent, told, now, terms, held)
        else:
            settled = settle_report(intent, told, now, terms)
        return self._settle(intent, settled, now)

    def _settle(self, intent: Intent, settled: Settled, now: float) -> Crawl:
        del self._flying[intent.source.url]
        (settlement,) = self._decider.take_in([intent.number], [settled], now)
        self._decider.leave_hosts([intent], now)
        self._free_at(settled.hold_until)
        self._tried = None
        self._requests += settlement.crawl.requests
        self._captured += settlement.crawl.captured
        self._errors += int(settlement.crawl.outcome in ("failed", "refused"))
        self._waiting.settlements.append(settlement)
        self._unscheduled.append(intent.number)
        if now - self._accounted >= self._account_s:
            self._account_s = min(2.0 * self._account_s, ACCOUNTS_S)
            self._keep_accounts(now)
        return settlement.crawl

    def _write_down(self) -> None:
        """Complete the settlements that came since the last time."""
        if self._unscheduled:
            self._decider.write_down(self._unscheduled, self._waiting.settlements[-len(self._unscheduled) :])
            self._unscheduled = []

    def _free_at(self, moment: float) -> None:
        """Somebody may be due at that time who is not now."""
        if math.isfinite(moment):
            heapq.heappush(self._frees, moment)

    @_locked
    def _keep_accounts(self, now: float) -> None:
        price = Price(
            at=now,
            price=self.price,
            budget=self._purse.per_second,
            requests=self._requests,
            captured=self._captured,
            errors=self._errors,
        )
        self._waiting.price, self._waiting.shared = price, self._decider.memory.shared()
        self._accounted, self._requests, self._captured, self._errors = now, 0, 0.0, 0


def _joined(first: Batch, then: Batch) -> Batch:
    """Two batches as one."""
    return Batch(
        settlements=first.settlements + then.settlements,
        progress=first.progress + then.progress,
        holds=first.holds + then.holds,
        price=then.price or first.price,
        shared=then.shared or first.shared,
    )


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
