"""The hosts of the catalogue's sources: who is on each, how many visits are under way, until when it is left alone.

Politeness knows hosts by key (`HostSlots.key_of`), the policy by number, as groups of sources that are held together.
This is where the two meet, and the only place that holds groups. Where every source is a host of its own (the scope
"url") there are no groups: the hold of a host is then part of the hold of its source (`holds`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from recrawl.crawl.fetching.politeness import HostSlots
from recrawl.crawl.number_index import NumberIndex
from recrawl.crawl.roster import Roster
from recrawl.learning.labels import Labels
from recrawl.policies.contract import LivePolicy
from recrawl.records import IntArray
from recrawl.store.records import Hold


class Hosts:
    """By the policy's numbers of sources, and by the keys of hosts.

    Parameters
        parallel: visits to one host at a time
    """

    def __init__(self, roster: Roster, slots: HostSlots, policy: LivePolicy, parallel: int) -> None:
        self._roster, self.slots, self._policy, self._parallel = roster, slots, policy, parallel
        self.shared = slots.scope != "url"
        """Whether sources may share a host."""
        self._group_of = array("i")
        self._keys = Labels()
        self._groups = NumberIndex(self._keys.__getitem__)
        self._sources, self._latest = array("i"), array("d")
        """Per group, how many sources of the catalogue it has, and when the latest was added."""
        self._inhabited = 0
        """Groups that have any."""
        self._visits: dict[int, int] = {}
        """Per group, visits that were chosen and have requests left to make."""

    def __len__(self) -> int:
        """How many the catalogue's sources are on."""
        return self._inhabited if self.shared else len(self._roster)

    # -- which source is where

    def add(self, url: str, added: float = -math.inf) -> None:
        """Of the source with the next number, which was added at that time."""
        if self.shared:
            key = self.slots.key_of(url)
            group = self._groups.find(key)
            self._put(self._new(key) if group is None else group, added)

    def add_all(self, urls: Sequence[str], added: Sequence[float]) -> None:
        """Of the sources with the next numbers."""
        before: str | None = None
        for url, moment in zip(urls, added, strict=True) if self.shared else ():
            key = self.slots.key_of(url)
            if key != before:  # sources that came together are often on one host
                before, found = key, self._groups.find(key)
                group = self._new(key) if found is None else found
            self._put(group, moment)

    def _put(self, group: int, added: float) -> None:
        self._group_of.append(group)
        self._latest[group] = max(self._latest[group], added)
        self._inhabited += not self._sources[group]
        self._sources[group] += 1

    def _new(self, key: str) -> int:
        group = len(self._keys)
        self._keys.append(key)
        self._sources.append(0)
        self._latest.append(-math.inf)
        self._groups.put(group)
        return group

    def remove(self, number: int) -> None:
        """A source has left the catalogue."""
        if self.shared:
            group = self._group_of[number]
            self._sources[group] -= 1
            self._inhabited -= not self._sources[group]

    def has_grown_since(self, number: int, time: float) -> bool:
        """Whether sources were added after a time to the host of a source."""
        return self.shared and self._latest[self._group_of[number]] > time

    def groups_from(self, first: int) -> IntArray | None:
        """The policy's groups of sources from a number on."""
        return np.frombuffer(self._group_of, np.int32)[first:].astype(np.int64) if self.shared else None

    def key(self, number: int) -> str:
        """What politeness knows the host of a source by."""
        return self._keys[self._group_of[number]] if self.shared else self._roster.url(number)

    def __iter__(self) -> Iterator[str]:
        """The keys of all."""
        return iter(self._keys if self.shared else self._roster.urls)

    def _heard_of(self) -> Iterator[str]:
        return filter(self.knows, self.slots.heard_of())

    def knows(self, key: str) -> bool:
        """Whether any source is, or was, on a host."""
        return self._groups.find(key) is not None if self.shared else key in self._roster.urls

    def has_sources(self, key: str) -> bool:
        """Whether any source is on a host."""
        group = self._groups.find(key)
        return key in self._roster.urls if not self.shared else group is not None and self._sources[group] > 0

    def has_one_source(self, number: int) -> bool:
        """Whether no other source shares the host of this one."""
        return not self.shared or self._sources[self._group_of[number]] == 1

    def moves(self, number: int, url: str) -> bool:
        """Whether an URL is on another host than a source, as far as that makes a difference."""
        return self.shared and self._groups.find(self.slots.key_of(url)) != self._group_of[number]

    # -- until when

    def free_at(self, number: int) -> float:
        """When politeness allows the next request to the host of a source."""
        return self.slots.free_at(self.key(number))

    def all_free_at(self) -> Iterator[float]:
        """The same of all hosts, once for those that politeness has never heard of."""
        return map(self.slots.free_at, ("", *self._heard_of()))

    def held(self, number: int, now: float) -> tuple[float, str]:
        """Until when the host of a source is held, and why; 0 for not at all."""
        return self.slots.held(self.key(number), now)

    def respect(self, numbers: Iterable[int], strangers: set[str], holds: Iterable[Hold], now: float) -> None:
        """Keep to what hosts have asked of somebody else who crawled these sources up to now.

        `strangers` are hosts that had no source here before.
        """
        keys = {number: self.key(number) for number in numbers}
        for number, key in keys.items():
            if key in strangers and self._roster.is_tried(number):
                self.slots.visited(key, now)
        theirs = set(keys.values())
        self.slots.restore([hold for hold in holds if hold.host in theirs], now)
        if self.shared:
            groups = {self._group_of[number] for number in keys}
            self._hold([group for group in groups if self._free_at(group, now) > now], now)

    def begin_visits(self, numbers: Iterable[int], now: float) -> None:
        """These sources were chosen."""
        if self.shared:
            groups = [self._group_of[number] for number in numbers]
            for group in groups:
                self._visits[group] = self._visits.get(group, 0) + 1
            self._hold(groups, now)

    def end_visits(self, numbers: Iterable[int], now: float) -> None:
        """Visits to these sources have no more requests to make."""
        groups = [self._group_of[number] for number in numbers]
        for group in groups:
            left = self._visits.get(group, 1) - 1
            if left > 0:
                self._visits[group] = left
            else:
                self._visits.pop(group, None)
        self._hold(groups, now)

    def tell(self, keys: Iterable[str], now: float) -> None:
        """Tell the policy until when hosts are held, as far as they are shared and have been seen here."""
        if self.shared:
            found = map(self._groups.find, keys)
            self._hold([group for group in found if group is not None], now)

    def tell_all(self, now: float) -> None:
        """The same of every host, visited or not."""
        if self.shared and len(self._keys):
            until = np.full(len(self._keys), max(self.slots.free_at(""), now))
            for group in map(self._groups.find, self._heard_of()):
                if group is not None:
                    until[group] = self._free_at(group, now)
            self._policy.hold_groups(np.arange(len(until)), until)

    def _hold(self, groups: Iterable[int], now: float) -> None:
        distinct = sorted(set(groups))
        if distinct:
            until = np.array([self._free_at(group, now) for group in distinct])
            self._policy.hold_groups(np.array(distinct, np.int64), until)

    def _free_at(self, group: int, now: float) -> float:
        if self._visits.get(group, 0) >= self._parallel:
            return math.inf
        return max(self.slots.free_at(self._keys[group]), now)
