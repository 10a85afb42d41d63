"""A scheduler over a store plays by the rules of a replay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.cli import replay_through_store
from recrawl.cli.replay_through_store import StoredScheduler, distinct
from recrawl.errors import ContractError
from recrawl.records import Visits
from recrawl.scheduling.token_bucket import TimedBucket
from recrawl.sim.comparison import Contender, Job, in_memory, run_job
from recrawl.sim.scenarios import Kind, Scenario
from recrawl.sim.traces import Trace

START, DAY = 1_700_006_400, 86400
OURS = Contender("learned_whittle", through_store=True)


def scenario(kind: Kind = "freshness", tick: int = 3600, ticks: int = 48) -> Scenario:
    end = START + tick * ticks
    return Scenario("made", kind, ("a",), START, START, end, tick, (24.0,), half_life_h=6.0)


def trace(count: int, labels: list[str] | None = None) -> Trace:
    """Targets of which every second has an event an hour, and the others none."""
    owners = np.repeat(np.arange(0, count, 2), 48)
    times = np.tile(START + 1800 + 3600 * np.arange(48), len(owners) // 48)
    return Trace.of(np.arange(count), labels or [f"page/{k}" for k in range(count)], owners, times)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 500), st.sampled_from([300, 1000, 2880, 3600]))
def test_its_tokens_are_those_of_the_exact_bucket(budget: int, tick: int) -> None:
    some = scenario(tick=tick, ticks=30)
    found = replay_through_store.play(Job(some, budget, OURS), trace(40))
    income = Fraction(budget * tick, DAY)
    bucket, ticks = TimedBucket(income, max(income, Fraction(1)), now=0.0), []
    for k in range(1, 31):
        bucket.fill(float(k))
        spent = min(bucket.affordable(), 40)
        bucket.spend(spent)
        ticks += [START + k * tick] * spent
    assert found.times.tolist() == ticks


@pytest.mark.parametrize("kind", ["freshness", "news", "ephemeral", "discovery"])
def test_it_learns_from_what_it_is_told(kind: Kind) -> None:
    log = replay_through_store.play(Job(scenario(kind), 24.0, OURS), trace(6))
    crawls = np.bincount(log.ids, minlength=6)
    assert crawls.min() >= 1
    assert crawls[::2].sum() > 2 * crawls[1::2].sum()


@pytest.mark.parametrize("written", ["round_robin", "stormcrawler_adaptive:filled"])
def test_other_policies_that_run_live_crawl_as_they_do_in_memory(written: str) -> None:
    entry = Contender.parse(written)
    stored = replay_through_store.play(Job(scenario(), 24.0, replace(entry, through_store=True)), trace(6))
    memory = in_memory(Job(scenario(), 24.0, entry), trace(6))
    assert stored.ids.tolist() == memory.ids.tolist()


def test_it_is_scored_like_any_other_entry_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = run_job(Job(scenario("ephemeral"), 24.0, OURS), trace(4), stored=replay_through_store.play)
    assert found.score.used_share == 1.0
    assert found.score.value > 0.3
    assert not any(tmp_path.iterdir())


def test_nobody_plays_it_in_memory_by_mistake() -> None:
    with pytest.raises(ContractError, match="through the store"):
        run_job(Job(scenario(), 24.0, OURS), trace(2))


def test_everything_it_is_told_is_in_its_store() -> None:
    with StoredScheduler(Job(scenario("ephemeral"), 24.0, OURS)) as player:
        player.start(2, START, labels=["a", "a"])
        chosen = player.choose(START + 3600.0, 1.0)
        player.observe(Visits(chosen, START + 3600.0, published=[[START + 60.0]]))
        player._scheduler.flush()
        (crawl,) = player._scheduler._store.crawls()
        assert (crawl.at, crawl.outcome, crawl.new) == (START + 3600.0, "first", 1)
        assert {line.url for line in player._scheduler._store.sources()} == {"a#1", "a#2"}


@given(st.lists(st.sampled_from(["a", "b", "a#1", "a#2", "a#1#1"]), max_size=8))
def test_labels_that_occur_twice_are_told_apart(labels: list[str]) -> None:
    keys = distinct(labels)
    assert len({*keys}) == len(keys) == len(labels)
    assert all(key.startswith(label) for key, label in zip(keys, labels, strict=True))
