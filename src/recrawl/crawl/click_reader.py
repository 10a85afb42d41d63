"""From clicks in the store to what the policy learns of readers.

Clicks are read in the order they were made, a batch at a time, from a mark on that the policy keeps with all it has
learned from them, so that after a restart none counts twice. Clicks on one item are put together: number and mean time
are all the policy needs. What was there to be clicked, and was not, it knows from its own visits.

An item that a search showed counts as a small share of a click: who searches has said what interests them, and not yet
that this item does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from recrawl.store.records import SEARCHER, Click, Item
from recrawl.store.roles import Clicks, Items

BATCH = 1000
"""Clicks read at a time."""
SEARCH_SHARE = 0.1
"""Of a click: what counts where a search shows an item."""
REMEMBERED = 20_000
"""Items whose clicks so far are remembered, those clicked last."""


class ClicksAndItems(Clicks, Items, Protocol):
    """Where clicks are read, and what was clicked."""


@dataclass(slots=True)
class Opened:
    """Clicks on one item of a source (by the store's id): number, mean time, and how many there were before."""

    source: int
    born: float
    found: float
    at: float
    clicks: float
    before: float = 0


@dataclass(slots=True)
class NewClicks:
    """A batch of clicks, the mark to go on from, and whether there may be more."""

    opened: list[Opened]
    mark: int
    more: bool


def gather(clicks: Sequence[Click], items: Mapping[int, Item], now: float) -> dict[int, Opened]:
    """Clicks put together by item, but for those on items that are gone, on changes, and from before it was found.

    Times in the future are taken for now, as are those of publication after the item was found for that.
    """
    out: dict[int, Opened] = {}
    for click in clicks:
        item, at = items.get(click.item), min(click.at, now)
        if item is None or item.kind != "item" or click.count <= 0 or not at >= item.first_seen:
            continue
        known, count = out.get(item.id), click.count * (SEARCH_SHARE if click.client.startswith(SEARCHER) else 1)
        if known is None:
            born = item.first_seen if item.published is None else min(item.published, item.first_seen)
            out[item.id] = Opened(item.source, born, item.first_seen, at, count)
        else:
            known.clicks += count
            known.at += (at - known.at) * count / known.clicks
    return out


@dataclass(slots=True)
class ClickReader:
    """Reads clicks, and remembers how often items were clicked before."""

    counts: dict[int, float] = field(default_factory=dict)

    def listen(self, store: ClicksAndItems, mark: int, now: float) -> NewClicks:
        """The next batch after a mark."""
        clicks = store.clicks(mark, BATCH)
        if not clicks:
            return NewClicks([], mark, more=False)
        found = ((id, store.item(id)) for id in {click.item for click in clicks})
        opened = gather(clicks, {id: item for id, item in found if item is not None}, now)
        for id, each in opened.items():
            each.before = self.counts.pop(id, 0)
            self.counts[id] = each.before + each.clicks
        while len(self.counts) > REMEMBERED:
            del self.counts[next(iter(self.counts))]
        return NewClicks(list(opened.values()), clicks[-1].id, more=len(clicks) == BATCH)
