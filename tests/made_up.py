"""A store as a crawler leaves it, made up: a few feeds and a page with histories, one failing, one paused, one new.

What is believed of them is learned by the policy itself from these histories.
"""

from __future__ import annotations

import math
import random

import numpy as np

from recrawl.config import Config
from recrawl.crawl.visit_outcome import change_of
from recrawl.records import Visits
from recrawl.store.records import Batch, Crawl, Hold, Item, Price, Progress, Source, Version, VisitUpdate, item_key
from recrawl.store.roles import Store
from recrawl.wiring import make_policy

NOW = 1_700_000_000.0
HOUR = 3600.0
BUDGET = 40 / 86400
"""Requests per second."""
HEADLINES = {
    "Harbour": (
        "Harbour ferry resumes after two days of fog",
        "Second container crane arrives in the east harbour",
        "Night swimmers rescued from the harbour wall",
        "Harbour dredging to begin in March",
        "Cruise ships to plug in at the harbour from 2027",
    ),
    "Library": (
        "Library extends opening hours to ten in the evening",
        "Lost 1893 atlas returned to the central library",
        "Library cards are free for everyone under 25",
        "Reading room reopens with 120 new seats",
        "Library workers vote on new contract",
    ),
    "Tramway": (
        "Tramway line 4 diverted until Friday",
        "New trams pass their first winter test",
        "Tramway drivers and the city agree on pay",
        "Track works at Mill Street finish early",
        "Night trams run on weekends from May",
    ),
    "Orchard": (
        "Late frost costs orchards a third of the crop",
        "Orchard opens its gates for the blossom weekend",
        "An old pear variety is found in a monastery orchard",
        "Cider makers short of apples after dry summer",
        "Bees return to the hillside orchards",
    ),
    "Observatory": (
        "Comet visible to the naked eye until Sunday",
        "Observatory's new mirror sees first light",
        "Volunteers count 1,400 meteors in one night",
        "Observatory asks neighbours to dim their lamps",
        "Open dome: the partial eclipse on Saturday",
    ),
    "Market": (
        "Strawberries at the market two weeks early",
        "Market hall roof to be repaired over the summer",
        "Egg prices at the market fall for a third week",
        "Farmers bring Sunday market to the station",
        "Market traders ask for cheaper pitches",
    ),
    "Theatre": (
        "Theatre season opens with an all-local cast",
        "Tickets for the summer stage go on sale at noon",
        "Theatre finds a new director in its own choir",
        "Understudy saves opening night",
        "Theatre foyer to host Tuesday concerts",
    ),
    "Bridge": (
        "Bridge closed to lorries after inspection",
        "Cyclists get their own lane on the old bridge",
        "Design for the river bridge chosen from 41 entries",
        "Bridge toll ends after thirty years",
        "Swing bridge stuck open for three hours",
    ),
    "Museum": (
        "Museum buys letters of a forgotten cartographer",
        "Free entry to the museum on first Thursdays",
        "Whale skeleton moves to the museum's new wing",
        "Museum returns two masks to their owners",
        "School classes paint the museum's fence",
    ),
    "Station": (
        "Platform 3 reopens with lifts",
        "Station clock stops for the first time since 1951",
        "Left luggage at the station goes digital",
        "Night train to the coast stops at the station again",
        "Station bakery wins regional prize",
    ),
}
"""Made up, as all names here are: what such feeds might say."""
TOPICS = tuple(HEADLINES)
DETAILS = (
    "A decision that many had waited for, and some had not.",
    "What is known so far, what it costs, and who was asked.",
    "With a map and photographs by our readers.",
    "The council had first heard of it in spring.",
    "An earlier version of this report named the wrong street.",
    "The full report is to be published on Friday.",
)


def fill(store: Store, now: float = NOW, seed: int = 1) -> list[int]:
    """Twelve sources and what was found in them; their ids."""
    draw = random.Random(seed)
    sources = [
        Source(
            url=f"https://{name.lower()}.example/feed.xml",
            title=f"{name} News",
            kind="feed",
            importance=(1.0, 2.0, 0.5)[k % 3],
            half_life=6 * HOUR if k % 4 == 0 else None,
            tags=(("city", "culture", "transport")[k % 3],),
            added=now - 10 * 86400,
        )
        for k, name in enumerate(TOPICS)
    ]
    sources.append(Source(url="https://prices.example/list", title="Price list", kind="page", added=now - 9 * 86400))
    sources.append(Source(url="https://quiet.example/feed", title="Quiet Corner", state="paused", added=now - 86400))
    ids = [added.id for added in store.add(sources)]
    updates = [each for id, source in zip(ids[:10], sources, strict=False) for each in _feed(id, source, now, draw)]
    updates += _page(ids[10], now, draw)
    price = 0.0
    for k in range(0, 24 * 4):
        price = 0.8 + 0.3 * math.sin(k / 30) + 0.05 * draw.random()
        at = now - 86400 + (k + 1) * 900
        requests = draw.randint(0, 1)
        row = Price(
            at=at, price=price, budget=BUDGET, requests=requests, captured=requests * 0.6 * draw.random(), errors=k % 7
        )
        store.commit(Batch(price=row))
    shared = learn(store.sources(ids=ids), updates)
    holds = [Hold(host="market.example", until=now + 900, reason="answered 503")]
    store.commit(Batch(updates=updates, holds=holds, shared=shared))
    return ids


def learn(sources: list[Source], updates: list[VisitUpdate]) -> bytes:
    """Let the policy learn from the visits in order, and keep in their progress what it believes; its shared record."""
    policy, ids = make_policy(Config()), [source.id for source in sources]
    policy.start(len(ids), min(each.crawl.at for each in updates), labels=[source.url for source in sources])
    policy.configure(np.arange(len(ids)), half_life=np.array([source.half_life or math.nan for source in sources]),
                     importance=np.array([source.importance for source in sources]))  # fmt: skip
    latest = {}
    for each in sorted(updates, key=lambda update: update.crawl.at):
        crawl, number = each.crawl, ids.index(each.crawl.source)
        if crawl.outcome == "failed":
            visits = Visits(np.array([number]), crawl.at, failed=np.array([True]))
        elif sources[number].kind == "page":
            visits = Visits(np.array([number]), crawl.at, changed=np.array([crawl.outcome == "changed"]))
        else:
            dated = np.sort([item.published for item in each.items if item.published is not None])
            visits = Visits(np.array([number]), crawl.at, published=[dated], new=np.array([0]))
        policy.observe(visits)
        latest[number] = each.progress
    for number, progress in latest.items():
        believed = policy.beliefs([number])
        progress.value, progress.value_sd = float(believed.value[0]), float(believed.value_sd[0])
        progress.rate, progress.rate_sd = float(believed.rate[0]), float(believed.rate_sd[0])
        progress.belief = policy.rows([number])[0]
    return policy.shared()


def _feed(id: int, source: Source, now: float, draw: random.Random) -> list[VisitUpdate]:
    rate = math.log(2) / (source.half_life or 12 * HOUR)
    pace = draw.uniform(2, 30) / 86400
    value, made = pace / rate, []
    every = draw.uniform(1.5, 6) * HOUR
    visits = int(3 * 86400 / every)
    failing = source.title.startswith("Market")
    for k in range(visits):
        at = now - (visits - k) * every + draw.uniform(0, 0.2) * every + 0.7 * every
        believed = value * (1 + 0.8 / (k + 1) * draw.uniform(-1, 1))
        failed = failing and k > visits - 4
        new = 0 if failed else _count(pace * every, draw)
        items = [_item(id, source, f"{id}-{k}-{n}", at - draw.random() * every, at, draw) for n in range(new)]
        crawl = Crawl(
            source=id,
            at=at,
            outcome="failed" if failed else "first" if k == 0 else "new" if new else "unchanged",
            status=503 if failed else 200,
            size=20_000,
            elapsed_s=draw.uniform(0.05, 0.9),
            new=new,
            captured=0.7 * new if k else 0.0,
            index=believed * 0.5,
            price=0.8,
            value=believed,
            value_sd=believed * 0.8 / math.sqrt(k + 1),
            rate=rate,
            rate_sd=rate * 0.2,
            error="the server answered 503" if failed else "",
        )
        progress = Progress(
            source=id,
            last=made[-1].progress.last if failed else at,
            visits=k + 1,
            failures=3 if failed else 0,
            value=believed,
            value_sd=crawl.value_sd,
            rate=rate,
            rate_sd=crawl.rate_sd,
            due=at + every,
            captured=0.7 * k,
        )
        made.append(VisitUpdate(crawl=crawl, progress=progress, items=items))
    return made


def _item(id: int, source: Source, key: str, published: float, at: float, draw: random.Random) -> Item:
    topic = source.title.split()[0]
    title, start = draw.choice(HEADLINES[topic]), draw.randrange(len(DETAILS))
    return Item(
        source=id,
        key=item_key(key),
        title=title,
        link=f"https://{topic.lower()}.example/story/{key}",
        summary=" ".join((DETAILS * 2)[start : start + draw.randint(1, 3)]),
        published=published,
        first_seen=at,
    )


def _page(id: int, now: float, draw: random.Random) -> list[VisitUpdate]:
    made, text = [], "Apples 3.20\nPears 2.90\nPlums 4.10"
    for k in range(6):
        at = now - (6 - k) * 20 * HOUR
        diff = (
            ""
            if k == 0
            else f"@@ -1,3 +1,3 @@\n-Apples {3.2 + 0.1 * (k - 1):.2f}\n+Apples {3.2 + 0.1 * k:.2f}\n Pears 2.90"
        )
        source = Source(id=id, url="https://prices.example/list", title="Price list")
        version = Version(source=id, at=at, digest=str(k), text=text, diff=diff)
        made.append(
            VisitUpdate(
                crawl=Crawl(source=id, at=at, outcome="first" if k == 0 else "changed", status=200, elapsed_s=0.2,
                            captured=0.5, value=0.9, value_sd=0.3, rate=2e-5, rate_sd=1e-5),
                progress=Progress(source=id, last=at, visits=k + 1, value=0.9, value_sd=0.3, rate=2e-5, rate_sd=1e-5,
                                  due=at + 30 * HOUR, captured=0.5 * k),
                items=[change_of(source, version)] if k else [],
                version=version,
            )
        )  # fmt: skip
    return made


def _count(mean: float, draw: random.Random) -> int:
    """A Poisson number."""
    limit, product, count = math.exp(-min(mean, 50.0)), draw.random(), 0
    while product > limit:
        product *= draw.random()
        count += 1
    return count
