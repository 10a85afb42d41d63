"""Feeds that end too early: what is found in the part must be in the whole, with the same title, link and date.

Summaries may differ: the part of a broken feed may be read by another reader than the whole.
"""

from __future__ import annotations

import pytest

from corpora.feeds_of_others import document, of_everybody
from recrawl.crawl.reading.findings import FoundItem, UnreadableError
from recrawl.crawl.reading.readers import read

pytestmark = pytest.mark.corpora
CUTS, CUTS_OF_LONG = 12, 200


def test_a_feed_cut_anywhere_has_no_item_that_the_whole_one_has_not(judged):
    with judged("feed cuts") as corpus:
        for name, body in of_everybody():
            try:
                whole = read(document(name, body)).items
            except UnreadableError:
                continue
            count = 0 if not whole else CUTS if len(whole) < 3 else CUTS_OF_LONG
            for cut in sorted({len(body) * k // (count + 1) for k in range(1, count + 1)}):
                corpus.check(f"{name}@{cut}", [], lambda n=name, b=body[:cut], w=whole: _made_up(n, b, w))


def _made_up(name: str, body: bytes, whole: tuple[FoundItem, ...]) -> list[FoundItem]:
    try:
        items = read(document(name, body)).items
    except UnreadableError:
        return []
    known = {_told(item) for item in whole}
    return [item for item in items if _told(item) not in known]


def _told(item: FoundItem) -> tuple[str, str, str, float | None]:
    return item.key, item.title, item.link, item.published
