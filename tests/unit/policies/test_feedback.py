"""Clicks teach interest: readers with known tastes, a crawler that hears of their clicks, and one that does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import spearmanr

from recrawl.errors import ParameterError
from recrawl.learning.readership import Clicked
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import FloatArray, Visits

NOW, HOUR = 1.75e9, 3600.0
USUAL = 6 * HOUR


@dataclass
class Web:
    """Steady feeds, and readers who click on an item of source i `drawn[i]` times on average if it is found at once."""

    times: list[FloatArray]
    drawn: FloatArray
    half_life: FloatArray
    hours: float

    def __len__(self) -> int:
        return len(self.times)


def made(seed: int, size: int = 60, hours: float = 240.0, clicks_per_item: float = 4.0) -> Web:
    """Rates a decade about one item in three hours, interest a factor e, half-lives from two hours to a day."""
    random = np.random.default_rng(seed)
    rates = np.exp(random.normal(np.log(0.3), 1.0, size))
    drawn = np.exp(random.normal(0.0, 1.0, size))
    half_life = 2 * HOUR * 12.0 ** random.uniform(size=size)
    times = [
        NOW + HOUR * np.sort(random.uniform(-200.0, hours, random.poisson(rate * (hours + 200.0)))) for rate in rates
    ]
    return Web(times, clicks_per_item * drawn / drawn.mean(), half_life, hours)


@dataclass
class Outcome:
    """What a crawler captured, in clicks its readers can make, in the second half of the time; and all clicks made."""

    captured: float
    clicks: int
    policy: LearnedWhittle


def crawl(web: Web, listens: bool = False, told: bool = False, seed: int = 0, per_hour: int = 9) -> Outcome:
    """Nine fetches an hour; readers open what has been found; once an hour the crawler hears of it."""
    policy, random = LearnedWhittle(half_life=USUAL), np.random.default_rng(seed)
    policy.start(len(web), NOW)
    if told:
        policy.configure(np.arange(len(web)), importance=web.drawn, half_life=web.half_life)
    last, pending = np.full(len(web), -np.inf), np.empty((0, 4))
    captured, clicks = 0.0, 0
    for k in range(1, round(web.hours * per_hour) + 1):
        now = NOW + k * HOUR / per_hour
        for i in policy.choose(now, 1.0).tolist():
            end = int(np.searchsorted(web.times[i], now))
            listed = web.times[i][max(end - 20, 0) : end]
            new = listed[listed > last[i]]
            worth = web.drawn[i] * 2.0 ** ((new - now) / web.half_life[i])
            if now > NOW + 0.5 * HOUR * web.hours:
                captured += float(worth.sum())
            last[i] = now
            policy.observe(Visits(np.array([i]), now, published=[new]))
            number = random.poisson(worth)
            at = now + random.exponential(web.half_life[i] / np.log(2.0), number.sum())
            born = np.repeat(new, number)
            pending = np.vstack([pending, np.column_stack([np.full(len(at), i), born, np.full(len(at), now), at])])
        if k % per_hour == 0:
            heard, pending = pending[pending[:, 3] <= now], pending[pending[:, 3] > now]
            clicks += len(heard)
            if listens and len(heard):
                ids, born, found, at = heard.T
                policy.feedback(ids.astype(np.int64), Clicked(born=born, found=found, at=at, clicks=1.0), now=now)
    return Outcome(captured, clicks, policy)


@pytest.mark.parametrize("seed", [1, 2])
def test_after_20_000_clicks_sources_are_ranked_as_readers_do_and_more_is_captured(seed: int) -> None:
    web = made(seed)
    deaf, told, hearing = crawl(web), crawl(web, told=True), crawl(web, listens=True)
    appeal, half_life = hearing.policy.appeal(np.arange(len(web)))
    assert 16_000 < hearing.clicks < 22_000
    assert spearmanr(appeal, web.drawn).statistic >= 0.9
    assert spearmanr(half_life, web.half_life).statistic >= 0.8
    assert hearing.captured >= 1.02 * deaf.captured
    assert hearing.captured >= 0.97 * told.captured, "as good as having been told what readers like"


def started(targets: int, **options: float) -> LearnedWhittle:
    policy = LearnedWhittle(half_life=USUAL, **options)  # type: ignore[arg-type]
    policy.start(targets, NOW)
    return policy


def visit(policy: LearnedWhittle, ids: list[int], now: float, items: int = 4) -> None:
    """Each of these shows items published over the last four hours."""
    policy.observe(Visits(np.array(ids), now, published=[now - HOUR * np.linspace(0.5, 4.0, items) for _ in ids]))


def click(policy: LearnedWhittle, ids: list[int], found: float, now: float, clicks: float = 1.0) -> None:
    """Somebody opens an item of each that was found then, and published half an hour before."""
    policy.feedback(ids, Clicked(born=found - 0.5 * HOUR, found=found, at=now - 60.0, clicks=clicks), now=now)


def test_without_clicks_nothing_changes() -> None:
    deaf, hearing = started(5), started(5)
    for policy in (deaf, hearing):
        visit(policy, [0, 1, 2], NOW + 10)
        visit(policy, [0, 1, 2], NOW + 5 * HOUR)
    none = np.empty(0)
    assert len(hearing.feedback(none, Clicked(born=none, found=none, at=none, clicks=none), now=NOW + 6 * HOUR)) == 0
    one, other = deaf.beliefs(np.arange(5)), hearing.beliefs(np.arange(5))
    for name in ("value", "value_sd", "rate", "rate_sd"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(hearing.appeal(np.arange(5))[0], 1.0)


def test_an_item_that_was_not_opened_is_evidence_too() -> None:
    policy = started(8)
    for k in range(1, 30):
        visit(policy, [0, 1, 2, 3, 4, 5], NOW + 5 * HOUR * k)
        click(policy, [0, 1], NOW + 5 * HOUR * k, NOW + 5 * HOUR * k + HOUR)
    appeal, half_life = policy.appeal(np.arange(8))
    assert appeal[:2].min() > 1.5
    assert appeal[2:6].max() < 0.6
    assert appeal[:6].mean() == pytest.approx(1.0, abs=0.15)
    np.testing.assert_array_equal(appeal[6:], 1.0)
    np.testing.assert_array_equal(half_life[6:], USUAL)


def test_when_readers_leave_what_nobody_clicked_before_does_not_rise_over_what_they_did() -> None:
    policy = started(8)
    for k in range(1, 30):
        visit(policy, [0, 1, 2, 3], NOW + 5 * HOUR * k)
        click(policy, [0, 1, 2, 3], NOW + 5 * HOUR * k, NOW + 5 * HOUR * k + HOUR)
    for k in range(30, 150):
        visit(policy, [0, 1, 2, 3], NOW + 5 * HOUR * k)
    appeal = policy.appeal(np.arange(8))[0]
    assert appeal[:4].mean() == pytest.approx(1.0, abs=0.1)
    np.testing.assert_array_equal(appeal[4:], 1.0)


def test_what_is_ranked_by_is_what_is_reported_and_importance_multiplies_it() -> None:
    policy = started(3)
    policy.configure([0], importance=3.0)
    visit(policy, [0, 1, 2], NOW + 10)
    before = policy.beliefs([0, 1, 2])
    click(policy, [0, 0, 0, 1], NOW + 10, NOW + HOUR)
    after, later = policy.beliefs([0, 1, 2]), NOW + 3 * HOUR
    index = policy.index([0, 1, 2], later)
    policy.configure([0], importance=6.0)
    assert policy.index([0], later)[0] == pytest.approx(2.0 * index[0])
    appeal, half_life = policy.appeal([0, 1, 2])
    assert appeal[0] > appeal[1] > appeal[2]
    np.testing.assert_allclose(after.rate, np.log(2.0) / half_life)
    np.testing.assert_allclose(after.value * after.rate / appeal, before.value * before.rate, rtol=1e-9)


def test_an_owners_half_life_stands() -> None:
    policy = started(4)
    policy.configure([0], half_life=2 * HOUR)
    for k in range(1, 40):
        visit(policy, [0, 1, 2, 3], NOW + 12 * HOUR * k)
        found = NOW + 12 * HOUR * k
        policy.feedback(
            [0, 1], Clicked(born=found - HOUR, found=found, at=found + 11 * HOUR, clicks=1.0), now=found + 11.5 * HOUR
        )
    half_life = policy.appeal(np.arange(4))[1]
    assert half_life[0] == pytest.approx(2 * HOUR)
    assert half_life[1] > 1.1 * USUAL


def test_one_story_everybody_opens_weighs_less_than_many_opened_by_a_few() -> None:
    viral, steady = started(12), started(12)
    for k in range(1, 25):
        now = NOW + 6 * HOUR * k
        for policy in (viral, steady):
            visit(policy, list(range(12)), now)
            click(policy, list(range(1, 12)), now, now + HOUR)
        click(viral, [0], now, now + HOUR, clicks=240.0 if k == 20 else 0.0)
        click(steady, [0], now, now + HOUR, clicks=10.0)
    assert viral.appeal([0])[0][0] < 0.7 * steady.appeal([0])[0][0]


def test_what_was_learned_of_readers_is_kept() -> None:
    policy, again = started(6), started(6)
    for k in range(1, 10):
        visit(policy, [0, 1, 2, 3, 4], NOW + 5 * HOUR * k)
        click(policy, [0, 1, 1], NOW + 5 * HOUR * k, NOW + 5 * HOUR * k + HOUR)
    policy.feedback(
        [2], Clicked(born=NOW, found=NOW + 45 * HOUR, at=NOW + 46 * HOUR, clicks=2), now=NOW + 46 * HOUR, mark=77
    )
    ids = np.arange(6)
    assert again.load_shared(policy.shared())
    assert again.load_rows(ids, policy.rows(ids), np.append(np.full(5, NOW + 45 * HOUR), np.nan)).all()
    assert again.mark == 77
    for each in (policy, again):
        visit(each, [0, 3], NOW + 60 * HOUR)
        click(each, [3], NOW + 60 * HOUR, NOW + 61 * HOUR)
    for one, other in zip(policy.appeal(ids), again.appeal(ids), strict=True):
        np.testing.assert_array_equal(one, other)
    other_terms = LearnedWhittle(half_life=2 * USUAL)
    other_terms.start(6, NOW)
    other_terms.load_shared(policy.shared())
    other_terms.load_rows(ids, policy.rows(ids), NOW)
    np.testing.assert_array_equal(other_terms.appeal(ids)[0], 1.0)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"clicks": -1.0}, "clicks"), ({"at": np.nan}, "at"), ({"born": np.inf}, "born"), ({"ids": [9]}, "ids")],
)
def test_wrong_input_is_named(wrong: dict[str, object], named: str) -> None:
    given = {"ids": [0], "born": NOW, "found": NOW, "at": NOW, "clicks": 1.0} | wrong
    with pytest.raises(ParameterError, match=named):
        started(2).feedback(given.pop("ids"), Clicked(**given), now=NOW)  # type: ignore[arg-type]
