"""Writes a small store with the code it is run on: how the stores beside it were made, each by the code of its time.

    PYTHONPATH=OLD_CHECKOUT/src python tests/earlier_stores/make.py FOLDER NAME [OBJECTIVE]

leaves FOLDER/NAME.db.xz and FOLDER/NAME.json, which says what its rows say: of each source the rate it was drawn with,
the posterior mean of it (items or changes per day), and the beliefs of whoever opens the store, importance not
included. What is not in a row but in the record of the whole catalogue (priors, profiles) has its part in them.
"""

from __future__ import annotations

import json
import lzma
import math
import random
import sqlite3
import sys
from pathlib import Path

import numpy as np

from recrawl.clock import ManualClock
from recrawl.scheduler import Scheduler
from recrawl.store.records import Batch, Click, Item, item_key

try:
    from recrawl.crawl.click_reader import ClickReader
except ImportError:  # before clicks taught anything
    ClickReader = None

BEGIN, DAYS, HOUR_S, DAY_S = 1_790_000_000.0, 40, 3600.0, 86400.0
LOGGED_DAYS = 10
BUDGET = "14/d"
FEEDS = {f"https://feeds.example/{name}": rate for name, rate in zip("abcdef", (0.1, 0.3, 1, 2, 5, 12), strict=True)}
PAGES = {
    **{f"https://pages.example/often/{k}": rate for k, rate in enumerate((0.5, 1.0, 2.0))},
    **{f"https://pages.example/seldom/{k}": rate for k, rate in enumerate((0.0, 0.02, 0.05, 0.1))},
}
OTHERS = ("https://others.example/failing", "https://others.example/gone", "https://others.example/held")
LATE = ("https://late.example/feed", "https://late.example/page")
PAUSED = ("https://feeds.example/f", "https://pages.example/often/0", LATE[0])
IMPORTANCE = {"https://feeds.example/c": 3.0, "https://pages.example/often/2": 2.0}
HALF_LIFE = {"https://feeds.example/d": "3h"}
LIKED = "https://feeds.example/e"


def times_of(rate: float, draw: random.Random, by_day: bool) -> list[float]:
    """Times of a Poisson process, by day only or around the clock."""
    times, at = [], BEGIN - 10 * DAY_S
    while rate and (at := at + draw.expovariate(rate) * DAY_S) < BEGIN + DAYS * DAY_S:
        times.append(at - at % DAY_S + (8 + at % DAY_S / DAY_S * 10) * HOUR_S if by_day else at)
    return sorted(times)


def drive(path: Path, objective: str) -> dict[str, object]:
    """Forty days of a scheduler; what it believed in the end."""
    draw, clock = random.Random(5), ManualClock(BEGIN)
    flags_only = objective == "freshness"
    truth = PAGES if flags_only else FEEDS | PAGES
    events = {key: times_of(rate, draw, key in FEEDS and rate > 1) for key, rate in truth.items()}
    scheduler = Scheduler(
        path, budget=BUDGET, burst=2.0, objective=objective, half_life="12h", write_every="100d", clock=clock
    )
    terms = {
        key: {"importance": IMPORTANCE.get(key, 1.0), "half_life": HALF_LIFE.get(key), "tags": ("a",), "memo": "b"}
        for key in (*truth, *OTHERS)
    }
    scheduler.add_many(terms)
    ear, seen = ClickReader() if ClickReader else None, {}
    while clock.now() < BEGIN + DAYS * DAY_S:
        clock.advance(HOUR_S)
        now = clock.now()
        for key in scheduler.due():
            fresh = [at for at in events.get(key, ()) if seen.get(key, -math.inf) < at <= now]
            if key == OTHERS[0] or (key == OTHERS[2] and key in seen):
                wait = "20d" if key == OTHERS[2] else None
                scheduler.report(key, failed=True, error="connection refused", hold=wait)
                continue
            if key == OTHERS[1] and key in seen:
                scheduler.report(key, gone=True, error="410")
                continue
            if key in FEEDS:
                scheduler.report(key, published=fresh)
                scheduler._pending._batch.updates[-1].items = items_of(scheduler, key, fresh[-3:], now)
            else:
                scheduler.report(key, changed=bool(fresh) and key in seen)
            seen[key] = now
        scheduler.flush()
        if ear is not None and clock.now() % DAY_S < HOUR_S:
            click(scheduler, now, draw)
            listen(scheduler, ear, now)
    scheduler.add_many({key: {} for key in LATE})
    store = scheduler._store
    held = [line for line in store.sources() if line.url in PAUSED]
    for line in held:
        line.state = "paused"
    store.edit(held)
    scheduler.refresh()
    scheduler.heed("https://pages.example/often/1", 503, "86400")
    scheduler.close()
    scheduler = Scheduler(path, budget=BUDGET, objective=objective, half_life="12h", clock=clock)
    said = what_is_believed(scheduler, truth)
    scheduler.close()
    return {"objective": objective, "ends_at": clock.now(), "sources": said}


def items_of(scheduler: Scheduler, key: str, published: list[float], now: float) -> list[Item]:
    """As a crawler keeps them."""
    number = scheduler._decider.roster.source(scheduler._decider.roster.urls.get(key)).id
    return [
        Item(source=number, key=item_key(f"{key}/{at}"), title=f"item of {key[-1]}", published=at, first_seen=now)
        for at in published
    ]


def click(scheduler: Scheduler, now: float, draw: random.Random) -> None:
    """Readers open some of the day's items: most of what the liked source has."""
    store = scheduler._store
    for line in store.sources():
        chance = 0.9 if line.url == LIKED else 0.2
        opened = [item for item in store.items(source=line.id, since=now - DAY_S) if draw.random() < chance]
        store.record_clicks([Click(item=i.id, at=draw.uniform(i.first_seen, now), count=1) for i in opened])


def listen(scheduler: Scheduler, ear: ClickReader, now: float) -> None:
    """What readers opened, told to the learner as a running crawler does."""
    decider, store = scheduler._decider, scheduler._store
    heard = ear.listen(store, decider.policy.mark, now)
    if heard.opened:
        scheduler.flush()
        touched = decider.hear(heard, now)
        if touched and isinstance(touched[0], int):  # since sources that were touched are scheduled later
            touched = decider.scheduled(touched)
        store.commit(Batch(progress=touched, shared=decider.policy.shared()))


def what_is_believed(scheduler: Scheduler, truth: dict[str, float]) -> dict[str, dict[str, object]]:
    """By URL."""
    decider, said = scheduler._decider, {}
    policy = decider.policy
    policy.choose(scheduler.clock.now(), 0.0)
    for line in scheduler._store.sources():
        number = decider.roster.urls.get(line.url)
        beliefs, progress = policy.beliefs([number]), decider.progress(number)
        said[line.url] = {
            "kind": ("unknown", "feed", "page")[int(policy.learned.kind[number])],
            "visits": progress.visits,
            "true_per_day": truth.get(line.url),
            "per_day": per_day(policy, number, scheduler.clock.now()),
            "appeal": float(policy.appeal([number])[0][0]) if hasattr(policy, "appeal") else 1.0,
            **{name: float(getattr(beliefs, name)[0]) for name in ("value", "value_sd", "rate", "rate_sd")},
        }
    return said


def per_day(policy, number: int, now: float) -> float | None:
    """The posterior mean of a source's rate."""
    mind = policy.learned
    if mind.kind[number] not in (1, 2):
        return None
    if not hasattr(mind, "feeds"):  # layout 3, by its own account
        (reason,) = policy.reasons([number], now)
        numbers = reason.numbers
        return numbers["items_per_day"] if reason.form == "rhythm" else numbers["change_rate_per_s"] * DAY_S
    feeds, pages = mind.feeds, mind.pages
    if mind.kind[number] == 1:
        return float(feeds.shape[number] / feeds.scale_rate[number])
    tilt = pages.tilt[number] * np.arange(len(pages.changes))
    weight = np.exp(pages.evidence[number] + pages.log_prior + tilt)
    return float(weight @ pages.changes / weight.sum() * DAY_S)


def main(folder: str, name: str, objective: str = "ephemeral") -> None:
    """Drive, then pack."""
    try:
        from recrawl.learning.layouts import LAYOUT
    except ImportError:  # where it was when layouts 1 and 2 were written
        from recrawl.learning.live import LAYOUT

    place = Path(folder)
    whole, small = place / f"{name}.whole.db", place / f"{name}.db"
    said = {"layout": LAYOUT, **drive(whole, objective)}
    with sqlite3.connect(whole) as connection:
        connection.execute("DELETE FROM crawls WHERE at < ?", (BEGIN + (DAYS - LOGGED_DAYS) * DAY_S,))
        connection.commit()
        connection.execute("VACUUM INTO ?", (str(small),))
    (place / f"{name}.db.xz").write_bytes(lzma.compress(small.read_bytes(), preset=9))
    (place / f"{name}.json").write_text(json.dumps(said, indent=1) + "\n")
    small.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
