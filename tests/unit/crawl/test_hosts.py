"""Which source is on which host, and what the policy is told of hosts."""

from __future__ import annotations

import math
from random import Random
from typing import Any

from recrawl.config import Politeness
from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.hosts import Hosts
from recrawl.crawl.roster import Roster
from recrawl.store.records import Hold, Progress, Source

START, DELAY_S = 1_700_000_000.0, 10.0
NOW = START + 1000.0


class Groups:
    """A policy that remembers until when groups are held."""

    def __init__(self) -> None:
        self.held: dict[int, float] = {}

    def hold_groups(self, groups: Any, until: Any) -> None:
        self.held.update(zip(groups.tolist(), until.tolist(), strict=True))


def made(*urls: str, scope: Any = "host", parallel: int = 1) -> tuple[Hosts, Groups, Roster]:
    roster, groups = Roster(), Groups()
    slots = HostSlots(Politeness(delay="10s", scope=scope, parallel_per_host=parallel), START, Random(0))
    hosts = Hosts(roster, slots, groups, parallel)  # type: ignore[arg-type]
    for id, url in enumerate(urls, 1):
        roster.add(Source(id=id, url=url))
        hosts.add(url)
    return hosts, groups, roster


def test_sources_of_one_host_share_a_group() -> None:
    hosts, _, _ = made("https://a.example/1", "https://b.example/1", "https://a.example/2")
    assert hosts.groups_from(0).tolist() == [0, 1, 0]  # type: ignore[union-attr]
    assert (len(hosts), list(hosts), hosts.key(2)) == (2, ["a.example", "b.example"], "a.example")
    assert not hosts.has_one_source(0)
    assert hosts.has_one_source(1)
    assert hosts.moves(0, "https://b.example/1")
    assert not hosts.moves(0, "https://a.example/other")


def test_several_added_at_once_are_where_they_were_one_by_one() -> None:
    urls = ["", "x", "https://a.example/1", "https://a.example/2", "https://b.example/", "https://a.example/3"]
    one_by_one, _, _ = made(*urls)
    hosts, _, _ = made()
    hosts.add_all(urls, [0.0] * len(urls))
    assert (list(hosts), len(hosts)) == (list(one_by_one), len(one_by_one))
    assert hosts.groups_from(0).tolist() == one_by_one.groups_from(0).tolist()  # type: ignore[union-attr]


def test_a_host_is_known_after_its_last_source_left() -> None:
    hosts, _, _ = made("https://a.example/1")
    hosts.remove(0)
    assert (len(hosts), hosts.knows("a.example"), hosts.has_sources("a.example")) == (0, True, False)


def test_a_host_with_as_many_visits_as_it_may_have_is_held_until_one_is_over() -> None:
    hosts, groups, _ = made("https://a.example/1", "https://a.example/2", parallel=2)
    hosts.begin_visits([0], NOW)
    assert groups.held == {0: NOW}
    hosts.begin_visits([1], NOW)
    assert groups.held == {0: math.inf}
    hosts.end_visits([0], NOW)
    assert groups.held == {0: NOW}


def test_the_delay_of_a_host_is_told_when_its_request_is_over() -> None:
    hosts, groups, _ = made("https://a.example/1")
    hosts.begin_visits([0], NOW)
    hosts.slots.take("a.example", NOW)
    hosts.slots.done("a.example", NOW)
    hosts.end_visits([0], NOW)
    assert groups.held == {0: NOW + DELAY_S}


def test_what_others_were_asked_is_kept_to_for_hosts_with_sources_here() -> None:
    hosts, groups, roster = made("https://a.example/1", "https://b.example/1")
    roster.put_progress(1, Progress(source=2, last=NOW - 5.0))
    holds = [Hold(host=host, until=NOW + 60.0, reason="status 503") for host in ("a.example", "c.example")]
    hosts.respect([0, 1], {"b.example"}, holds, NOW)
    assert groups.held == {0: NOW + 60.0, 1: NOW + DELAY_S}
    assert hosts.slots.held("c.example", NOW) == (0.0, "")


def test_where_every_source_is_a_host_of_its_own_there_are_no_groups() -> None:
    hosts, groups, _ = made("https://a.example/1", "https://a.example/2", scope="url")
    hosts.begin_visits([0], NOW)
    hosts.tell(hosts, NOW)
    assert (hosts.groups_from(0), groups.held, len(hosts)) == (None, {}, 2)
    assert hosts.has_one_source(0)
    assert not hosts.moves(0, "https://b.example/")
