"""Replay on small made traces: what a crawl shows, what it costs, what it is worth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import policies
from recrawl.cli import run
from recrawl.errors import ContractError, ParameterError
from recrawl.policies.round_robin import RoundRobin
from recrawl.records import IntArray, Visits
from recrawl.scheduling.token_bucket import TimedBucket
from recrawl.sim.comparison import Contender, default_entries, jobs_for, run_jobs
from recrawl.sim.equal_result import equal_results
from recrawl.sim.replay import ReplayedCrawls, TraceWorld, replay
from recrawl.sim.scenarios import Scenario, read_scenarios, scenario_of, select
from recrawl.sim.scoring import changes_found, difference, score
from recrawl.sim.trace_lists import TraceList, lists_of
from recrawl.sim.traces import Folder, Trace

START = 1_700_006_400
DAY = 86400


def scenario(**given: object) -> Scenario:
    """Ten ticks of 100 s, the last five scored."""
    plain = {
        "name": "made", "kind": "freshness", "corpora": ("a",), "starts_at": START, "scored_from": START + 500,
        "ends_at": START + 1000, "tick_s": 100, "budgets_fetches_per_day": (864.0,), "half_life_h": 0.1,
    }  # fmt: skip
    return Scenario(**(plain | given))  # type: ignore[arg-type]


def trace(*events: Sequence[int]) -> Trace:
    """A trace from each target's event times after the start."""
    owners = np.repeat(np.arange(len(events)), [len(each) for each in events])
    times = [START + moment for each in events for moment in each]
    return Trace.of(np.arange(len(events)) * 7, [f"page/{i}" for i in range(len(events))], owners, times)


def log(*crawls: tuple[int, int]) -> ReplayedCrawls:
    """(target, time after the start) pairs."""
    pairs = np.array(crawls, dtype=np.int64).reshape(-1, 2)
    return ReplayedCrawls(pairs[:, 0], pairs[:, 1] + START)


# What a crawl shows


def changed(world: TraceWorld, target: int, after: int) -> bool:
    (visits,) = world.crawl(np.array([target]), float(START + after))
    assert visits.changed is not None
    assert visits.published is None
    return bool(visits.changed[0])


def test_the_first_copy_of_a_page_shows_no_change() -> None:
    world = TraceWorld(trace([50]), items=False)
    assert not changed(world, 0, 100)


def test_a_page_shows_once_that_it_changed_however_often() -> None:
    world = TraceWorld(trace([150, 160, 170]), items=False)
    assert not changed(world, 0, 100)
    assert changed(world, 0, 200)
    assert not changed(world, 0, 300)


def test_an_event_is_seen_by_a_crawl_at_its_very_moment() -> None:
    world = TraceWorld(trace([200]), items=False)
    changed(world, 0, 100)
    assert changed(world, 0, 200)


def test_a_source_shows_what_it_published_since_the_last_crawl() -> None:
    world = TraceWorld(trace([10, 100, 101], [5]), items=True)
    (first,) = world.crawl(np.array([0, 1]), float(START + 100))
    assert first.changed is None
    assert first.published is not None
    assert [np.asarray(times).tolist() for times in first.published] == [[START + 10, START + 100], [START + 5]]
    (second,) = world.crawl(np.array([0]), float(START + 200))
    assert second.published is not None
    assert np.asarray(second.published[0]).tolist() == [START + 101]


def lists(*entries: tuple[int, int, int, float]) -> tuple[TraceList, ...]:
    """(list, place of the page, listed at, lastmod) rows, times after the start."""
    rows = np.array(entries, dtype=np.float64).reshape(-1, 4)
    numbers, owners = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
    return lists_of(numbers, {3: "three"}, owners, START + rows[:, 2].astype(np.int64), START + rows[:, 3])


def listed(world: TraceWorld, target: int, after: int) -> list[tuple[int, float]]:
    (visits,) = world.crawl(np.array([target]), float(START + after))
    assert visits.changed is None
    assert visits.sitemap is not None
    assert visits.sitemap[0] is not None
    pages, lastmod = visits.sitemap[0]
    return list(zip(pages.tolist(), (lastmod - START).tolist(), strict=True))


def test_a_list_shows_what_it_states_at_that_time() -> None:
    said = lists((3, 2, -50, -90), (3, 0, 100, 80), (3, 0, 300, 210), (3, 2, 200, 150))
    world = TraceWorld(replace(trace([80], [], [150]), lists=said), items=False)
    assert len(world) == 4
    assert listed(world, 3, 50) == [(2, -90.0)]
    assert listed(world, 3, 100) == [(0, 80.0), (2, -90.0)]
    assert listed(world, 3, 299) == [(0, 80.0), (2, 150.0)]
    assert listed(world, 3, 300) == [(0, 210.0), (2, 150.0)]


def test_a_list_that_names_nobody_yet_shows_nothing_and_one_may_not_say_when() -> None:
    world = TraceWorld(replace(trace([]), lists=lists((0, 0, 200, float("nan")))), items=False)
    assert listed(world, 1, 100) == []
    ((page, lastmod),) = listed(world, 1, 200)
    assert page == 0
    assert np.isnan(lastmod)


def test_pages_are_observed_before_the_lists_crawled_with_them() -> None:
    world = TraceWorld(replace(trace([50], []), lists=lists((0, 0, 0, 0), (3, 1, 0, 0))), items=False)
    first, second = world.crawl(np.array([3, 1, 2, 0]), float(START + 100))
    assert (first.ids.tolist(), second.ids.tolist()) == ([1, 0], [3, 2])
    assert first.sitemap is None
    assert second.of_lists.all()


# What it costs


class Greedy(RoundRobin):
    """Takes as much as it is offered, and notes it."""

    def choose(self, now: float, budget: float, states: object = None) -> IntArray:
        self.offers = [*getattr(self, "offers", []), (now, budget)]
        return super().choose(now, budget)


@given(st.integers(1, 5000), st.integers(1, 500))
def test_tokens_are_those_of_the_exact_bucket(budget: int, tick: int) -> None:
    some = scenario(tick_s=tick, ends_at=START + 40 * tick, scored_from=START)
    policy = Greedy()
    found = replay(some, trace(*[[]] * 30), policy, budget)
    income = Fraction(budget * tick, DAY)
    bucket, offers, crawls = TimedBucket(income, max(income, Fraction(1)), now=0.0), [], 0
    for k in range(1, 41):
        bucket.fill(float(k))
        tokens = bucket.affordable()
        if tokens:
            offers.append((START + k * tick, tokens))
            crawls += min(tokens, 30)
            bucket.spend(min(tokens, 30))
    assert getattr(policy, "offers", []) == offers
    assert len(found) == crawls


def test_three_thirds_of_a_token_are_one() -> None:
    found = replay(scenario(), trace([], []), RoundRobin(), 288.0)
    assert (found.times - START).tolist() == [300, 600, 900]


def test_unspent_tokens_are_saved_for_one_tick_only() -> None:
    class Late(RoundRobin):
        def choose(self, now: float, budget: float, states: object = None) -> IntArray:
            return super().choose(now, budget) if now > START + 500 else np.empty(0, np.int64)

    found = replay(scenario(), trace([], [], []), Late(), 864.0)
    assert (found.times - START).tolist() == [600, 700, 800, 900, 1000]


@pytest.mark.parametrize("ids", [[0, 0], [0, 1, 2], [5]])
def test_a_policy_that_breaks_the_rules_is_stopped(ids: list[int]) -> None:
    class Cheat(RoundRobin):
        def choose(self, now: float, budget: float, states: object = None) -> IntArray:
            return np.array(ids)

    with pytest.raises(ContractError):
        replay(scenario(), trace([], [], []), Cheat(), 1728.0)


# No policy can see the future


def long_scenario(kind: str) -> Scenario:
    return scenario(kind=kind, tick_s=3600, ends_at=START + 240 * 3600, scored_from=START)


@pytest.mark.parametrize(
    ("entry", "some"),
    [
        pytest.param(entry, long_scenario(kind), id=f"{entry.label}-{kind}")
        for kind in ("freshness", "ephemeral")
        for entry in [*default_entries(), Contender.parse("thompson:grouped"), Contender.parse("static:grouped")]
        if entry.applies_to(long_scenario(kind))
    ],
)
def test_events_after_now_do_not_change_a_choice(entry: Contender, some: Scenario) -> None:
    random, middle = np.random.default_rng(3), 120 * 3600
    before = [np.sort(random.integers(0, middle, count)) for count in (0, 3, 30, 90, 5, 8)]
    futures = [
        [np.sort(random.integers(middle + 1, 240 * 3600, count)) for count in counts]
        for counts in ((200, 0, 0, 3, 9, 50), (0, 50, 1, 100, 0, 7))
    ]
    logs = []
    for future in futures:
        seen = trace(*[np.concatenate(pair).tolist() for pair in zip(before, future, strict=True)])
        found = replay(some, seen, entry.policy(some), 48.0)
        logs.append((found.ids[found.times <= START + middle].tolist(), found.times[found.times <= START + middle]))
    assert logs[0][0] == logs[1][0]
    np.testing.assert_array_equal(logs[0][1], logs[1][1])


def test_a_policy_is_handed_labels_and_nothing_of_the_trace() -> None:
    class Spy(RoundRobin):
        def start(self, targets: int, now: float, **given: object) -> None:  # type: ignore[override]
            self.given = given
            super().start(targets, now, **given)  # type: ignore[arg-type]

    policy = Spy()
    replay(scenario(), trace([1], [2]), policy, 864.0)
    assert policy.given == {"labels": ["page/0", "page/1"]}


class Lister(Greedy):
    """Takes everything, lists too."""

    uses_lists = True

    def start(self, targets: int, now: float, **given: object) -> None:  # type: ignore[override]
        self.given = (targets, given["labels"])
        super().start(targets, now, **given)  # type: ignore[arg-type]


def test_lists_are_targets_after_the_pages_for_those_who_use_them_only() -> None:
    seen = replace(trace([50], [60]), lists=lists((0, 0, 0, 0), (3, 1, 0, 0)))
    found, policy = [], Lister()
    for policy.uses_lists in (True, False):
        found.append(replay(scenario(), seen, policy, 864.0))
        number = 4 if policy.uses_lists else 2
        assert policy.given == (number, ["page/0", "page/1", "list 0", "three"][:number])
    assert found[0].ids.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert found[1].ids.tolist() == [0, 1] * 5
    assert seen.names(found[0].ids[:4]).tolist() == [0, 7, -1, -4]


@pytest.mark.parametrize("entry", default_entries(), ids=lambda entry: entry.label)
def test_whoever_ignores_lists_does_as_if_there_were_none(entry: Contender) -> None:
    some = replace(long_scenario("freshness"), ends_at=START + 60 * 3600)
    if not entry.applies_to(some):
        pytest.skip("not for pages")
    policy = entry.policy(some)
    if policy.uses_lists:
        pytest.skip("uses lists")
    plain = trace([3600, 90000], [7200], [])
    found = [replay(some, seen, policy, 48.0) for seen in (plain, replace(plain, lists=lists((0, 0, 0, 0))))]
    assert found[0].ids.tolist() == found[1].ids.tolist()


@pytest.mark.parametrize("name", ["believes_lists"])
def test_what_a_list_will_say_does_not_change_a_choice(name: str) -> None:
    some, middle, random = long_scenario("freshness"), 120 * 3600, np.random.default_rng(4)
    logs = []
    for counts in ((200, 0, 9), (0, 50, 1)):
        rows = [(0, page, hour * 3600, hour * 3600.0) for page in range(6) for hour in range(0, 120, 7 + page)]
        rows += [
            (0, page, int(when), float(when))
            for page, count in enumerate(counts)
            for when in random.integers(middle + 1, 240 * 3600, count)
        ]
        seen = replace(trace(*[[]] * 6), lists=lists(*rows))
        found = replay(some, seen, policies.make(name), 48.0)
        logs.append((found.ids[found.times <= START + middle].tolist(), found.times[found.times <= START + middle]))
    assert logs[0][0] == logs[1][0]
    np.testing.assert_array_equal(logs[0][1], logs[1][1])


# What it is worth


def fresh_by_the_second(some: Scenario, seen: Trace, crawls: ReplayedCrawls) -> float:
    """The definition, second by second."""
    fresh = 0
    for second in range(some.scored_from, some.ends_at):
        for target in range(len(seen)):
            visits = crawls.times[(crawls.ids == target) & (crawls.times <= second)]
            events = seen.times[seen.offsets[target] : seen.offsets[target + 1]]
            last_change = events[events <= second].max(initial=-1)
            fresh += len(visits) > 0 and visits.max() >= last_change
    return fresh / (len(seen) * (some.ends_at - some.scored_from))


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 999), max_size=6), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(1, 10)), max_size=15),
)
def test_freshness_is_the_share_of_time_that_copies_are_current(
    events: list[list[int]], crawls: set[tuple[int, int]]
) -> None:
    seen = trace(*[sorted(set(each)) for each in events])
    done = log(*[(target, 100 * tick) for target, tick in sorted(crawls) if target < len(events)])
    assert score(scenario(), seen, done, 864.0).value == pytest.approx(fresh_by_the_second(scenario(), seen, done))


def test_captured_counts_versions_crawled_before_the_next_change() -> None:
    found = score(scenario(), trace([550, 650, 660]), log((0, 600), (0, 700)), 864.0)
    assert found.details["captured"] == pytest.approx(2 / 3)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 999), max_size=6), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(1, 10)), max_size=15),
)
def test_changes_found_are_the_crawls_that_show_a_change(events: list[list[int]], crawls: set[tuple[int, int]]) -> None:
    seen = trace(*[sorted(set(each)) for each in events])
    done = [(target, 100 * tick) for target, tick in sorted(crawls, key=lambda each: each[1]) if target < len(events)]
    world = TraceWorld(seen, items=False)
    showed = sum(changed(world, target, moment) for target, moment in done)
    found = changes_found(scenario(scored_from=START), seen, log(*done), 864.0)
    assert found.gain.sum() == showed
    assert found.weight.sum() == len(seen.times)


def test_a_change_before_the_scored_window_is_not_one_of_those_to_be_found() -> None:
    found = changes_found(scenario(), trace([450, 550]), log((0, 100), (0, 500), (0, 600)), 864.0)
    assert (found.gain.sum(), found.weight.sum()) == (1.0, 1.0)


def test_items_fade_until_seen_and_count_from_the_scored_window_on() -> None:
    # Half-life 360 s. Scored: 540 (seen after 60 s), 950 (never seen). 400 is warm-up.
    found = score(scenario(kind="ephemeral"), trace([400, 540, 950]), log((0, 600)), 864.0)
    assert found.value == pytest.approx(2 ** (-60 / 360) / 2)


def test_an_item_found_after_thirty_days_is_worth_nothing() -> None:
    some = scenario(kind="ephemeral", ends_at=START + 40 * DAY, tick_s=DAY, scored_from=START, half_life_h=1e9)
    assert score(some, trace([0]), log((0, 30 * DAY)), 1.0).value == pytest.approx(1.0)
    assert score(some, trace([0]), log((0, 31 * DAY)), 1.0).value == 0.0


def test_news_fade_until_their_version_is_crawled_and_the_next_change_overwrites_them() -> None:
    # Half-life 360 s. Scored: 540 (seen after 60 s), 610 (overwritten by 640), 640 (seen after 60 s), 950 (never seen).
    found = score(scenario(kind="news"), trace([400, 540, 610, 640, 950]), log((0, 600), (0, 700)), 864.0)
    assert found.value == pytest.approx(2 * 2 ** (-60 / 360) / 4)
    assert found.details["captured"] == 0.5
    assert found.details["changes_in_window"] == 4.0
    assert found.details["with_overwritten"] == pytest.approx((2 * 2 ** (-60 / 360) + 2 ** (-90 / 360)) / 4)


@given(
    st.lists(st.lists(st.integers(0, 999), unique=True, max_size=6), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(1, 10)), max_size=20),
)
def test_what_is_captured_of_news_is_what_is_captured_of_versions(
    events: list[list[int]], crawls: set[tuple[int, int]]
) -> None:
    seen = trace(*map(sorted, events))
    done = log(*[(target, 100 * tick) for target, tick in sorted(crawls) if target < len(events)])
    fresh, news = (score(scenario(kind=kind), seen, done, 864.0) for kind in ("freshness", "news"))
    assert news.details["captured"] == fresh.details["captured"]
    if news.details["captured"]:
        assert 0.0 < news.value <= news.details["captured"]


def test_pages_scored_as_news_show_only_whether_they_changed() -> None:
    class Noting(RoundRobin):
        def observe(self, visits: Visits) -> None:
            assert visits.changed is not None
            assert visits.published is None
            super().observe(visits)

    some = scenario(kind="news")
    assert len(replay(some, trace([50, 150], []), Noting(), 864.0)) == 10
    assert Contender("learned_whittle").policy(some).objective == "ephemeral"
    assert Contender("lambda_crawl").applies_to(some)
    assert not Contender("miniflux").applies_to(some)


def test_delay_runs_to_the_end_where_an_item_is_never_seen() -> None:
    found = score(scenario(kind="discovery"), trace([540, 950]), log((0, 600)), 864.0)
    assert found.value == pytest.approx((60 + 50) / 2 / 3600)
    assert found.details["within_1h"] == 0.5
    assert found.details["undiscovered"] == 0.5


def test_use_and_neglect_are_reported() -> None:
    found = score(scenario(), trace([], [], []), log((0, 100), (0, 600), (1, 700)), 864.0)
    assert found.used_share == pytest.approx(2 / 5)
    assert found.never_visited == pytest.approx(1 / 3)


def test_lists_are_paid_for_and_not_scored() -> None:
    pages = trace([650], [], [])
    seen = replace(pages, lists=lists((0, 0, 0, 0)))
    alone = score(scenario(), pages, log((0, 100), (0, 600), (1, 800)), 864.0)
    found = score(scenario(), seen, log((0, 100), (3, 200), (0, 600), (3, 700), (1, 800)), 864.0)
    assert found.value == alone.value
    assert found.never_visited == alone.never_visited
    assert (alone.used_share, found.used_share) == (pytest.approx(2 / 5), pytest.approx(3 / 5))
    assert found.details == alone.details | {"list_crawls": 2.0}


def test_doubt_comes_from_groups_of_targets() -> None:
    alike = score(scenario(), trace(*[[]] * 40), log(*[(target, 500) for target in range(40)]), 864.0)
    assert alike.standard_error == 0.0
    halves = score(scenario(), trace(*[[]] * 40), log(*[(target, 500) for target in range(0, 40, 2)]), 864.0)
    assert halves.standard_error == pytest.approx(np.sqrt(0.25 / 19))
    assert difference(halves, alike) == (-0.5, pytest.approx(np.sqrt(0.25 / 19)))


def test_a_window_without_events_has_no_score() -> None:
    assert np.isnan(score(scenario(kind="ephemeral"), trace([]), log((0, 600)), 864.0).value)


# Reading


PAGES = {
    "page": [3, 1, 2, 4, 5],
    "corpus": ["a", "a", "a", "b", "a"],
    "name": ["x/3", "x/1", "x/2", "x/4", "x/5"],
    "first_observed": [0, 0, START + 1, 0, 0],
    "last_observed": [2 * START, 2 * START, 2 * START, 2 * START, START + 999],
}
CHANGES = {
    "page": [3, 1, 1, 1, 4, 1, 3],
    "changed_at": [START + 5, START - 1, START, START + 999, START + 3, START + 1000, START + 7],
    "batch": [1, 1, 1, 50, 1, 1, 51],
    "revert": [False, False, False, False, False, False, False],
}
SOURCES = {
    "corpus": ["a", "a", "b"],
    "source": ["beta", "alpha", "alpha"],
    "observed_from": [0, 0, 0],
    "observed_to": [2 * START] * 3,
    "n_items_in_window": [3, 1, 9],
}
MIDNIGHT = START - START % DAY + DAY
ITEMS = {
    "corpus": ["a", "a", "a", "b"],
    "source": ["beta", "alpha", "beta", "alpha"],
    "published_at": [START + 9, START + 3, START + 4, START + 1],
}
LISTS = {"list": [9, 5, 2], "name": ["nine", None, "two"], "law": ["honest"] * 3}
ENTRIES = {
    "list": [5, 5, 9, 5, 9, 2, 5],
    "page": [3, 1, 1, 3, 2, 4, 1],
    "listed_at": [START + 9, 0, 0, START - 5, 0, 0, START + 1000],
    "lastmod": [START + 8, None, START - 7, START - 6, 0, 0, START],
}
TABLES = {
    "pages": PAGES, "page_changes": CHANGES, "sources": SOURCES, "items": ITEMS,
    "lists": LISTS, "list_entries": ENTRIES,
}  # fmt: skip


def write(folder: Path, suffix: str = "parquet", **changes: dict[str, list[object]]) -> Path:
    for name, columns in (TABLES | changes).items():
        table = pa.table(columns)
        if suffix == "csv":
            pyarrow.csv.write_csv(table, folder / f"{name}.csv")
        else:
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_pages_observed_throughout_with_their_clean_changes_inside_the_window(tmp_path: Path, suffix: str) -> None:
    found = Folder(write(tmp_path, suffix)).trace(scenario())
    assert found.targets.tolist() == [1, 3]
    assert found.labels == ["x/1", "x/3"]
    assert (found.times - START).tolist() == [0, 999, 5]
    assert found.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_lists_that_name_a_target_with_what_they_say_of_targets_before_the_end(tmp_path: Path, suffix: str) -> None:
    folder = Folder(write(tmp_path, suffix))
    assert folder.trace(scenario()).lists == ()
    found = folder.trace(scenario(lists=True)).lists
    assert [(each.number, each.label, each.target, each.pages.tolist()) for each in found] == [
        (5, "list 5", -6, [0, 1]), (9, "nine", -10, [0]),
    ]  # fmt: skip
    assert (found[0].listed_at - START).tolist() == [-START, -5, 9]
    np.testing.assert_array_equal(found[0].lastmod - START, [np.nan, -6, 8])
    assert found[0].offsets.tolist() == [0, 1, 3]


def test_lists_need_no_names(tmp_path: Path) -> None:
    (write(tmp_path) / "lists.parquet").unlink()
    assert [each.label for each in Folder(tmp_path).trace(scenario(lists=True)).lists] == ["list 5", "list 9"]


def test_a_scenario_with_lists_needs_their_entries(tmp_path: Path) -> None:
    (write(tmp_path) / "list_entries.parquet").unlink()
    assert len(Folder(tmp_path).trace(scenario())) == 2
    with pytest.raises(ParameterError, match=r"list_entries\.parquet or list_entries\.csv"):
        Folder(tmp_path).trace(scenario(lists=True))


def test_a_lastmod_that_is_no_time_is_named(tmp_path: Path) -> None:
    write(tmp_path, list_entries=ENTRIES | {"lastmod": ["today"] * 7})
    with pytest.raises(ParameterError, match=r"list_entries\.parquet, column lastmod"):
        Folder(tmp_path).trace(scenario(lists=True))


def test_uncleaned_traces_keep_bulk_edits(tmp_path: Path) -> None:
    found = Folder(write(tmp_path)).trace(scenario(clean=False))
    assert (found.times - START).tolist() == [0, 999, 5, 7]


def test_pages_are_thinned_by_modulus(tmp_path: Path) -> None:
    assert Folder(write(tmp_path)).trace(scenario(page_modulus=3)).targets.tolist() == [3]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_sources_by_name_with_the_items_of_their_own_corpus(tmp_path: Path, suffix: str) -> None:
    found = Folder(write(tmp_path, suffix)).trace(scenario(kind="ephemeral"))
    assert found.targets.tolist() == ["alpha", "beta"]
    assert (found.times - START).tolist() == [3, 4, 9]


def test_sources_with_few_items_are_dropped(tmp_path: Path) -> None:
    assert Folder(write(tmp_path)).trace(scenario(kind="discovery", min_items=2)).targets.tolist() == ["beta"]


def test_sources_that_state_only_the_day_are_dropped(tmp_path: Path) -> None:
    items = ITEMS | {"published_at": [START + 9, MIDNIGHT, MIDNIGHT, START]}
    folder = Folder(write(tmp_path, items=items))
    assert folder.trace(scenario(kind="discovery", max_midnight_share=0.5)).targets.tolist() == ["beta"]
    assert len(folder.trace(scenario(kind="discovery", max_midnight_share=1.0))) == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"pages\.parquet or pages\.csv"):
        Folder(tmp_path).trace(scenario())


def test_a_missing_column_is_named_with_its_file(tmp_path: Path) -> None:
    write(tmp_path, pages={key: value for key, value in PAGES.items() if key != "last_observed"})
    with pytest.raises(ParameterError, match=r"pages\.parquet.*'last_observed'"):
        Folder(tmp_path).trace(scenario())


@pytest.mark.parametrize("bad", [[1, None, 2, 3], ["soon", "1", "2", "3"]])
def test_a_column_of_the_wrong_kind_is_named_with_its_file(tmp_path: Path, bad: list[object]) -> None:
    write(tmp_path, items=ITEMS | {"published_at": bad})
    with pytest.raises(ParameterError, match=r"items\.parquet, column published_at"):
        Folder(tmp_path).trace(scenario(kind="discovery"))


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (write(tmp_path) / "pages.parquet").write_bytes(b"not parquet")
    with pytest.raises(ParameterError, match=r"pages\.parquet"):
        Folder(tmp_path).trace(scenario())


def test_a_scenario_that_nothing_passes_is_named(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'made'"):
        Folder(write(tmp_path)).trace(scenario(corpora=("elsewhere",)))


def test_a_source_name_in_two_corpora_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'made', field corpora"):
        Folder(write(tmp_path)).trace(scenario(kind="discovery", corpora=("a", "b")))


# Scenarios


TABLE = {
    "name": "some", "kind": "ephemeral", "corpora": ["a"], "starts_at": "2024-01-01T00:00:00Z",
    "scored_from": "2024-01-02T00:00:00Z", "ends_at": "2024-01-03T00:00:00Z", "tick_s": 600,
    "budgets_fetches_per_day": [144, 72.0], "half_life_h": 5,
}  # fmt: skip


def test_a_scenario_is_read_in_utc_seconds() -> None:
    found = scenario_of(TABLE)
    assert (found.starts_at, found.ends_at - found.starts_at) == (1704067200, 2 * DAY)
    assert found.ticks == 288
    assert found.budgets_fetches_per_day == (144, 72.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "fresh"), ("corpora", []), ("corpora", [3]), ("starts_at", "yesterday"), ("tick_s", 0),
        ("tick_s", 7.5), ("tick_s", 7), ("budgets_fetches_per_day", []), ("budgets_fetches_per_day", [-1]),
        ("budgets_fetches_per_day", 5), ("half_life_h", 0), ("weight", "interest"), ("clean", "yes"),
        ("scored_from", "2025-01-01T00:00:00Z"), ("ends_at", "2023-01-01T00:00:00Z"), ("max_midnight_share", 2),
        ("page_modulus", 0), ("min_items", -1), ("lists", "yes"), ("lists", True),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_its_scenario(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match=rf"scenario 'some', field {field}"):
        scenario_of(TABLE | {field: value})


def test_news_need_a_half_life() -> None:
    with pytest.raises(ParameterError, match="scenario 'some', field half_life_h must be given for a scenario of kind"):
        scenario_of({key: value for key, value in TABLE.items() if key != "half_life_h"} | {"kind": "news"})


@pytest.mark.parametrize("field", ["kind", "starts_at", "half_life_h", "tick_s"])
def test_a_missing_field_is_named_with_its_scenario(field: str) -> None:
    with pytest.raises(ParameterError, match=rf"scenario 'some', field {field}"):
        scenario_of({key: value for key, value in TABLE.items() if key != field})


def test_a_misspelt_field_is_pointed_out_and_a_note_is_not() -> None:
    with pytest.raises(ParameterError, match="half_life_h"):
        scenario_of(TABLE | {"half_life": 5})
    scenario_of(TABLE | {"author": "somebody"})


def test_scenarios_must_be_named_and_named_once(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    one = "[[scenario]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in TABLE.items()) + "\n"
    file.write_text(one + one)
    with pytest.raises(ParameterError, match="'some'"):
        read_scenarios(file)
    file.write_text("[[scenario]]\n")
    with pytest.raises(ParameterError, match="scenario number 1, field name"):
        read_scenarios(file)
    for text in ("x = 1", "x = "):
        file.write_text(text)
        with pytest.raises(ParameterError, match="SCENARIOS"):
            read_scenarios(file)
    with pytest.raises(ParameterError, match="SCENARIOS"):
        read_scenarios(tmp_path / "none.toml")


def test_an_unknown_scenario_lists_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="made"):
        select([scenario()], ("mad",))


@pytest.mark.parametrize(("wanted", "given"), [(864.0, 864), (1300.0, 1728), (400.0, 432), (300.0, 288), (1.0, 1.0)])
def test_budgets_snap_to_what_a_tick_can_spend_whole(wanted: float, given: float) -> None:
    assert scenario().spendable(wanted) == pytest.approx(given, rel=0.01)


# Side by side


def test_policies_are_told_the_objective_of_the_scenario() -> None:
    policy = Contender("learned_whittle").policy(scenario(kind="ephemeral"))
    assert policy.objective == "ephemeral"  # type: ignore[attr-defined]
    assert policy.half_life == 360.0  # type: ignore[attr-defined]
    assert Contender("learned_whittle").policy(scenario(half_life_h=None)).objective == "freshness"  # type: ignore[attr-defined]


def test_every_registered_peer_runs_by_default() -> None:
    labels = {entry.label for entry in default_entries()}
    assert {"learned_whittle", "round_robin", "azar", "azar:filled", "miniflux", "nutch_adaptive:filled"} <= labels
    assert all(entry.name in policies.NAMES for entry in default_entries())


def test_outcomes_come_in_the_order_of_the_jobs_and_progress_ends_at_one() -> None:
    some, seen = scenario(), trace([150, 620], [330], [])
    told: list[tuple[str, float]] = []
    jobs = jobs_for([some], [864.0, 288.0], [Contender("round_robin"), Contender("news_crawl")])
    outcomes = run_jobs(jobs, {"made": seen}, lambda what, share: told.append((what, share)), workers=1)
    assert [(each.entry.name, each.budget) for each in outcomes] == [
        ("round_robin", 864.0), ("news_crawl", 864.0), ("round_robin", 288.0), ("news_crawl", 288.0),
    ]  # fmt: skip
    assert told[-1] == ("made", 1.0)


def test_processes_find_what_one_process_finds() -> None:
    some, seen = scenario(), trace([150, 620], [330], [])
    jobs = jobs_for([some], [], [Contender("round_robin"), Contender("news_crawl")])
    one, two = (run_jobs(jobs, {"made": seen}, lambda *_: None, workers) for workers in (1, 2))
    assert [each.score.value for each in one] == [each.score.value for each in two]


def test_a_scaled_rule_uses_the_budget_its_own_timers_leave() -> None:
    some = scenario(tick_s=3600, ends_at=START + 40 * DAY, scored_from=START, budgets_fetches_per_day=(24.0,))
    seen = trace(*[[k * DAY for k in range(1, 40)]] * 3)
    shipped, scaled = run_jobs(
        jobs_for([some], [], [Contender.parse("news_crawl"), Contender.parse("news_crawl:scaled")]),
        {"made": seen}, lambda *_: None, workers=1,
    )  # fmt: skip
    assert shipped.score.used_share < 0.9
    assert scaled.score.used_share >= 0.98


def test_a_rule_half_as_good_needs_more_fetches_for_the_same_result() -> None:
    some = scenario(
        kind="discovery", tick_s=3600, ends_at=START + 40 * DAY, scored_from=START, budgets_fetches_per_day=(24.0,)
    )
    random = np.random.default_rng(0)
    seen = trace(*[sorted(random.integers(0, 40 * DAY, 60).tolist()) for _ in range(12)])
    at_double = score(some, seen, replay(some, seen, RoundRobin(), 48.0), 48.0).value
    (found,) = equal_results(some, seen, Contender("round_robin"), {24.0: at_double})
    assert found.multiple == pytest.approx(2.0, rel=0.05)
    (never,) = equal_results(some, seen, Contender("nutch_adaptive"), {24.0: at_double})
    assert never.multiple == np.inf


# The command


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with traces and two scenarios."""
    hours = np.random.default_rng(1).integers(0, 20 * DAY, 60)
    items = {"corpus": ["a"] * 60, "source": ["beta", "alpha"] * 30, "published_at": (1704067200 + hours).tolist()}
    write(tmp_path, items=items, sources=SOURCES | {"observed_to": [1704067200 + 30 * DAY] * 3})
    tables = [TABLE | {"name": "one"}, TABLE | {"name": "two", "kind": "discovery"}]
    text = ""
    for table in tables:
        text += "[[scenario]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items()) + "\n"
    (tmp_path / "scenarios.toml").write_text(text)
    return tmp_path


def test_the_command_writes_table_figures_and_report(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(made / "scenarios.toml"), "--workers", "1", "--policy", "round_robin", "--policy"]
    arguments += ["miniflux:filled", "--policy", "learned_whittle", "--equal-result"]
    assert run([*arguments, "--json", str(made / "r.json"), "--out", str(made / "out")]) == 0
    printed = capsys.readouterr().out
    for word in ("round_robin", "miniflux:filled", "one@144", "two@72"):
        assert word in printed
    figures = json.loads((made / "r.json").read_text())
    assert len(figures["results"]) == 12
    assert {each["policy"] for each in figures["equal_result"]} == {"learned_whittle", "round_robin", "miniflux:filled"}
    assert "round_robin" in (made / "out" / "report.html").read_text()


def test_the_command_writes_a_crawl_log(made: Path) -> None:
    arguments = ["replay", str(made / "scenarios.toml"), "--data", str(made), "--scenario", "one", "--budget", "144"]
    assert run([*arguments, "--policy", "round_robin", "--log", str(made / "log.parquet")]) == 0
    found = pyarrow.parquet.read_table(made / "log.parquet").to_pydict()
    assert found["target"][:3] == ["alpha", "beta", "alpha"]
    assert found["crawled_at"][:2] == [1704067200 + 600, 1704067200 + 1200]


def test_the_command_writes_lists_below_all_pages(made: Path) -> None:
    table = TABLE | {"kind": "freshness", "lists": True, "starts_at": "2023-11-15T00:00:00Z"}
    table |= {"scored_from": "2023-11-15T00:00:00Z", "ends_at": "2023-11-16T00:00:00Z"}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (made / "listed.toml").write_text("[[scenario]]\n" + "\n".join(lines))
    arguments = ["replay", str(made / "listed.toml"), "--budget", "144", "--policy", "believes_lists"]
    assert run([*arguments, "--log", str(made / "log.parquet"), "--json", str(made / "r.json")]) == 0
    found = pyarrow.parquet.read_table(made / "log.parquet").to_pydict()["target"]
    assert {*found} == {1, 3, -6, -10}
    (figures,) = json.loads((made / "r.json").read_text())["results"]
    assert figures["list_crawls"] == sum(target < 0 for target in found)


def test_the_command_plays_ours_through_a_store_beside_the_others(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", str(made / "scenarios.toml"), "--scenario", "one", "--budget", "144", "--workers", "1"]
    arguments += ["--policy", "learned_whittle", "--through-store", "--equal-result"]
    assert run([*arguments, "--json", str(made / "r.json")]) == 0
    assert "learned_whittle through the store" in capsys.readouterr().out
    memory, store = json.loads((made / "r.json").read_text())["results"]
    assert (memory["through_store"], store["through_store"]) == (False, True)
    assert store["used_share"] == 1.0
    assert store["learned_whittle_minus_this"] == pytest.approx(memory["score"] - store["score"])


def test_the_command_writes_the_crawl_log_of_a_store(made: Path) -> None:
    arguments = ["replay", str(made / "scenarios.toml"), "--scenario", "one", "--budget", "72"]
    arguments += ["--policy", "learned_whittle:through_store", "--log", str(made / "log.parquet")]
    assert run(arguments) == 0
    found = pyarrow.parquet.read_table(made / "log.parquet").to_pydict()
    assert {*found["target"]} == {"alpha", "beta"}
    assert found["crawled_at"] == [1704067200 + 1200 * tick for tick in range(1, 145)]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--scenario", "three"], "--scenario"),
        (["--policy", "nobody"], "nobody"),
        (["--policy", "azar"], "--policy"),
        (["--policy", "round_robin:colour=red"], "colour"),
        (["--policy", "round_robin", "--log", "x.parquet"], "--log"),
        (["--policy", "nutch_adaptive:scaled,through_store"], "neither scaled nor grouped"),
        (["--policy", "whittle:through_store"], "one that can run live"),
        (["--policy", "learned_whittle:through_stor"], "through_store"),
        (["--policy", "round_robin", "--equal-result"], "--equal-result"),
        (["--data", "nowhere"], "--data"),
        (["--json", "no/such/folder/x.json"], "cannot write"),
    ],
)
def test_a_user_s_mistake_ends_with_a_line(
    made: Path, more: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(made / "scenarios.toml"), *more]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert "Traceback" not in complaint
