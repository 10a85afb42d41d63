"""The battery every policy passes that can run live: a life of sources that come, change and go, and restarts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl import Visits, policies
from recrawl.errors import ParameterError
from recrawl.policies import LivePolicy
from recrawl.policies.contract import Readers

NOW, HOUR, DAY = 1.8e9, 3600.0, 86400.0
FIRST, MORE = 6, 4
HOSTS = np.array([0, 1, 1, 2, 3, 4, 4, 5, 6, 7])
LABELS = [f"https://h{host}.example/{n}" for n, host in enumerate(HOSTS.tolist())]
SOURCES = FIRST + MORE
EVERYBODY = np.arange(SOURCES)


@pytest.fixture(params=[*policies.LIVE, "miniflux:filled", "azar:filled", "nutch_adaptive:filled"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def born(name: str) -> LivePolicy:
    """Started with nothing; sources were added in two goes."""
    policy = policies.live(name)
    policy.start(0, NOW, groups=np.empty(0, np.int64), labels=[])
    assert policy.choose(NOW, 3.0).tolist() == []
    first = policy.add(FIRST, groups=HOSTS[:FIRST], labels=LABELS[:FIRST])
    more = policy.add(MORE, groups=HOSTS[FIRST:], labels=LABELS[FIRST:])
    assert [*first.tolist(), *more.tolist()] == EVERYBODY.tolist()
    terms(policy)
    return policy


def terms(policy: LivePolicy) -> None:
    policy.configure(
        EVERYBODY,
        importance=np.linspace(0.5, 2.0, SOURCES),
        half_life=np.where(EVERYBODY % 2, np.nan, 6 * HOUR),
        max_age=np.full(SOURCES, 30 * DAY),
        cost=np.ones(SOURCES),
        kin=np.full(SOURCES, -1),
    )


class Program:
    """What the live program knows beside its policy, and tells it: the last crawl and the holds of each source."""

    def __init__(self) -> None:
        self.last, self.held = np.full(SOURCES, np.nan), np.full(SOURCES, -np.inf)

    def crawl(self, policy: LivePolicy, ids: np.ndarray, now: float) -> None:
        """Feeds and pages, some of which fail."""
        broken = ids[(ids % 4 == 3) & ((ids + int(now // HOUR)) % 3 == 0)]
        fine = ids[~np.isin(ids, broken)]
        feeds, pages = fine[fine % 4 < 2], fine[fine % 4 >= 2]
        listed = [now - np.arange(1, 1 + int(i) % 3) * (i + 1) * 600.0 for i in feeds.tolist()]
        for visits in (
            Visits(feeds, now, published=listed, new=feeds % 2),
            Visits(pages, now, changed=(pages + int(now // HOUR)) % 5 == 0),
            Visits(broken, now, failed=np.ones(len(broken), dtype=bool)),
        ):
            if len(visits):
                policy.observe(visits)
        self.last[fine] = now
        self.held[ids] = np.where(np.isin(ids, broken), now + 2 * HOUR, now + 60.0)
        if len(ids):
            policy.hold(ids, self.held[ids])


def lived(policy: LivePolicy, begin: float, hours: int, program: Program | None = None) -> list[list[int]]:
    story, program = [], program or Program()
    for hour in range(1, hours + 1):
        now = begin + hour * HOUR
        ids = policy.choose(now, 2.0)
        policy.hold_groups(HOSTS[ids], np.full(len(ids), now + 1.0))
        story.append(ids.tolist())
        program.crawl(policy, ids, now)
    return story


def test_is_a_live_policy(name: str) -> None:
    assert isinstance(born(name), LivePolicy)


def test_sources_added_to_nothing_are_crawled(name: str) -> None:
    policy = born(name)
    seen = {i for ids in lived(policy, NOW, 72) for i in ids}
    assert seen == set(EVERYBODY.tolist())


def test_a_restart_changes_nothing(name: str) -> None:
    policy, twin, program = born(name), policies.live(name), Program()
    lived(policy, NOW, 73, program)
    assert np.isfinite(program.last).all()
    begin, rows, shared = NOW + 73 * HOUR, policy.rows(EVERYBODY), policy.shared()
    twin.start(SOURCES, begin, groups=HOSTS, labels=LABELS)
    assert twin.load_shared(shared)
    terms(twin)
    assert twin.load_rows(EVERYBODY, rows, program.last).all()
    twin.hold(EVERYBODY, program.held)
    twin.hold_groups(np.unique(HOSTS), np.full(len(np.unique(HOSTS)), begin))
    near = {"rtol": 0.0, "atol": 600.0 if name == "learned_whittle" else 0.0}  # it writes values anew by the hour
    np.testing.assert_allclose(policy.due(EVERYBODY), twin.due(EVERYBODY), **near)
    np.testing.assert_allclose(policy.index(EVERYBODY, begin + HOUR), twin.index(EVERYBODY, begin + HOUR), **near)
    ahead = lived(policy, begin, 20)
    assert ahead == lived(twin, begin, 20)
    assert any(ahead) or name == "nutch_adaptive"  # which waits thirty days at first


def test_rows_of_nobody_are_not_used(name: str) -> None:
    policy = born(name)
    before = policy.rows([0])
    used = policy.load_rows([0, 1], [b"\x93nonsense", b""], [NOW - HOUR, NOW - HOUR])
    assert used[1]
    assert not used[0] or before == [b""]
    assert not policy.load_shared(b"\x93nonsense")
    assert {i for ids in lived(policy, NOW, 48) for i in ids} >= set(range(2, SOURCES))


def test_whoever_is_past_its_maximum_age_goes_first(name: str) -> None:
    policy = born(name)
    lived(policy, NOW, 30)
    now = NOW + 31 * HOUR
    policy.configure([5, 8], max_age=[0.001, np.nan])
    assert policy.choose(now, 1.0).tolist() == [5]


def test_costs_are_paid(name: str) -> None:
    policy, program = born(name), Program()
    cost = np.where(EVERYBODY % 2, 3.0, 1.0)
    policy.configure(EVERYBODY, cost=cost)
    for hour in range(1, 40):
        ids = policy.choose(NOW + hour * HOUR, 4.0)
        assert cost[ids].sum() <= 4.0
        program.crawl(policy, ids, NOW + hour * HOUR)


def test_holds_have_a_time_each(name: str) -> None:
    policy, program = born(name), Program()
    until = NOW + HOUR * np.arange(SOURCES)
    policy.hold(EVERYBODY, until)
    policy.hold_groups([7, 6], [NOW + 100 * HOUR, NOW])
    for hour in range(1, 30):
        now = NOW + hour * HOUR
        ids = policy.choose(now, 10.0)
        assert (until[ids] <= now).all()
        assert 7 not in HOSTS[ids]
        program.crawl(policy, ids, now)
    with pytest.raises(ParameterError, match="until"):
        policy.hold([0, 1], [1.0, 2.0, 3.0])


def test_says_what_it_can_and_nan_for_the_rest(name: str) -> None:
    policy = born(name)
    assert math.isnan(policy.price) or policy.price >= 0.0
    lived(policy, NOW, 30)
    now = NOW + 31 * HOUR
    for column in (policy.index(EVERYBODY, now), policy.due(EVERYBODY), policy.due(EVERYBODY, 0.5)):
        assert column.shape == (SOURCES,)
        assert column.dtype == np.float64
    reasons = policy.reasons([3, 4], now)
    assert len(reasons) == 2
    assert all(reason.form for reason in reasons)
    survey = policy.survey(math.nan, now)
    assert survey.sources + survey.newcomers == SOURCES
    policy.hold([3], math.inf)
    policy.remove([4])
    survey = policy.survey(math.nan, now)
    assert survey.sources + survey.newcomers == SOURCES - 2


def test_looking_changes_nothing(name: str) -> None:
    looked, left = born(name), born(name)
    for hour in range(1, 40):
        now = NOW + hour * HOUR
        looked.index(EVERYBODY, now + 5 * DAY), looked.due(EVERYBODY), looked.due(EVERYBODY, 0.5)
        looked.reasons(EVERYBODY, now), looked.survey(math.nan, now), looked.rows(EVERYBODY), looked.shared()
        chosen = looked.choose(now, 2.0)
        np.testing.assert_array_equal(chosen, left.choose(now, 2.0))
        for each in (looked, left):
            Program().crawl(each, chosen, now)


def test_only_some_hear_readers(name: str) -> None:
    assert isinstance(born(name), Readers) == name.startswith("learned")


@pytest.mark.parametrize("other", ["whittle", "relaxed", "static", "fg_dqn", "lspe", "periodic", "single", "minifux"])
def test_those_that_cannot_run_live_are_refused_with_a_list(other: str) -> None:
    with pytest.raises(ParameterError, match=r"one that can run live \(learned_whittle, round_robin, .*miniflux"):
        policies.live(other)


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="did you mean 'miniflux'"):
        policies.live("mini-flux")
    with pytest.raises(ParameterError, match="one of factor, filled, scale, got 'filed'; did you mean 'filled'"):
        policies.live("miniflux:filed")


def test_a_fleet_shares_its_budget_by_sources_where_nobody_knows_a_price() -> None:
    from recrawl.cluster.budget_shares import Bids, Market

    surveys = []
    for count in (10, 30):
        policy = policies.live("miniflux")
        policy.start(count, NOW)
        policy.observe(Visits(np.arange(count), NOW, published=[np.array([])] * count))
        surveys.append(policy.survey(math.nan, NOW))
    none, unknown = np.zeros(2), np.full(2, np.nan)
    sources = np.array([float(each.sources) for each in surveys])
    assert sources.tolist() == [10.0, 30.0]
    bids = Bids(none, none, unknown, unknown, none, sources, np.ones(2), np.full(2, np.inf))
    shares = Market().trade(bids, 8.0, 0.5)
    assert shares.sum() == pytest.approx(8.0)
    assert shares[1] / shares[0] == pytest.approx(3.0, rel=0.05)
