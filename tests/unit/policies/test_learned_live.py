"""The learned policy as it lives: what it ranks by, whom it lets in first, and what it remembers."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Visits
from recrawl.errors import ParameterError
from recrawl.learning.beliefs import FEEDS
from recrawl.learning.feed_model import FeedModel
from recrawl.policies.learned_whittle import LearnedWhittle

NOW = 1.75e9
HOUR = 3600.0


def started(targets: int, **options: object) -> LearnedWhittle:
    policy = LearnedWhittle(**options)  # type: ignore[arg-type]
    policy.start(targets, NOW)
    return policy


def listing(policy: LearnedWhittle, ids: list[int], now: float, gap: float, items: int = 20) -> None:
    """Visits that list the latest items, one per gap."""
    policy.observe(Visits(np.array(ids), now, published=[now - gap * np.arange(1, items + 1) for _ in ids]))


def test_what_ranks_is_what_is_told_and_its_due_time_is_where_it_meets_the_price() -> None:
    policy = started(4, half_life=6 * HOUR, max_age=30 * 86400.0)
    policy.configure([0, 1, 2, 3], importance=[1.0, 5.0, 1.0, 0.5], cost=[1.0, 2.0, 1.0, 1.0])
    listing(policy, [0, 1], NOW + 10, gap=HOUR)
    policy.observe(Visits(np.array([2, 3]), NOW + 20, changed=np.array([False, False])))
    policy.observe(Visits(np.array([2, 3]), NOW + 7200, changed=np.array([True, False])))
    for k in range(20):
        policy.release(policy.choose(NOW + 8000 + k, 2.0))
    later = NOW + 9000.0
    index = policy.index([0, 1, 2, 3], later)
    assert index[1] == pytest.approx(2.5 * index[0])
    due = policy.due([0, 1, 2, 3], 0.1)
    met = policy.index([0, 1, 2, 3], due + 1e-3)
    assert ((due == policy.kept.last[:4] + 30 * 86400.0) | (met >= 0.1 * (1 - 1e-6))).all()
    assert (policy.index([0, 1, 2, 3], due - 60.0)[due > later] < 0.1).all()
    assert policy.choose(later, 2.0)[0] == np.argmax(index)


def test_a_page_is_explained_by_the_plan_that_ranks_it() -> None:
    policy, random = started(30, objective="freshness"), np.random.default_rng(0)
    now = NOW
    for _ in range(400):
        now += HOUR
        ids = policy.choose(now, 1.0)
        policy.observe(Visits(ids, now, changed=random.random(len(ids)) < 0.1 + 0.8 * (ids % 2)))
    (reason,) = policy.reasons([0], now)
    assert reason.form == "planned"
    at = policy.kept.last[0] + np.array([HOUR, 2 * HOUR])
    one, two = policy.index([0, 0], at)
    assert two == pytest.approx(2 * one)
    due = policy.due([0])[0]
    assert policy.index([0], due)[0] == pytest.approx(policy.price)
    assert policy.survey(policy.price, now).demand == pytest.approx(1 / HOUR, rel=0.2)


def test_the_first_listing_tells_the_pace_however_fast() -> None:
    policy = started(30, half_life=6.0)
    gaps = np.array([2.0, 0.5, 60.0])
    for k in range(30):
        listing(policy, [k], NOW + 1.0, gap=gaps[k % 3])
    value = policy.beliefs(np.arange(30)).value
    truth = 1.0 / gaps / (np.log(2) / 6.0)
    np.testing.assert_allclose(value.reshape(10, 3), np.tile(truth, (10, 1)), rtol=0.25)


def test_feeds_of_several_items_a_minute_are_learned_within_a_few_visits() -> None:
    random = np.random.default_rng(3)
    rates = np.exp(random.uniform(np.log(0.01), np.log(1.0), 40))
    items = [np.sort(NOW - 300 + random.uniform(0, 420, random.poisson(420 * r))) for r in rates]
    policy = started(40, half_life=6.0)
    seen = np.full(40, -np.inf)
    for second in np.arange(0.25, 60.0, 0.25):
        t = NOW + second
        ids = policy.choose(t, 1.0)
        news = [items[i][(items[i] > seen[i]) & (items[i] <= t)][-20:] for i in ids]
        policy.observe(Visits(ids, t, published=news))
        seen[ids] = t
    learned = policy.beliefs(np.arange(40)).value * np.log(2) / 6.0
    assert np.corrcoef(np.log(learned), np.log(rates))[0, 1] > 0.9
    assert np.abs(np.log(learned / rates)).mean() < 0.4


def test_dated_and_undated_items_may_come_in_one_batch() -> None:
    policy = started(3)
    policy.observe(Visits(np.arange(3), NOW, published=[[NOW - HOUR, NOW - 1], [], []], new=np.array([0, 5, 0])))
    policy.observe(Visits(np.arange(3), NOW + 4 * HOUR, published=[[NOW + 1], [], []], new=np.array([3, 4, 0])))
    value = policy.beliefs([0, 1, 2]).value
    assert np.isfinite(value).all()
    assert (value[:2] > 0).all()


def test_a_source_may_turn_out_to_be_of_another_kind() -> None:
    policy = started(2)
    listing(policy, [0, 1], NOW, gap=HOUR)
    policy.observe(Visits(np.array([0]), NOW + HOUR, changed=np.array([True])))
    policy.observe(Visits(np.array([0]), NOW + 2 * HOUR, changed=np.array([True])))
    assert policy.beliefs([0]).rate[0] > policy.beliefs([1]).rate[0]
    listing(policy, [0], NOW + 3 * HOUR, gap=HOUR)
    assert policy.beliefs([0]).rate[0] == policy.beliefs([1]).rate[0]


def test_the_place_of_a_source_that_became_another_kind_is_taken_without_its_past() -> None:
    policy = started(2, half_life=24 * HOUR)
    busy = NOW + 24 * HOUR * np.arange(1, 50) / 50
    policy.observe(Visits(ids=np.array([0]), now=NOW + 24 * HOUR, published=[busy]))
    policy.observe(Visits(ids=np.array([0]), now=NOW + 48 * HOUR, changed=np.array([True])))
    policy.observe(Visits(ids=np.array([1]), now=NOW + 48 * HOUR, published=[np.array([NOW + 24 * HOUR])]))
    feeds = policy.learned.models[FEEDS]
    assert isinstance(feeds, FeedModel)
    assert feeds.rhythms.own_hours[: len(feeds)].sum() == 1.0


def test_each_source_may_have_its_own_half_life() -> None:
    policy = started(4, half_life=6 * HOUR)
    policy.configure([1, 3], half_life=HOUR)
    listing(policy, [0, 1], NOW, gap=HOUR)
    policy.observe(Visits(np.array([2, 3]), NOW, changed=np.array([False, False])))
    beliefs = policy.beliefs([0, 1, 2, 3])
    np.testing.assert_allclose(beliefs.rate[:2], np.log(2) / np.array([6 * HOUR, HOUR]))
    assert beliefs.value[0] == pytest.approx(6 * beliefs.value[1])
    assert beliefs.value[2] > beliefs.value[3]


@pytest.mark.parametrize("budget", [1.0, 4.0, 0.5])
@pytest.mark.parametrize("cold_start", [0.5, 0.2])
def test_a_newcomer_is_fetched_before_more_than_its_share_of_tokens_was_offered(
    budget: float, cold_start: float
) -> None:
    policy = started(50, cold_start=cold_start)
    for second in range(60):
        ids = policy.choose(NOW + second, 50.0)
        policy.observe(Visits(ids, NOW + second, published=[NOW + second - HOUR * np.arange(20) for _ in ids]))
    policy.configure(np.arange(50), importance=1e6)  # a price at which nobody new would ever be worth it
    fresh = policy.add(12)
    policy.configure(fresh, importance=np.linspace(2.0, 1.0, 12))
    offered, tokens, order = 0.0, 0.0, []
    for second in range(60, 600):
        offered += budget
        tokens = min(tokens + budget, max(budget, 1.0))
        ids = policy.choose(NOW + second, tokens)
        tokens -= len(ids)
        policy.observe(Visits(ids, NOW + second, published=[[] for _ in ids]))
        for i in ids[ids >= 50]:
            order.append(int(i))
            if budget >= 1.0:
                assert offered <= np.ceil(len(order) / cold_start / budget + 1e-9) * budget
    assert order == fresh.tolist()


def test_all_tokens_go_where_they_can_be_used() -> None:
    policy = started(10)
    assert len(policy.choose(NOW, 10.0)) == 10, "nobody but newcomers is there"
    policy.observe(Visits(np.arange(10), NOW, published=[[NOW - HOUR, NOW - 60]] * 10))
    assert len(policy.choose(NOW + HOUR, 10.0)) == 10, "no newcomer is there"


def test_one_per_host_is_chosen_over_newcomers_and_others_together() -> None:
    policy = LearnedWhittle()
    policy.start(20, NOW, groups=np.repeat(np.arange(5), 4))
    policy.observe(Visits(np.arange(0, 20, 2), NOW, published=[[NOW - HOUR, NOW - 60]] * 10))
    for second in range(1, 40):
        ids = policy.choose(NOW + second * 60, 5.0)
        assert len(np.unique(ids // 4)) == len(ids)
        policy.release(ids)
    policy.hold_groups([0, 1], NOW + 1e6)
    assert set((policy.choose(NOW + 4000, 20.0) // 4).tolist()) == {2, 3, 4}


def test_holds_count_for_newcomers_and_others() -> None:
    policy = started(4)
    policy.observe(Visits(np.array([0, 1]), NOW, published=[[NOW - HOUR, NOW - 60]] * 2))
    policy.hold([1, 3], NOW + 500.0)
    assert sorted(policy.choose(NOW + 100, 4.0)) == [0, 2]
    assert sorted(policy.choose(NOW + 500, 4.0)) == [1, 3]


def test_a_failed_first_visit_leaves_a_newcomer() -> None:
    policy = started(2)
    first = policy.choose(NOW, 1.0)
    policy.observe(Visits(first, NOW, published=[[]], failed=np.array([True])))
    assert set(policy.choose(NOW + 1, 2.0).tolist()) == {0, 1}


def test_sources_added_one_by_one_are_all_served() -> None:
    policy = started(0)
    for _ in range(3000):
        policy.add(1)
    seen: set[int] = set()
    for second in range(61):
        ids = policy.choose(NOW + second, 100.0)
        policy.observe(Visits(ids, NOW + second, published=[[NOW - HOUR]] * len(ids)))
        seen |= set(ids.tolist())
    assert len(seen) == 3000


def test_a_crawl_is_worth_more_when_the_busy_hours_are_over() -> None:
    policy = started(1, half_life=6 * HOUR)
    midnight = np.floor(NOW / 86400.0) * 86400.0 + 86400.0
    days = midnight + 86400.0 * np.arange(30)
    mornings = (days[:, None] + 8 * HOUR + 60.0 * np.arange(30)).ravel()
    for day in days[1:]:
        policy.observe(Visits(np.array([0]), day, published=[mornings[(mornings > day - 86400) & (mornings <= day)]]))
    assert policy.index([0], days[-1] + 10 * HOUR)[0] > 20 * policy.index([0], days[-1] + 7 * HOUR)[0]


def test_state_of_another_layout_is_refused_quietly() -> None:
    policy = started(2)
    listing(policy, [0], NOW, gap=HOUR)
    row, shared = policy.rows([0, 1]), policy.shared()
    assert row[1] == b""
    other = started(2)
    assert not other.load_shared(b"nonsense")
    assert not other.load_shared(b"")
    assert not started(2, objective="discovery").load_shared(shared)
    assert started(2, half_life=1.0).load_shared(shared)
    assert other.load_rows([0, 1], [b"\xff" + row[0][1:], row[0][:-1]], [NOW, NOW]).tolist() == [False, False]
    assert np.isfinite(other.beliefs([0, 1]).value).all()
    assert other.load_shared(shared)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda p: p.configure([0], importance=-1.0), "importance"),
        (lambda p: p.configure([0], half_life=0.0), "half_life"),
        (lambda p: p.configure([0], max_age=-5.0), "max_age"),
        (lambda p: p.configure([0], cost=0.0), "cost"),
        (lambda p: p.configure([7], cost=1.0), "ids"),
        (lambda p: p.hold([0, 1], [1.0, 2.0, 3.0]), "until"),
        (lambda p: LearnedWhittle(cold_start=0.0), "cold_start"),
        (lambda p: LearnedWhittle(act="boldly"), "act"),
    ],
)
def test_wrong_input_is_named(call: object, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        call(started(2))  # type: ignore[operator]


def crowded(siblings: int, before: int = 1, after: int = 5) -> LearnedWhittle:
    """Sources of hosts of their own, with a family of thousands that came in between."""
    policy = started(before)
    policy.choose(NOW, 0.0)
    ids = policy.add(siblings)
    policy.configure(ids, kin=7)
    policy.choose(NOW, 0.0)
    policy.add(after)
    return policy


def test_a_family_of_thousands_takes_turns_with_those_who_come_later() -> None:
    policy = crowded(siblings=20_000)
    chosen = [int(policy.choose(NOW + k, 1.0)[0]) for k in range(10)]
    assert chosen == [0, 1, *range(20_001, 20_006), 2, 3, 4]


def test_families_take_turns_with_each_other() -> None:
    policy = started(0)
    for family in range(3):
        policy.configure(policy.add(1000), kin=family)
    chosen = [int(policy.choose(NOW + k, 1.0)[0]) for k in range(9)]
    assert chosen == [0, 1000, 2000, 1, 1001, 2001, 2, 1002, 2002]


def test_a_family_counts_as_one_newcomer_in_the_share_of_those_never_crawled() -> None:
    policy = started(100)
    listing(policy, [*range(100)], NOW + 1.0, gap=HOUR)
    policy.configure(policy.add(20_000), kin=0)
    later, spent = NOW + 10 * 86400.0, 0
    for k in range(50):
        spent += int((policy.choose(later + k, 2.0) >= 100).sum())
    assert spent == 50
    survey = policy.survey(float("nan"), later)
    assert survey.newcomers - survey.siblings == 1


def test_a_family_that_was_looked_at_in_part_goes_on_where_it_was() -> None:
    """After a restart, those looked at before count for nothing: nobody waits for their turns."""
    policy = started(3000)
    policy.configure(np.arange(1000), kin=0)
    policy.configure(np.arange(1000, 3000), kin=1)
    past = np.full(3000, -np.inf)
    past[:900] = NOW - 5.0
    policy.load_rows(np.arange(3000), [b""] * 3000, past)
    chosen = [int(policy.choose(NOW + k, 1.0)[0]) for k in range(4)]
    newcomers = [each for each in chosen if each >= 900]
    assert newcomers == sorted(newcomers, key=lambda each: (each - (900 if each < 1000 else 1000), each))


def test_members_of_a_family_may_leave_in_any_way() -> None:
    policy = crowded(siblings=50)
    policy.remove(np.arange(1, 20))
    listing(policy, [*range(20, 50)], NOW + 1.0, gap=HOUR)
    assert policy.newcomers.shares == 1 + 1 + 5
    policy.remove([50])
    assert policy.newcomers.shares == 1 + 5


def test_a_visit_that_says_nothing_leaves_a_feed_as_it_was_believed() -> None:
    policy = started(3)
    listing(policy, [0, 1, 2], NOW, gap=HOUR)
    before = policy.beliefs([0, 1, 2]).value
    policy.observe(Visits(np.array([1]), NOW + HOUR))
    np.testing.assert_array_equal(policy.beliefs([0, 1, 2]).value, before)
    assert policy.index([1], NOW + HOUR)[0] == 0.0


def test_a_source_crawled_by_others_has_gathered_nothing_since_before_its_last_crawl() -> None:
    policy = started(2, half_life=6 * HOUR)
    policy.load_rows([0, 1], [b"", b"nonsense"], [NOW - 60.0, NOW - HOUR])
    (fresh, old) = (reason.numbers["items_waiting"] for reason in policy.reasons([0, 1], NOW))
    assert fresh < old < 1.0
