"""Sources that crawling found, rather than somebody added: how many there may be, and what was left out.

A sitemap index names others, each of which may be an index, and a list that is followed names pages: without a bound
one site could fill the catalogue. Sources found count per site (the registrable domain, `Source.found_on`) and in all;
what is over either bound is left out, and a note in the store says of which sites and how many. Whoever stores a batch
asks :class:`Finds`, inside the transaction. Sources that somebody added are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from recrawl.config import Discovery
from recrawl.store.records import Source

NOTE = "discovery"
"""Under which stores keep what was left out."""
MOST_SITES = 1000
"""Sites in the note, the latest."""
COUNT = "SELECT found_on, count(*) FROM sources WHERE found_on <> '' GROUP BY found_on"


class LeftOut(msgspec.Struct, kw_only=True):
    """What the latest listing of a site named in vain.

    Parameters
        site: the registrable domain
        found: sources of it that are in the catalogue because they were found
        left_out: how many more were named
        bound: which setting of `[discovery]` they were left out by
        at: Unix seconds
    """

    site: str
    found: int
    left_out: int
    bound: Literal["per_site", "in_all"]
    at: float


class Finds:
    """What the crawls of one batch found, and what becomes of it."""

    def __init__(self, children: Sequence[Source], bounds: Discovery) -> None:
        self._bounds = bounds
        self.children = {child.url: child for child in children}
        self._left_out: Counter[str] = Counter()
        self._found: Counter[str] = Counter()

    def within(self, known: Collection[str], found: Mapping[str, int]) -> list[Source]:
        """Those that may come in: neither `known` by their URL nor over a bound, by how many each site has."""
        self._found.update(found)
        total, kept = self._found.total(), []
        for url, child in self.children.items():
            if url in known:
                continue
            if total >= self._bounds.in_all or self._found[child.found_on] >= self._bounds.per_site:
                self._left_out[child.found_on] += 1
                continue
            kept.append(child)
            self._found[child.found_on] += 1
            total += 1
        return kept

    def note(self, before: bytes | None) -> bytes | None:
        """The store's note, with what these finds change about it; None if there is nothing to say."""
        lines = {each.site: each for each in left_out(before)}
        full = self._found.total() >= self._bounds.in_all
        for child in self.children.values():
            site = child.found_on
            crowded = self._found[site] >= self._bounds.per_site
            if self._left_out[site]:
                lines.pop(site, None)
                lines[site] = LeftOut(
                    site=site,
                    found=self._found[site],
                    left_out=self._left_out[site],
                    bound="per_site" if crowded else "in_all",
                    at=child.added,
                )
            elif not full and not crowded:
                lines.pop(site, None)
        return msgspec.msgpack.encode(list(lines.values())[-MOST_SITES:]) if lines else None


def left_out(note: bytes | None) -> list[LeftOut]:
    """What a note says, the latest last."""
    try:
        return msgspec.msgpack.decode(note, type=list[LeftOut]) if note else []
    except msgspec.DecodeError:
        return []
