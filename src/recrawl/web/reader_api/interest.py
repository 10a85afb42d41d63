"""What readers do with items says what interests them: which of it counts.

Opening an item is a click, and so is starring it; one of each counts per reader and item. Marking all as read is none:
who does that has not looked. Programs say both in the same words, so what is marked together tells them apart: somebody
opens items one by one, and a program that saves its messages up sends a few of them together; many at once, or many
of one source, were swept away. What is listed and never opened needs no word: it stands there and is not clicked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from recrawl.store.reader_records import Reader
from recrawl.store.records import Click

MOST_OPENED, MOST_OPENED_OF_ONE = 10, 4
"""Items marked as read in one request, of all sources and of one, that somebody may have opened."""


def opened(reader: Reader, marked: Sequence[tuple[int, int]], at: float) -> list[Click]:
    """Clicks, as far as items marked as read together, (item, source), were opened."""
    if len(marked) > MOST_OPENED:
        return []
    of_source = Counter(source for _, source in marked)
    few = [item for item, source in marked if of_source[source] <= MOST_OPENED_OF_ONE]
    return [Click(item=item, at=at, client=f"reader:{reader.id}") for item in few]


def starred(reader: Reader, marked: Sequence[tuple[int, int]], at: float) -> list[Click]:
    """Clicks for items that were starred."""
    return [Click(item=item, at=at, client=f"star:{reader.id}") for item, _ in marked]
