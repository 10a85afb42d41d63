"""Sources that come and go while the program runs, with and without a past."""

from __future__ import annotations

import dataclasses
import math
import random
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.deciders import empty_decider

from recrawl import wiring
from recrawl.config import Config, Politeness, SourceOptions
from recrawl.crawl.committer import look_up
from recrawl.crawl.decider import Decider
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.visits import Intent, Visit, VisitOutcome
from recrawl.errors import ParameterError
from recrawl.store.records import Crawl, Hold, Progress, Source
from recrawl.store.sqlite import SqliteStore

START = 1_700_000_000.0
NOW = START + 1000.0
DELAY_S = 10.0


@pytest.fixture
def decider(tmp_path: Path) -> Decider:
    """An empty catalogue, long after the start."""
    config = Config(politeness=Politeness(delay="10s", min_interval="0s"))
    slots = HostSlots(config.politeness, START, random.Random(0))
    return empty_decider(config, slots, START)


def source(id: int, host: str = "a.example") -> Source:
    return Source(id=id, url=f"https://{host}/{id}")


def past(id: int, **more: object) -> Progress:
    return Progress(source=id, **({"last": NOW - 500.0, "visits": 3} | more))  # type: ignore[arg-type]


def chosen(decider: Decider, now: float, tokens: float = 10.0) -> list[int]:
    return [intent.source.id for intent in decider.choose(now, tokens)]


def answered(intent: Intent, at: float) -> Visit:
    url = intent.source.url
    fetched = FetchResult(Response(url, 200, {}, b""), url, requests=1)
    return Visit(intent, at, fetched, findings=Findings(kind="page", digest=str(at)))


# -- hosts that come with a past


def test_a_new_source_on_an_unknown_host_may_be_fetched_at_once(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    assert chosen(decider, NOW) == [1]


@pytest.mark.parametrize("what", [{"last": NOW - 500.0}, {"last": None, "failures": 2}])
def test_a_host_that_comes_with_a_past_counts_as_visited_that_moment(decider: Decider, what: dict[str, object]) -> None:
    decider.upsert([source(1)], NOW, [past(1, **what)])
    assert chosen(decider, NOW + DELAY_S - 0.01) == []
    assert chosen(decider, NOW + DELAY_S) == [1]


def test_a_host_that_had_sources_here_all_along_does_not(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    decider.upsert([source(2)], NOW, [past(2)])
    assert chosen(decider, NOW) != []


def test_a_host_that_comes_back_counts_as_visited_again(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    decider.remove([1])
    decider.upsert([source(1)], NOW + 100.0, [past(1)])
    assert chosen(decider, NOW + 100.0 + DELAY_S - 0.01) == []
    assert chosen(decider, NOW + 100.0 + DELAY_S) == [1]


def test_holds_of_others_are_kept_to(decider: Decider) -> None:
    holds = [Hold(host="a.example", until=NOW + 300.0, reason="status 503"), Hold(host="b.example", until=NOW + 1e5)]
    decider.upsert([source(1)], NOW, [past(1)], holds)
    assert decider.slots.held("a.example", NOW) == (NOW + 300.0, "status 503")
    assert decider.slots.held("b.example", NOW)[0] == 0.0, "a host of nobody here"
    assert chosen(decider, NOW + 299.0) == []
    assert chosen(decider, NOW + 300.0) == [1]


def test_a_hold_known_here_is_not_shortened(decider: Decider) -> None:
    decider.slots.hold("a.example", NOW + 500.0, "ours")
    decider.upsert([source(1)], NOW, [past(1)], [Hold(host="a.example", until=NOW + 20.0, reason="theirs")])
    assert decider.slots.held("a.example", NOW) == (NOW + 500.0, "ours")


def test_what_a_clock_ahead_wrote_is_not_believed(decider: Decider) -> None:
    decider.upsert([source(1)], NOW, [past(1, last=NOW + 1e6)])
    assert decider.progress(0).last == NOW


# -- what they knew


def test_what_was_learned_elsewhere_goes_on_here(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    (intent,) = decider.choose(NOW, 1.0)
    (update,) = decider.learn_from([answered(intent, NOW + 1.0)], NOW + 1.0)
    decider.holds.end_visits([intent], NOW + 1.0)
    written = msgspec.structs.replace(update.progress)
    decider.remove([1])
    assert len(decider) == len(decider.hosts) == 0
    decider.upsert([source(1)], NOW + 50.0, [written])
    again = decider.roster.urls.get("https://a.example/1")
    assert again == 1, "numbers are not used twice"
    for before, after in zip(*(np.concatenate(_beliefs(decider, n)) for n in (0, 1)), strict=True):
        assert before == after
    assert chosen(decider, NOW + 100.0) == [1]


def _beliefs(decider: Decider, number: int) -> list[np.ndarray]:
    beliefs = decider.policy.beliefs([number])
    return [beliefs.value, beliefs.value_sd, beliefs.rate, beliefs.rate_sd]


def test_a_visit_that_ends_after_its_source_left_is_settled_with_all_it_taught(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    (intent,) = decider.choose(NOW, 1.0)
    decider.remove([1])
    (update,) = decider.learn_from([answered(intent, NOW + 1.0)], NOW + 1.0)
    assert (update.progress.source, update.progress.last) == (1, NOW + 1.0)
    assert update.progress.belief
    assert chosen(decider, NOW + 100.0) == []


def test_of_sources_that_left_nothing_is_kept_but_the_number(decider: Decider) -> None:
    decider.upsert([source(1), source(2, "b.example")], NOW)
    flying = decider.choose(NOW, 10.0)
    decider.remove([1, 2])
    decider.learn_from([answered(flying[0], NOW + 1.0)], NOW + 1.0)
    decider.give_back(flying[1:], NOW + 1.0)
    assert [decider.roster.source(n).url for n in (0, 1)] == ["", ""]
    assert [decider.progress(n).is_tried for n in (0, 1)] == [False, False]


# -- when things were learned


def test_visits_teach_as_of_when_they_were_made(decider: Decider) -> None:
    """However long they waited to be settled, the policy counts ages from where the store does."""
    decider.upsert([source(k, f"{k}.example") for k in range(1, 4)], NOW)
    intents = decider.choose(NOW, 10.0)
    visits = [answered(intent, NOW + at) for intent, at in zip(intents, (900.0, 5.0, 5.01), strict=True)]
    updates = decider.learn_from(visits, NOW + 3600.0)
    for visit, update in zip(visits, updates, strict=True):
        assert decider.policy.kept.since[visit.intent.number] == pytest.approx(update.progress.last, abs=0.05)


def test_a_visit_that_was_made_at_no_time_is_refused(decider: Decider) -> None:
    decider.upsert([source(1)], NOW)
    decider.choose(NOW, 1.0)
    crawl = Crawl(source=1, at=math.nan, outcome="unchanged")
    outcome = VisitOutcome(kind="items", crawl=crawl, progress=past(1), hold_until=NOW)
    with pytest.raises(ParameterError, match="nan"):
        decider.learn([0], [outcome], NOW)


# -- moves


def test_a_source_that_moves_onto_one_that_somebody_else_crawls_is_retired(decider: Decider, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "whole.db")) as store:
        store.add([Source(url="https://a.example/1"), Source(url="https://b.example/2")])
        decider.upsert([source(1)], NOW, [past(1, moved_to="https://b.example/2", moved_seen=1)])
        (intent,) = decider.choose(NOW + DELAY_S, 1.0)
        visit = answered(intent, NOW + DELAY_S)
        visit = msgspec.structs.replace(
            visit, fetched=dataclasses.replace(visit.fetched, moved_to="https://b.example/2")
        )
        (visit,) = look_up(store, [visit])
    (update,) = decider.learn_from([visit], NOW + DELAY_S)
    assert update.source is not None
    assert (update.source.url, update.source.state) == ("https://a.example/1", "retired")


# Where every source is a host of its own


@pytest.fixture
def apart(tmp_path: Path) -> Decider:
    """An empty catalogue of sources that share nothing, long after the start."""
    config = Config(politeness=Politeness(scope="url", delay="10s", min_interval="0s"))
    return empty_decider(config, HostSlots(config.politeness, START, random.Random(0)), START)


def visit(decider: Decider, at: float) -> list[int]:
    """Fetch all that may be, as the pipeline does."""
    intents = decider.choose(at, 10.0)
    for intent in intents:
        decider.slots.take(intent.host, at)
        decider.slots.done(intent.host, at)
    decider.holds.end_visits(intents, at)
    decider.learn_from([answered(intent, at) for intent in intents], at)
    return sorted(intent.source.id for intent in intents)


def test_sources_of_one_name_do_not_wait_for_each_other_and_each_for_its_own_delay(apart: Decider) -> None:
    apart.upsert([source(1), source(2)], NOW)
    assert visit(apart, NOW) == [1, 2]
    assert visit(apart, NOW + DELAY_S - 1.0) == []
    assert visit(apart, NOW + DELAY_S) == [1, 2]
    assert len(apart.hosts) == 2


def test_a_hold_of_a_source_s_own_host_stands_whatever_is_edited(apart: Decider) -> None:
    apart.upsert([source(1), source(2)], NOW)
    url = source(1).url
    apart.slots.answered(url, 503, "100", NOW)
    apart.holds.host_changed(url, NOW)
    assert apart.hosts.knows(url)
    assert not apart.hosts.knows("https://b.example/")
    apart.upsert([msgspec.structs.replace(source(1), state="paused")], NOW)
    apart.upsert([source(1)], NOW)
    assert visit(apart, NOW + 50.0) == [2]
    assert visit(apart, NOW + 101.0) == [1, 2]


def test_holds_that_came_with_a_source_are_kept_to(apart: Decider) -> None:
    hold = Hold(host=source(1).url, until=NOW + 100.0, reason="asked to wait")
    apart.upsert([source(1), source(2)], NOW, [past(1), past(2)], [hold])
    assert visit(apart, NOW + 50.0) == [2]
    assert visit(apart, NOW + 101.0) == [1, 2]


def test_a_source_that_moves_stays_the_one_it_was(apart: Decider) -> None:
    apart.upsert([source(1)], NOW)
    visit(apart, NOW)
    number = apart.roster.urls.get(source(1).url)
    apart.upsert([msgspec.structs.replace(source(1), url="https://b.example/new")], NOW)
    assert apart.roster.urls.get("https://b.example/new") == number
    assert visit(apart, NOW + 1.0) == []
    assert visit(apart, NOW + DELAY_S) == [1]


def test_fetched_once_nothing_brings_a_source_back(apart: Decider) -> None:
    apart.upsert([source(1), source(2)], NOW)
    apart.holds.once = True
    assert visit(apart, NOW) == [1, 2]
    apart.slots.answered(source(1).url, 503, "100", NOW)
    apart.holds.host_changed(source(1).url, NOW)
    assert visit(apart, NOW + 1000.0) == []


def test_a_source_that_left_in_flight_is_free_of_its_host(apart: Decider) -> None:
    apart.upsert([source(1)], NOW)
    intents = apart.choose(NOW, 1.0)
    apart.remove([1])
    apart.give_back(intents, NOW)
    assert len(apart) == len(apart.hosts) == 0
    assert chosen(apart, NOW + 100.0) == []


# -- holds


def failed(intent: Intent, at: float, decider: Decider, **more: object) -> Visit:
    """A visit that was refused, with what its host asked for."""
    decider.slots.take(intent.host, at)
    decider.slots.done(intent.host, at)
    decider.slots.answered(intent.host, 429, "60", at, intent.source.url)
    held = decider.slots.held(intent.host, at)[0]
    url = intent.source.url
    return Visit(intent, at, FetchResult(Response(url, 429, {}, b""), url, requests=1, host_held_until=held))


def test_after_a_hold_another_source_of_the_host_goes_first_whatever_the_failing_one_is_worth(decider: Decider) -> None:
    worth_most = msgspec.structs.replace(source(1), importance=1000.0)
    decider.upsert([worth_most, source(2), source(3)], NOW, [past(each, failures=0) for each in (1, 2, 3)])
    order, now = [], NOW + DELAY_S
    for _ in range(2):
        (intent,) = decider.choose(now, 1.0)
        order.append(intent.source.id)
        visits = [failed(intent, now, decider) if intent.source.id == 1 else answered(intent, now)]
        decider.learn_from(visits, now)
        decider.holds.end_visits([intent], now)
        now = max(decider.slots.free_at("a.example"), now + DELAY_S)
    assert order[0] == 1
    assert order[1] != 1
    assert now >= NOW + 60.0, "the host was left alone for as long as it asked"


def test_of_a_few_that_are_asked_for_nothing_else_is_fetched_not_even_what_comes_meanwhile(decider: Decider) -> None:
    elsewhere = [msgspec.structs.replace(source(n), url=f"https://{n}.example/") for n in (1, 2, 3)]
    decider.upsert(elsewhere[:2], NOW)
    assert len(decider.holds.fetch_only({1})) == 1
    decider.upsert(elsewhere[2:], NOW)
    assert [intent.source.id for intent in decider.choose(NOW + DELAY_S, 3.0)] == [1]


def test_the_only_source_of_a_host_is_known_to_be_alone(decider: Decider) -> None:
    other = msgspec.structs.replace(source(3), url="https://b.example/3")
    decider.upsert([source(1), source(2), other], NOW)
    chosen = decider.choose(NOW + DELAY_S, 3.0)
    assert {intent.host: intent.alone for intent in chosen} == {"a.example": False, "b.example": True}


def test_a_delay_is_lifted_where_every_source_is_a_host_of_its_own(tmp_path: Path) -> None:
    config = Config(politeness=Politeness(scope="url", delay="1s"))
    slots = HostSlots(config.politeness, START, random.Random(0))
    decider = empty_decider(config, slots, START)
    decider.upsert([source(1)], NOW)
    (intent,) = decider.choose(NOW, 1.0)
    slots.take(intent.host, NOW)
    slots.done(intent.host, NOW, 3600.0)
    decider.learn_from([answered(intent, NOW)], NOW)
    decider.holds.end_visits([intent], NOW)
    later = NOW + 1000.0
    assert decider.choose(later, 1.0) == []
    decider.release([], [intent.host], later)
    assert len(decider.choose(later, 1.0)) == 1


@pytest.fixture
def refused(tmp_path: Path) -> Decider:
    """One source, held because of its robots.txt, under settings that are known."""
    config = Config()
    slots = HostSlots(config.politeness, START, random.Random(0))
    decider = empty_decider(config, slots, START)
    options = source(1).terms(decider.rules.defaults)
    under = decider.rules.causes.of_source("robots", source(1), options)
    held = {"held_until": NOW + 9e4, "held_by": "robots.txt does not allow it", "held_cause": "robots"}
    decider.upsert([source(1)], NOW, [past(1, last=None, held_under=under, failures=3, **held)])
    return decider


def test_a_hold_ends_when_its_owner_says_that_its_cause_does_not_count(refused: Decider) -> None:
    assert chosen(refused, NOW + 100.0) == []
    (wait,) = refused.holds.waits(NOW + 100.0)
    assert (wait.cause, wait.words) == ("robots", "robots.txt does not allow it")
    refused.upsert([msgspec.structs.replace(source(1), options=SourceOptions(robots=False))], NOW + 100.0)
    assert chosen(refused, NOW + 200.0) == [1]


def test_other_edits_leave_a_hold_alone(refused: Decider) -> None:
    refused.upsert([msgspec.structs.replace(source(1), importance=3.0, title="A")], NOW + 100.0)
    assert chosen(refused, NOW + 200.0) == []


def test_a_hold_that_is_released_is_over_and_to_be_stored_so(refused: Decider) -> None:
    refused.slots.hold("a.example", NOW + 9e4, "asked to")
    (stored,) = refused.release([1, 99], ["a.example", "nobody.example"], NOW + 100.0)
    assert (stored.source, stored.held_until, stored.failures) == (1, 0.0, 0)
    assert list(refused.holds.waits(NOW + 200.0)) == []
    assert chosen(refused, NOW + 200.0) == [1]


def test_the_policy_is_told_when_finds_become_visible(decider: Decider) -> None:
    late = msgspec.structs.replace(source(2, "b.example"), options=SourceOptions(index_delay=43200.0))
    decider.upsert([source(1), late], NOW, [past(1), past(2)])
    for intent in decider.choose(NOW, 10.0):
        decider.policy.release(np.array([intent.number]))
    plain, halved = decider.policy.index(np.array([0, 1]), NOW + 3600.0)
    assert halved == pytest.approx(plain / 2)
    decider.upsert([source(2, "b.example")], NOW, [past(2)])
    plain, again = decider.policy.index(np.array([0, 1]), NOW + 3600.0)
    assert again == pytest.approx(plain)


# -- lists


def test_a_list_is_read_in_full_if_sources_were_added_to_its_host_since(decider: Decider) -> None:
    site = Source(id=1, url="https://a.example/sitemap.xml", kind="sitemap", added=START)
    decider.upsert([site], NOW, [past(1, etag='"1"', modified="then")])
    (before,) = decider.choose(NOW + 10 * DELAY_S, 1.0)
    assert (before.progress.etag, before.progress.modified) == ('"1"', "then")
    decider.give_back([before], NOW + 10 * DELAY_S)
    decider.upsert([Source(id=2, url="https://a.example/2", state="paused", added=NOW)], NOW + 20 * DELAY_S)
    (again,) = decider.choose(NOW + 30 * DELAY_S, 1.0)
    assert (again.source.id, again.progress.etag, again.progress.modified) == (1, "", "")


def test_what_somebody_removed_a_moment_ago_is_not_fetched(tmp_path: Path) -> None:
    config = Config(politeness=Politeness(delay="0s", min_interval="0s"))
    with SqliteStore(tmp_path / "recrawl.db") as store:
        store.add([Source(url="https://a.example/"), Source(url="https://b.example/")])
        decider = wiring.make_decider(config, store, HostSlots(config.politeness, START, random.Random(0)), START)
        store.remove([1])
        assert chosen(decider, NOW) == [2]
        assert chosen(decider, NOW) == []
        assert decider.roster.visited_ids() == {2}
