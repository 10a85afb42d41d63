"""Why a browser shows a page, since when, and what that takes, in words and numbers."""

from __future__ import annotations

import msgspec

from recrawl.crawl.rendering.record import unpacked


class PageRendering(msgspec.Struct, frozen=True, kw_only=True):
    """Of one page; times of one visit, in seconds, smoothed over the last.

    Parameters
        since: Unix seconds
        why: "shell" (it is empty without scripts) or "asked" (its owner wants it so)
        seconds, cpu_s: of the browser; `plain_s` of its document alone
        measured_cost: what that makes of a fetch, where a plain one costs 1
        requests, refused, received: that it made beside its document, those not let through, and bytes that came in
        refusals: why some were not let through
        memory: bytes of the browser's processes at most
        words: all of it in two sentences
    """

    since: float
    why: str
    seconds: float
    cpu_s: float
    plain_s: float
    measured_cost: float
    requests: int
    refused: int
    refusals: tuple[str, ...]
    received: int
    memory: int
    words: str


def page_rendering(stored: bytes | None) -> PageRendering | None:
    """Of a page, from what the store keeps of it; None if no browser shows it."""
    record = unpacked(stored)
    if not record.since:
        return None
    return PageRendering(**{name: getattr(record, name) for name in PageRendering.__struct_fields__})
