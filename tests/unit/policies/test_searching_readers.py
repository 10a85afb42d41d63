"""Searches teach interest: readers of known taste who search by topic, and a crawler that hears of it or does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import spearmanr

from recrawl.crawl.click_reader import SEARCH_SHARE
from recrawl.learning.readership import Clicked
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import FloatArray, IntArray, Visits
from recrawl.web.searches import FIRST

NOW, HOUR = 1.75e9, 3600.0
HALF_LIFE = 6 * HOUR
PER_HOUR, HOURS = 6, 240


@dataclass(frozen=True)
class Web:
    """Feeds on topics, and what an item of each draws if it is found at once, 1 on average."""

    times: list[FloatArray]
    topic: IntArray
    drawn: FloatArray
    demand: FloatArray
    """How often each topic is searched for: as much as there is to read in it."""


def made(seed: int, size: int = 60, topics: int = 15) -> Web:
    random = np.random.default_rng(seed)
    topic = np.arange(size) % topics
    rates = np.exp(random.normal(np.log(0.3), 0.7, size))
    drawn = np.exp(random.normal(0.0, 0.9, topics))[topic] * np.exp(random.normal(0.0, 0.4, size))
    drawn /= drawn.mean()
    times = [NOW + HOUR * np.sort(random.uniform(-200.0, HOURS, random.poisson(r * (HOURS + 200.0)))) for r in rates]
    demand = np.bincount(topic, rates * drawn)
    return Web(times, topic, drawn, demand / demand.sum())


def crawl(web: Web, clicks_per_item: float, searches_per_hour: float) -> tuple[float, LearnedWhittle]:
    """What is captured in the second half by a crawler that hears of clicks and searches once an hour."""
    policy, random = LearnedWhittle(half_life=HALF_LIFE), np.random.default_rng(7)
    policy.start(len(web.times), NOW)
    policy.configure(np.arange(len(web.times)), half_life=HALF_LIFE)
    last, captured = np.full(len(web.times), -np.inf), 0.0
    seen: list[list[tuple[float, int, float]]] = [[] for _ in web.demand]
    heard: list[tuple[int, float, float, float, float]] = []
    for k in range(1, HOURS * PER_HOUR + 1):
        now = NOW + k * HOUR / PER_HOUR
        for i in policy.choose(now, 1.0).tolist():
            listed = web.times[i][: int(np.searchsorted(web.times[i], now))][-20:]
            new = listed[listed > last[i]]
            worth = web.drawn[i] * 2.0 ** ((new - now) / HALF_LIFE)
            captured += float(worth.sum()) if k > HOURS * PER_HOUR / 2 else 0.0
            last[i] = now
            policy.observe(Visits(np.array([i]), now, published=[new]))
            seen[web.topic[i]] = sorted([*seen[web.topic[i]], *((born, i, now) for born in new.tolist())])[-FIRST:]
            number = random.poisson(clicks_per_item * worth)
            wait = random.exponential(HALF_LIFE / np.log(2.0), number.sum())
            heard += [(i, b, now, now + w, 1.0) for b, w in zip(np.repeat(new, number), wait, strict=True)]
        for topic in random.choice(len(web.demand), random.poisson(searches_per_hour / PER_HOUR), p=web.demand):
            heard += [(i, born, found, now, SEARCH_SHARE) for born, i, found in seen[topic]]
        ready = [each for each in heard if each[3] <= now] if k % PER_HOUR == 0 else []
        if ready:
            heard = [each for each in heard if each[3] > now]
            ids, born, found, at, clicks = np.array(ready).T
            policy.feedback(ids.astype(np.int64), Clicked(born, found, at, clicks), now=now)
    return captured, policy


def agreement(web: Web, policy: LearnedWhittle) -> float:
    """Rank correlation of what is believed of readers with what they like."""
    appeal = policy.appeal(np.arange(len(web.times)))[0]
    return float(spearmanr(appeal, web.drawn).statistic) if np.ptp(appeal) > 0.0 else 0.0


@pytest.mark.parametrize("seed", [1, 2])
def test_searches_beside_few_clicks_find_readers_taste_and_capture_more(seed: int) -> None:
    """60 searches an hour, a click on 20 items. Of three seeds the correlation is 0.67 to 0.72 by clicks, 0.82 to 0.84
    with searches; 2.8 to 8.9 % more is captured by clicks than by neither, 4.2 to 11.3 % with searches."""
    web = made(seed)
    deaf, searching = crawl(web, 0.0, 0.0), crawl(web, 0.0, 60.0)
    clicking, both = crawl(web, 0.05, 0.0), crawl(web, 0.05, 60.0)
    assert agreement(web, deaf[1]) == 0.0
    assert agreement(web, searching[1]) >= 0.75
    assert agreement(web, both[1]) >= agreement(web, clicking[1]) + 0.05
    assert searching[0] >= 1.02 * deaf[0]
    assert both[0] >= 1.01 * clicking[0]
