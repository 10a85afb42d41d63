"""Which text of a page is left out because it changes at nearly every visit, in words and numbers."""

from __future__ import annotations

import msgspec

from recrawl.crawl.reading.regions import Region, unpacked
from recrawl.units import show_duration


class RestlessText(msgspec.Struct, frozen=True, kw_only=True):
    """Such text.

    Parameters
        text: what it said last, shortened
        share: of the last visits that found it changed
        changes: how often it changed since it last rested, or went back to what it said before
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
    return [_told(region) for region in unpacked(stored).noisy]


def _told(region: Region) -> RestlessText:
    soonest = f", within {show_duration(region.soonest_s)} at the soonest" if region.soonest_s else ""
    why = f"it changes at nearly every visit ({region.changes} times so far{soonest})"
    if not region.restless:
        why = f"it keeps going back to what it said before ({region.returns} times in a row)"
    return RestlessText(
        text=region.shown,
        share=region.share if region.restless else region.long_moved / region.long_seen,
        changes=region.changes if region.restless else region.returns,
        soonest_s=region.soonest_s,
        words=f"Ignored, because {why}: “{region.shown}”",
    )
