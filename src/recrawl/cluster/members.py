"""The members of the fleet: which shards there are, what they last said, and who shares the buckets.

A shard has a name, kept over restarts, and incarnations, of which one is the shard now (`gives_way`): a node that was
cut off for long is given up, its shards are started elsewhere, and when it is back the incarnations that were there
report again, until Ray notices. They have no order that all machines would agree on, so leases decide: they are with
one of them. Pure: whoever asks says what time it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from recrawl.cluster.messages import Report

FRESH_S = 4.0
"""Reports older than this tell nothing about the present."""
SILENT_S = 15.0
"""A shard not heard of for so long is no member any more: the others take its buckets."""
STARTING_S = 45.0
"""One that was never heard of is given longer: it has to start, and on a new machine to compile."""
WINDOW_S = 10.0
"""Spend is shown as a mean over so long."""


@dataclass(slots=True)
class Member:
    """One shard as last heard of.

    Parameters
        since: when its present incarnation was first heard of
        heard: when it last spoke
        spent: (when, tokens spent in this incarnation) over the last seconds
        others: what other incarnations of this name said last
    """

    report: Report
    since: float
    heard: float
    spent: deque[tuple[float, float]] = field(default_factory=deque)
    others: dict[str, Report] = field(default_factory=dict)

    def spend(self) -> float:
        """Tokens per second over the last seconds; not less than none, whatever was given back for requests unsent."""
        (began, before), (ended, after) = self.spent[0], self.spent[-1]
        return max(after - before, 0.0) / (ended - began) if ended > began else 0.0


@dataclass(frozen=True, slots=True)
class Gained:
    """What a report adds to the sums of the fleet."""

    requests: int = 0
    captured: float = 0.0
    failed: int = 0


class Members:
    """Of one coordinator. After a change of leader every shard wanted counts as heard of just then."""

    def __init__(self, wanted: Iterable[str], now: float) -> None:
        self._wanted = tuple(wanted)
        self._entries: dict[str, Member] = {}
        self._awaited = dict.fromkeys(self._wanted, now)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names asked for."""
        return self._wanted

    def want(self, names: Iterable[str], now: float) -> None:
        """Others are asked for from now on."""
        before, self._wanted = self._wanted, tuple(names)
        self._awaited.update((name, now) for name in self._wanted if name not in before)

    def hear(self, report: Report, now: float) -> Gained:
        """Take down what a shard says; what is new in it. An incarnation that is not the shard's now adds nothing."""
        entry = self._entries.get(report.shard)
        if entry is None:
            entry = self._entries[report.shard] = Member(
                Report(shard=report.shard, incarnation=report.incarnation), now, now
            )
        elif entry.report.incarnation != report.incarnation:
            if not gives_way(entry.report, now - entry.heard, report, first=report.incarnation not in entry.others):
                return Gained()
            others = entry.others | {entry.report.incarnation: entry.report}
            known = others.pop(report.incarnation, Report(shard=report.shard, incarnation=report.incarnation))
            entry = self._entries[report.shard] = Member(known, now, now, others=others)
        before, entry.report, entry.heard = entry.report, report, now
        entry.spent.append((now, report.spent))
        while now - entry.spent[0][0] > WINDOW_S:
            entry.spent.popleft()
        return Gained(
            max(report.requests - before.requests, 0),
            max(report.captured - before.captured, 0.0),
            max(report.failed - before.failed, 0),
        )

    def forget(self, name: str) -> None:
        """A shard has been ended."""
        self._entries.pop(name, None)
        self._awaited.pop(name, None)

    def entry(self, name: str) -> Member | None:
        """What is known of a shard."""
        return self._entries.get(name)

    def names(self) -> list[str]:
        """All that are wanted or were heard of."""
        return sorted({*self._wanted, *self._entries}, key=_in_order)

    def present(self, name: str, now: float) -> bool:
        """Whether it reported lately, or could not have yet."""
        entry = self._entries.get(name)
        if entry is not None:
            return now - entry.heard < SILENT_S
        return name in self._awaited and now - self._awaited[name] < STARTING_S

    def members(self, now: float) -> tuple[str, ...]:
        """Those that share the buckets."""
        return tuple(name for name in self._wanted if self.present(name, now))

    def surplus(self, now: float) -> list[str]:
        """Those not wanted any more that have nothing left, or are gone."""
        return [
            name
            for name, entry in self._entries.items()
            if name not in self._wanted and (entry.report.buckets == 0 or not self.present(name, now))
        ]


def shard_name(number: int) -> str:
    """Of the shards, counted from 0."""
    return f"shard-{number}"


def _in_order(name: str) -> tuple[int, str]:
    """Number 10 after number 9."""
    return len(name), name


def gives_way(now_it: Report, silent_s: float, other: Report, *, first: bool) -> bool:
    """Whether the incarnation that is the shard gives way to another.

    Parameters
        silent_s: how long it has said nothing
        first: the other is heard of for the first time

    One that was just started has nothing yet: it is waited with until the last one is known to be silent.

    >>> holder, idle = Report(shard="a", incarnation="2", buckets=300), Report(shard="a", incarnation="1")
    >>> gives_way(holder, 1.0, idle, first=True), gives_way(idle, 1.0, holder, first=False)
    (False, True)
    """
    if silent_s > FRESH_S or other.buckets > now_it.buckets:
        return True
    return first and now_it.buckets == 0
