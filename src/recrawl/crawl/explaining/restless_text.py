"""Which text of a page is left out because it changes at nearly every visit, in words and numbers."""

from __future__ import annotations

import msgspec

from recrawl.crawl.reading.restless import Region, unpacked
from recrawl.units import show_duration


class RestlessText(msgspec.Struct, frozen=True, kw_only=True):
    """Such text.

    Parameters
        text: what it said last, shortened
        share: of the last visits that found it changed
        changes: how often it changed since it last rested
        soonest_s: the shortest time after which it had changed, seconds
        words: all of it in a sentence
    """

    text: str
    share: float
    changes: int
    soonest_s: float
    words: str


def restless_texts(stored: bytes | None) -> list[RestlessText]:
    """Those of a page, from what the store keeps of it."""
    return [_told(region) for region in unpacked(stored).restless]


def _told(region: Region) -> RestlessText:
    often = f"{region.changes} times so far, within {show_duration(region.soonest_s)} at the soonest"
    return RestlessText(
        text=region.shown,
        share=region.share,
        changes=region.changes,
        soonest_s=region.soonest_s,
        words=f"Ignored, because it changes at nearly every visit ({often}): “{region.shown}”",
    )
