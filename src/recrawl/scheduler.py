"""Scheduling for people with their own fetcher: keys in, keys out, everything remembered in a store.

Nothing here fetches. The caller asks what is due, fetches it as it likes, and reports what that brought.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from recrawl.clock import Clock, SystemClock
from recrawl.config import Config, Politeness
from recrawl.crawl.intents import Intent
from recrawl.crawl.politeness import Slots
from recrawl.crawl.purse import Purse
from recrawl.crawl.settling import Lesson, Settled, blind_worth, dated_worth
from recrawl.errors import ContractError, ParameterError
from recrawl.store.base import Batch, Crawl, Outcome, Price, Settlement, Source, Store
from recrawl.store.opening import open_store
from recrawl.units import parse_duration
from recrawl.wiring import make_decider, owner

Moment = float | datetime
ACCOUNTS_S = 60.0
"""Time between two lines of the price history, and two writes of the learner's shared record."""


class Scheduler:
    """What to fetch next, under a budget, for any fetcher.

    Parameters
        store: path or address of a store, or an open one
        budget: fetches per time, as text (`60/min`) or per second
        objective: "ephemeral" (interest captured), "freshness", "discovery" or "changes"
        half_life, max_age: of sources that are given none: how fast news fades, and how old a source may get
        min_interval: no key comes back sooner
        burst: fetches that may be saved up; by default one second's worth, and at least 1

    A key handed out by `due` is in flight until it is reported or released. One scheduler (or crawler) at a time works
    on a store; `recrawl status` and `recrawl explain` may look on.

    >>> from tempfile import mkdtemp
    >>> from recrawl.clock import ManualClock
    >>> scheduler = Scheduler(mkdtemp() + "/recrawl.db", budget="10/s", clock=ManualClock())
    >>> _ = scheduler.add("https://example.org/feed", importance=2.0, half_life="6h")
    >>> scheduler.clock.advance(1.0)
    >>> for key in scheduler.due():
    ...     scheduler.report(key, published=[])
    >>> scheduler.due()
    []
    >>> scheduler.close()
    """

    def __init__(
        self,
        store: str | Path | Store = "recrawl.db",
        budget: str | float = "60/min",
        *,
        objective: str = "ephemeral",
        half_life: str | float = "12h",
        max_age: str | float = "30d",
        min_interval: str | float = "1s",
        burst: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self._config = msgspec.convert(
            {
                "budget": str(budget),
                "burst": "" if burst is None else str(burst),
                "objective": objective,
                "half_life": str(half_life),
                "max_age": str(max_age),
                "politeness": Politeness(scope="url", delay="0s", min_interval=str(min_interval)),
            },
            Config,
            from_attributes=True,
        )
        self._store = open_store(str(store)) if isinstance(store, str | Path) else store
        now = self.clock.now()
        self._store.claim(owner(), now)
        self._purse = Purse(self._config.budget_per_s, self._config.burst_requests, self.clock)
        slots = Slots(self._config.politeness, now, random.Random())
        self._decider = make_decider(self._config, self._store, slots, now)
        self._flying: dict[str, Intent] = {}
        self._accounted, self._requests, self._captured, self._errors = now, 0, 0.0, 0

    # -- the catalogue

    def add(
        self,
        key: str,
        *,
        importance: float = 1.0,
        half_life: str | float | None = None,
        max_age: str | float | None = None,
        cost: float = 1.0,
        tags: Sequence[str] = (),
    ) -> bool:
        """Take in a key, or change the terms of one that is there; whether it is new."""
        for name, number in (("importance", importance), ("cost", cost)):
            if not 0.0 < number < float("inf"):
                raise ParameterError(name, "a finite number > 0", number)
        terms = {
            "importance": float(importance),
            "half_life": None if half_life is None else parse_duration("half_life", half_life),
            "max_age": None if max_age is None else parse_duration("max_age", max_age),
            "cost": float(cost),
            "tags": tuple(tags),
        }
        wanted = Source(url=str(key), kind="key", added=self.clock.now(), **terms)  # type: ignore[arg-type]
        (added,) = self._store.add([wanted])
        line = self._store.source(added.id)
        assert line is not None
        if not added.new and any(getattr(line, name) != value for name, value in terms.items()):
            self._store.edit([msgspec.structs.replace(line, **terms)])
            line = self._store.source(added.id)
            assert line is not None
        self._decider.admit([line], self._store.progress([added.id]))
        return added.new

    def remove(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        line = self._store.source(str(key))
        if line is None:
            return False
        self._store.remove([line.id])
        self._decider.dismiss([line.id])
        self._flying.pop(str(key), None)
        return True

    def __len__(self) -> int:
        return len(self._decider)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._decider.number(key) is not None

    # -- scheduling

    def due(self, limit: int | None = None) -> list[str]:
        """The keys to fetch now, most wanted first, as far as the budget goes; empty if it is to be waited."""
        now = self.clock.now()
        tokens = self._purse.available() if limit is None else min(self._purse.available(), float(limit))
        intents = self._decider.choose(now, tokens) if tokens >= 1.0 - 1e-9 else []
        if intents:
            self._purse.spend(self._decider.cost(intents))
        self._flying.update((intent.source.url, intent) for intent in intents)
        return [intent.source.url for intent in intents]

    def wait_s(self) -> float:
        """Seconds until the budget allows another fetch; 0 if it does now."""
        return 0.0 if self._purse.available() >= 1.0 else self._purse.wait_s()

    def spend(self, requests: float = 1.0) -> bool:
        """Pay for a request beyond the fetch itself (a redirect, a retry); False if the budget has nothing left."""
        if self._purse.available() < requests:
            return False
        self._purse.spend(requests)
        return True

    def report(
        self,
        key: str,
        *,
        changed: bool | None = None,
        published: Iterable[Moment] | None = None,
        new: int = 0,
        failed: bool = False,
        hold: str | float | None = None,
        error: str = "",
    ) -> None:
        """Say what a fetch brought.

        Parameters
            changed: whether a page differed from the last fetch (on a first one, whatever it is, only the baseline)
            published: publication times of the items that were new; on a first fetch all those listed
            new: new items without a date
            failed: nothing was brought; the key is as wanted as before, after a back-off or `hold`
            hold: do not hand the key out for so long (Retry-After)
        """
        intent = self._flying.pop(str(key), None)
        if intent is None:
            raise ContractError(f"{key!r} was not handed out by due(), or was reported before")
        now = self.clock.now()
        wait = None if hold is None else parse_duration("hold", hold)
        if failed:
            settled = self._failure(intent, now, wait, error)
        else:
            times = None if published is None else [_seconds(moment) for moment in published]
            settled = self._success(intent, now, wait, changed, times, new)
        settlements = self._decider.absorb([intent.number], [settled], now)
        self._store.commit(Batch(settlements=settlements))
        self._decider.forget_records(settlements)
        self._requests += 1
        self._captured += settlements[0].crawl.captured
        self._errors += int(failed)
        if now - self._accounted >= ACCOUNTS_S:
            self._keep_accounts(now)

    def release(self, key: str) -> None:
        """A key was not fetched after all: it is as wanted as before. What it cost is not given back."""
        intent = self._flying.pop(str(key), None)
        if intent is not None:
            self._decider.give_back([intent], self.clock.now())

    @property
    def price(self) -> float:
        """What the last fetch had to be worth; NaN before the first."""
        return self._decider.policy.price

    def close(self) -> None:
        """Give keys in flight back, write what is left to write, and let others have the store."""
        for key in list(self._flying):
            self.release(key)
        self._keep_accounts(self.clock.now())
        self._store.release()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- what a report leads to

    def _success(
        self, intent: Intent, now: float, wait: float | None, changed: bool | None, times: list[float] | None, new: int
    ) -> Settled:
        terms, source, before = self._decider.terms, intent.source, intent.progress
        half_life = source.half_life or terms.half_life_s
        first = before.last is None
        captured, count = 0.0, new + len(times or ())
        if not first and before.last is not None:
            captured = dated_worth(source.importance, now, times or [], half_life, terms.ephemeral)
            blind = new + (1 if changed and times is None and not new else 0)
            captured += blind * blind_worth(source.importance, now - before.last, half_life, terms.ephemeral)
        if times is None and not new:
            lesson = Lesson("page", changed=bool(changed) and not first)
            count = int(lesson.changed)
        else:
            lesson = Lesson("items", published=times or [], new=0 if first else new)
        outcome: Outcome = "first" if first else "unchanged" if not count else "changed" if changed else "new"
        progress = msgspec.structs.replace(
            before,
            last=now,
            visits=before.visits + 1,
            failures=0,
            held_until=0.0 if wait is None else now + wait,
            held_by="" if wait is None else "asked to wait",
            captured=before.captured + captured,
        )
        crawl = self._crawl(intent, now, outcome, new=count, captured=captured)
        until = now + max(terms.min_interval_s, wait or 0.0)
        return Settled(Settlement(crawl=crawl, progress=progress), lesson, until)

    def _failure(self, intent: Intent, now: float, wait: float | None, error: str) -> Settled:
        terms, before = self._decider.terms, intent.progress
        failures = before.failures + 1
        back_off = min(terms.backoff_s * 2.0 ** min(failures - 1, 40), terms.max_backoff_s)
        until = now + (back_off if wait is None else wait)
        reason = error or "the fetch failed"
        progress = msgspec.structs.replace(before, failures=failures, held_until=until, held_by=reason)
        crawl = self._crawl(intent, now, "failed", error=reason)
        return Settled(Settlement(crawl=crawl, progress=progress), Lesson("failed"), until)

    def _crawl(
        self, intent: Intent, now: float, outcome: Outcome, *, new: int = 0, captured: float = 0.0, error: str = ""
    ) -> Crawl:
        return Crawl(
            source=intent.source.id,
            at=now,
            outcome=outcome,
            new=new,
            captured=captured,
            index=intent.index,
            price=intent.price,
            error=error,
        )

    def _keep_accounts(self, now: float) -> None:
        price = Price(
            at=now,
            price=self.price,
            budget=self._purse.per_second,
            requests=self._requests,
            captured=self._captured,
            errors=self._errors,
        )
        self._store.commit(Batch(price=price, shared=self._decider.policy.shared()))
        self._accounted, self._requests, self._captured, self._errors = now, 0, 0.0, 0


def _seconds(moment: Moment) -> float:
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(moment)
