"""The same story from several sources: items with one link, or with titles of nearly the same words.

Cheap and explainable: two items are the same if they lead to the same address, or if at least `ALIKE` of the words of
both titles are common to both and they were found within days of each other. Only items with a rare word in common are
compared.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from recrawl.crawl.urls import without_tracking
from recrawl.store.records import Item
from recrawl.units import DAY_S

ALIKE = 0.7
FEWEST_WORDS = 4
"""Shorter titles say too little: "Weekly links" is another story each time."""
APART_S = 3 * DAY_S
COMPARED = 40
"""Items that share a word and are compared with each other; what more of them share tells nothing."""
LONGEST_TITLE = 300
_WORD = re.compile(r"\w+")


class Story(msgspec.Struct):
    """Items that tell the same: the first of them stands for all, and `why` says of each other one what tells it."""

    items: list[Item]
    why: dict[int, str] = {}


def stories(items: Sequence[Item]) -> list[Story]:
    """All items in their order, each story where its first item stands. Items of one source are never one story."""
    found: list[Story] = []
    words = [_words(item.title) for item in items]
    by_link: dict[str, Story] = {}
    by_word: dict[str, list[int]] = defaultdict(list)
    story_of: list[Story] = []
    for place, item in enumerate(items):
        link = without_tracking(item.link) if item.link else ""
        told = _joined(by_link.get(link), item, "the same link") if link else None
        told = told or _alike(items, words, place, by_word, story_of)
        if told is None:
            told = Story([item], {})
            found.append(told)
        story_of.append(told)
        if link:
            by_link.setdefault(link, told)
        for word in words[place]:
            by_word[word].append(place)
    return found


def _alike(
    items: Sequence[Item],
    words: Sequence[frozenset[str]],
    place: int,
    by_word: dict[str, list[int]],
    of: Sequence[Story],
) -> Story | None:
    """The story with nearly the same title, the nearest in the list first."""
    mine, item = words[place], items[place]
    if len(mine) < FEWEST_WORDS:
        return None
    near = {other for word in mine for other in by_word.get(word, ())[-COMPARED:]}
    for other in sorted(near, reverse=True):
        theirs = words[other]
        common, apart = len(mine & theirs), abs(items[other].first_seen - item.first_seen)
        if common < ALIKE * len(mine | theirs) or apart > APART_S or _numbers(mine) != _numbers(theirs):
            continue
        told = _joined(of[other], item, f"{common} of {len(mine | theirs)} words of the titles")
        if told is not None:
            return told
    return None


def _joined(story: Story | None, item: Item, why: str) -> Story | None:
    if story is None or any(each.source == item.source for each in story.items):
        return None
    story.items.append(item)
    story.why[item.id] = why
    return story


def _numbers(words: frozenset[str]) -> frozenset[str]:
    """ "Part 3" and "Part 4" are two stories, however much else they have in common."""
    return frozenset(word for word in words if word.isdecimal())


def _words(title: str) -> frozenset[str]:
    return frozenset(_WORD.findall(title[:LONGEST_TITLE].casefold()))
