"""Each rule of today's schedulers, its numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Visits, policies
from recrawl.errors import ParameterError
from recrawl.policies.peers.commafeed import Commafeed
from recrawl.policies.peers.miniflux import Miniflux, weekly_entries
from recrawl.policies.peers.news_crawl import NewsCrawl
from recrawl.policies.peers.nutch_adaptive import NutchAdaptive
from recrawl.policies.peers.planned import PlannedTimerPolicy
from recrawl.policies.peers.stormcrawler_adaptive import StormcrawlerAdaptive
from recrawl.policies.peers.timers import TimerPolicy

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
START = 1_700_000_000.0
TIMERS = ("nutch_adaptive", "stormcrawler_adaptive", "news_crawl", "miniflux", "commafeed", "lambda_crawl", "azar")


def started(policy: TimerPolicy, targets: int = 1) -> TimerPolicy:
    policy.start(targets, START)
    return policy


def page_visit(policy: TimerPolicy, after: float, changed: bool, target: int = 0) -> None:
    policy.observe(Visits(np.array([target]), START + after, changed=np.array([changed])))


def feed_visit(policy: TimerPolicy, after: float, published: list[float], target: int = 0) -> None:
    times = [np.array([START + each for each in published])]
    policy.observe(Visits(np.array([target]), START + after, published=times))


def failure(policy: TimerPolicy, after: float) -> None:
    policy.observe(Visits(np.array([0]), START + after, failed=np.array([True])))


def waits(policy: TimerPolicy, after: float) -> float:
    """Time from `after` to the target's date."""
    return float(policy.date[0] - START - after)


# What they share


@pytest.mark.parametrize("name", TIMERS)
def test_everything_is_due_at_the_start_and_nothing_right_after_a_visit(name: str) -> None:
    policy = policies.make(name)
    policy.start(3, START)
    assert policy.choose(START, 3.0).tolist() == [0, 1, 2]
    nothing_new = [np.empty(0)] * 3
    policy.observe(Visits(np.arange(3), START, changed=np.zeros(3, dtype=bool), published=nothing_new))
    assert len(policy.choose(START + 1.0, 3.0)) == 0


@pytest.mark.parametrize("name", TIMERS)
def test_a_list_waits_its_interval_after_a_visit_and_moves_nobody_s(name: str) -> None:
    policy = policies.make(name)
    assert isinstance(policy, TimerPolicy)
    started(policy, 3)
    before = policy.interval.copy()
    policy.observe(Visits([2], START, sitemap=[(np.array([0, 1]), np.full(2, START - 5.0))]))  # type: ignore[arg-type]
    np.testing.assert_array_equal(policy.interval, before)
    assert policy.date.tolist() == [START, START, START + before[2]]
    assert policy.choose(START + 1.0, 3.0).tolist() == [0, 1]


@pytest.mark.parametrize("name", TIMERS)
def test_filled_uses_the_whole_budget(name: str) -> None:
    policy = policies.make(name, filled=True)
    policy.start(3, START)
    for second in range(20):
        ids = policy.choose(START + second, 2.0)
        assert len(ids) == 2
        policy.observe(Visits(ids, START + second, changed=np.zeros(2, dtype=bool), published=[np.empty(0)] * 2))


def test_the_most_overdue_goes_first() -> None:
    policy = started(StormcrawlerAdaptive(), targets=2)
    page_visit(policy, 0.0, changed=False, target=1)
    page_visit(policy, HOUR, changed=False, target=0)
    assert policy.choose(START + 2 * DAY, 1.0).tolist() == [1]


def test_filled_the_largest_age_in_intervals_goes_first() -> None:
    policy = started(StormcrawlerAdaptive(filled=True), targets=2)
    page_visit(policy, 0.0, changed=False, target=0)
    page_visit(policy, 0.0, changed=False, target=1)
    page_visit(policy, HOUR, changed=True, target=1)
    # One has half a day and a bit for an interval, the other a day; eleven hours are more of the shorter one.
    assert policy.choose(START + 12 * HOUR, 2.0).tolist() == [1, 0]


def test_scale_stretches_every_interval() -> None:
    policy = started(StormcrawlerAdaptive(scale=0.25))
    page_visit(policy, 0.0, changed=False)
    assert waits(policy, 0.0) == 6 * HOUR


def test_a_scale_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ParameterError, match="scale"):
        StormcrawlerAdaptive(scale=0.0)


def test_a_failure_among_successes_touches_only_its_own_target() -> None:
    policy = started(StormcrawlerAdaptive(), targets=2)
    policy.observe(Visits(np.arange(2), START, changed=[False, False], failed=[True, False]))
    assert (policy.date - START).tolist() == [2 * HOUR, DAY]
    assert policy.errors.tolist() == [1, 0]


# Nutch


def test_nutch_keeps_thirty_days_after_the_first_copy() -> None:
    policy = started(NutchAdaptive())
    page_visit(policy, 0.0, changed=False)
    assert policy.interval[0] == 30 * DAY
    assert waits(policy, 0.0) == 30 * DAY


def test_nutch_shortens_by_a_fifth_when_changed() -> None:
    policy = started(NutchAdaptive())
    page_visit(policy, 0.0, changed=False)
    page_visit(policy, 30 * DAY, changed=True)
    assert waits(policy, 30 * DAY) == pytest.approx(24 * DAY)
    assert policy.interval[0] == pytest.approx(24 * DAY)


def test_nutch_lengthens_by_two_fifths_when_unchanged_and_moves_towards_the_last_change() -> None:
    policy = started(NutchAdaptive())
    page_visit(policy, 0.0, changed=False)
    page_visit(policy, 30 * DAY, changed=False)
    # I = 42 d, δ = 30 d: next = t − 9 d + 42 d.
    assert policy.interval[0] == pytest.approx(42 * DAY)
    assert waits(policy, 30 * DAY) == pytest.approx(33 * DAY)


def test_nutch_takes_the_time_since_the_last_change_where_it_is_longer() -> None:
    policy = started(NutchAdaptive())
    page_visit(policy, 0.0, changed=False)
    page_visit(policy, 100 * DAY, changed=False)
    # δ = 100 d exceeds 42 d, so I = 100 d and next = t − 30 d + 100 d.
    assert policy.interval[0] == pytest.approx(100 * DAY)
    assert waits(policy, 100 * DAY) == pytest.approx(70 * DAY)


def test_nutch_stays_within_a_minute_and_a_year() -> None:
    policy = started(NutchAdaptive())
    for visit in range(80):
        page_visit(policy, visit, changed=True)
    assert policy.interval[0] == MINUTE
    page_visit(policy, 500 * DAY, changed=False)
    assert policy.interval[0] == 365 * DAY


def test_nutch_tries_a_day_later_three_times_and_then_ever_more_seldom() -> None:
    policy = started(NutchAdaptive())
    for error in range(3):
        failure(policy, error * DAY)
        assert waits(policy, error * DAY) == DAY
    for waited in (45 * DAY, 67.5 * DAY, 90 * DAY, 90 * DAY):
        failure(policy, 0.0)
        assert waits(policy, 0.0) == pytest.approx(waited)


# StormCrawler and news-crawl


def test_stormcrawler_goes_half_way_to_an_hour_when_changed_and_grows_by_half_when_not() -> None:
    policy = started(StormcrawlerAdaptive())
    page_visit(policy, 0.0, changed=False)
    assert policy.interval[0] == DAY
    page_visit(policy, DAY, changed=True)
    assert policy.interval[0] == 12.5 * HOUR
    page_visit(policy, 2 * DAY, changed=False)
    assert policy.interval[0] == 18.75 * HOUR


def test_stormcrawler_stays_within_an_hour_and_a_fortnight() -> None:
    policy = started(StormcrawlerAdaptive())
    for visit in range(60):
        page_visit(policy, visit, changed=True)
    assert policy.interval[0] == pytest.approx(HOUR)
    for visit in range(60, 90):
        page_visit(policy, visit, changed=False)
    assert policy.interval[0] == 20160 * MINUTE


def test_stormcrawler_gives_up_after_three_errors() -> None:
    policy = started(StormcrawlerAdaptive())
    for _ in range(2):
        failure(policy, 0.0)
        assert waits(policy, 0.0) == 2 * HOUR
    failure(policy, 0.0)
    assert waits(policy, 0.0) == np.inf


def test_a_first_backlog_counts_as_a_change_a_first_copy_does_not() -> None:
    policy = started(StormcrawlerAdaptive())
    feed_visit(policy, HOUR, [0.0])
    assert policy.interval[0] == 12.5 * HOUR
    policy = started(StormcrawlerAdaptive())
    feed_visit(policy, HOUR, [])
    assert policy.interval[0] == 36 * HOUR


def test_news_crawl_starts_at_half_a_day_and_goes_a_fifth_of_the_way() -> None:
    policy = started(NewsCrawl())
    page_visit(policy, 0.0, changed=False)
    assert policy.interval[0] == 720 * MINUTE
    page_visit(policy, DAY, changed=True)
    assert policy.interval[0] == pytest.approx((0.8 * 720 + 0.2 * 90) * MINUTE)
    page_visit(policy, 2 * DAY, changed=False)
    assert policy.interval[0] == pytest.approx(1.5 * 594 * MINUTE)


def test_news_crawl_waits_up_to_ninety_days() -> None:
    policy = started(NewsCrawl())
    for visit in range(40):
        page_visit(policy, visit, changed=False)
    assert policy.interval[0] == 90 * DAY


# Miniflux


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([], 0),
        ([0.0], 0),
        ([5.0, 5.0], 0),
        ([0.0, DAY], 7),
        ([0.0, DAY, 3 * DAY], 5),  # mean gap 1.5 d: ⌈4.67⌉
        ([0.0, 7 * DAY], 1),
    ],
)
def test_miniflux_expects_a_week_over_the_mean_gap(entries: list[float], expected: int) -> None:
    assert weekly_entries(np.array(entries)) == expected


def test_miniflux_polls_once_per_expected_entry() -> None:
    policy = started(Miniflux())
    feed_visit(policy, 3 * DAY, [0.0, DAY, 2 * DAY])
    assert policy.interval[0] == DAY
    feed_visit(policy, 3 * DAY + 1, [2 * DAY + 6 * HOUR, 2 * DAY + 12 * HOUR])
    # Five entries over 2.5 d: mean gap 15 h, w = ⌈11.2⌉ = 12, a week over that.
    assert policy.interval[0] == 14 * HOUR


def test_miniflux_forgets_entries_after_a_week() -> None:
    policy = started(Miniflux())
    feed_visit(policy, DAY, [0.0, HOUR, 2 * HOUR])
    assert policy.interval[0] == HOUR
    feed_visit(policy, 7 * DAY + 1.5 * HOUR, [])
    assert policy.interval[0] == DAY


def test_miniflux_stays_within_five_minutes_and_a_day() -> None:
    policy = started(Miniflux())
    feed_visit(policy, HOUR, [float(second) for second in range(100)])
    assert policy.interval[0] == 5 * MINUTE
    policy = started(Miniflux(factor=0.1))
    feed_visit(policy, 5 * DAY, [0.0, DAY])
    assert policy.interval[0] == DAY


def test_miniflux_polls_factor_times_per_entry() -> None:
    policy = started(Miniflux(factor=4.0))
    feed_visit(policy, 2 * DAY, [0.0, DAY])
    assert policy.interval[0] == 6 * HOUR


# CommaFeed


@pytest.mark.parametrize(
    ("silent", "hours"),
    [(31 * DAY, 4.0), (30 * DAY, 4.0), (29 * DAY, 2.0), (14 * DAY, 2.0), (13 * DAY, 1.0), (7 * DAY, 1.0)],
)
def test_commafeed_polls_silent_feeds_seldom(silent: float, hours: float) -> None:
    policy = started(Commafeed())
    feed_visit(policy, silent, [-MINUTE, 0.0])
    assert policy.interval[0] == hours * HOUR


def test_commafeed_polls_unknown_feeds_every_four_hours() -> None:
    policy = started(Commafeed())
    feed_visit(policy, 0.0, [])
    assert policy.interval[0] == 4 * HOUR


@pytest.mark.parametrize(("gap", "interval"), [(40 * MINUTE, 20 * MINUTE), (MINUTE, 5 * MINUTE), (5 * HOUR, HOUR)])
def test_commafeed_polls_active_feeds_twice_per_gap(gap: float, interval: float) -> None:
    policy = started(Commafeed())
    feed_visit(policy, DAY, [0.0, gap, 2 * gap])
    assert policy.interval[0] == interval


def test_commafeed_waits_longer_with_each_error() -> None:
    policy = started(Commafeed())
    waited = []
    for _ in range(8):
        failure(policy, 0.0)
        waited.append(waits(policy, 0.0))
    assert waited == [5 * MINUTE, 5 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 4 * HOUR, 4 * HOUR]


# LambdaCrawl and Azar


def planned_after(name: str, days: int, budget: float = 4.0) -> PlannedTimerPolicy:
    """A plan for two steady pages and two that change daily, polled every six hours."""
    policy = policies.make(name, filled=True)
    assert isinstance(policy, PlannedTimerPolicy)
    policy.start(4, START)
    for tick in range(1, 4 * days + 1):
        now = START + tick * DAY / 4
        ids = policy.choose(now, budget)
        policy.observe(Visits(ids, now, changed=(ids >= 2) & (tick % 4 == 0)))
    return policy


@pytest.mark.parametrize("name", ["lambda_crawl", "azar"])
def test_the_plan_spends_the_measured_budget(name: str) -> None:
    policy = planned_after(name, days=20)
    assert (1.0 / policy.interval).sum() == pytest.approx(16.0 / DAY)


@pytest.mark.parametrize("name", ["lambda_crawl", "azar"])
def test_pages_that_change_are_crawled_more(name: str) -> None:
    policy = planned_after(name, days=20)
    assert policy.interval[2:].max() < policy.interval[:2].min()


def test_estimates_are_the_smoothed_likelihood_s_maximum() -> None:
    policy = planned_after("lambda_crawl", days=20)
    # Page 0 never changed in k gaps of 6 h; with a pseudo-visit of each kind 1/(e^{Δτ} − 1) = k + 1. The last gap came
    # in after the last plan.
    gaps = len(policy.gaps[0]) - 1
    assert policy.beliefs([0]).rate[0] == pytest.approx(np.log1p(1 / (gaps + 1)) / (6 * HOUR))


def test_unspent_tokens_offered_again_do_not_count_twice() -> None:
    policy = policies.make("lambda_crawl")
    assert isinstance(policy, PlannedTimerPolicy)
    policy.start(1, START)
    for hour in range(1, 100):
        now = START + hour * HOUR
        ids = policy.choose(now, 1.0)
        if len(ids):
            policy.observe(Visits(ids, now, changed=[False]))
    assert policy.offered / policy.offered_over == pytest.approx(1 / HOUR)
