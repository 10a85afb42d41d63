"""Until when sources are held, and what the policy is told of it."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from recrawl.config import Config, Politeness, SourceOptions
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.hold_causes import HOST, INTERVAL, Causes
from recrawl.crawl.holds import Holds
from recrawl.crawl.hosts import Hosts
from recrawl.crawl.owner_schedules import OwnerSchedules
from recrawl.crawl.roster import Roster
from recrawl.crawl.visits import CrawlRules
from recrawl.store.records import Progress, Source

NOW = 1_700_000_000.0


class Told:
    """A policy that remembers until when it was told to hold sources and groups."""

    def __init__(self) -> None:
        self.sources: dict[int, float] = {}

    def hold(self, ids: Any, until: Any) -> None:
        self.sources.update(zip(ids.tolist(), until.tolist(), strict=True))

    def hold_groups(self, groups: Any, until: Any) -> None:
        pass

    def due(self, ids: Any) -> Any:
        return np.asarray(ids) + NOW


class Scene:
    """Sources on hosts of their own, and everybody who knows of their holds."""

    def __init__(self, *sources: Source, scope: Any = "host", causes: Causes | None = None) -> None:
        self.policy, self.roster = Told(), Roster()
        self.slots = HostSlots(Politeness(delay="10s", scope=scope), NOW - 1000.0, Random(0))
        self.rules = CrawlRules(min_interval_s=30.0, causes=causes or Causes())
        policy: Any = self.policy
        self.hosts, self.schedules = Hosts(self.roster, self.slots, policy, 1), OwnerSchedules(self.roster)
        self.holds = Holds(self.roster, self.hosts, self.schedules, policy, self.rules)
        self.holds.now = NOW
        for number, source in enumerate(sources):
            self.roster.add(source)
            self.hosts.add(source.url)
            self.schedules.put(number, source.terms(self.rules.defaults))
            self.schedules.request(number, source.wanted)

    def progress(self, number: int, **more: Any) -> None:
        self.roster.put_progress(number, Progress(source=number + 1, **more))


def source(id: int = 1, **more: Any) -> Source:
    return Source(id=id, url=f"https://{id}.example/", **more)


def test_a_source_is_held_by_its_last_visit_the_least_interval_and_its_owner_s() -> None:
    scene = Scene(source(), source(2, options=SourceOptions(interval=90.0)), source(3))
    scene.progress(0, last=NOW)
    scene.progress(1, last=NOW)
    scene.progress(2, last=NOW, held_until=NOW + 500.0)
    assert [scene.holds.until(number) - NOW for number in range(3)] == [30.0, 90.0, 500.0]


def test_one_that_was_asked_for_is_held_by_nothing_of_its_own() -> None:
    scene = Scene(source(wanted=NOW))
    scene.progress(0, last=NOW - 1.0, held_until=NOW + 500.0)
    assert scene.holds.until(0) == 0.0
    scene.progress(0, last=NOW + 1.0)
    assert scene.holds.until(0) == NOW + 31.0


def test_the_policy_holds_paused_sources_for_ever() -> None:
    scene = Scene(source(), source(2, state="paused"))
    scene.progress(0, last=NOW)
    scene.holds.tell([0, 1])
    assert scene.policy.sources == {0: NOW + 30.0, 1: math.inf}


def test_where_every_source_is_a_host_of_its_own_the_two_holds_are_one() -> None:
    scene = Scene(source(), scope="url")
    scene.slots.hold("https://1.example/", NOW + 100.0, "asked to wait")
    scene.holds.host_changed("https://1.example/", NOW)
    assert scene.policy.sources == {0: NOW + 100.0}


def test_what_is_ready_reachable_and_due_leaves_out_what_is_held() -> None:
    scene = Scene(source(), source(2), source(3, state="retired"))
    scene.progress(1, last=NOW)
    assert scene.holds.ready(NOW) == {0}
    assert scene.holds.next_due(NOW) == NOW
    assert not scene.holds.reachable([1], NOW)
    assert scene.holds.reachable([1], NOW + 30.0)
    assert scene.holds.ends(NOW) == [NOW + 30.0]


def test_each_source_that_waits_says_why() -> None:
    scene = Scene(source(), source(2), source(3), source(4))
    scene.progress(0, held_until=NOW + 500.0, held_by="no such name", held_cause="dns")
    scene.progress(1, last=NOW)
    scene.slots.hold("3.example", NOW + 60.0, "asked to wait")
    told = [(wait.cause, wait.until - NOW) for wait in scene.holds.waits(NOW)]
    assert told == [("dns", 500.0), (INTERVAL, 30.0), (HOST, 60.0)]


def test_fetching_a_few_holds_the_others_and_those_that_come_meanwhile() -> None:
    scene = Scene(source(), source(2))
    assert scene.holds.fetch_only({1}) == {0}
    assert scene.policy.sources == {1: math.inf}
    scene.roster.add(source(3))
    scene.hosts.add("https://3.example/")
    scene.holds.added(2, 3)
    scene.holds.visited([0])
    scene.holds.tell([0, 2])
    assert scene.policy.sources == {0: math.inf, 1: math.inf, 2: math.inf}


@pytest.mark.parametrize("allowed", [False, True])
def test_a_hold_ends_with_the_setting_it_rests_on(allowed: bool) -> None:
    config = Config()
    before = Causes.of(config)
    changed = msgspec.structs.replace(config, fetch=msgspec.structs.replace(config.fetch, allow_private=allowed))
    scene = Scene(source(), causes=Causes.of(changed))
    under = before.of_source("address", source(), source().terms(scene.rules.defaults))
    held = Progress(source=1, held_until=NOW + 500.0, held_cause="address", held_under=under, failures=2)
    assert scene.holds.checked(0, held, NOW).is_held(NOW) is not allowed
    assert [each.source for each in scene.holds.drain_lifted()] == ([1] if allowed else [])
    assert scene.holds.drain_lifted() == []


def test_what_a_clock_ahead_wrote_is_cut_to_the_longest_hold() -> None:
    scene = Scene(source())
    checked = scene.holds.checked(0, Progress(source=1, last=NOW + 1e6, held_until=NOW + 1e9), NOW)
    assert checked.last == NOW
    assert checked.held_until == NOW + 7 * 86_400.0
