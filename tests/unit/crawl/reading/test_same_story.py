"""Which items tell the same story: held to a slow comparison of all with all, and explained."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.same_story import ALIKE, APART_S, FEWEST_WORDS, stories
from recrawl.store.records import Item

WORDS = [
    *[
        "harbour",
        "gets",
        "shore",
        "power",
        "for",
        "ferries",
        "from",
        "next",
        "year",
        "says",
        "council",
        "after",
        "long",
        "talks",
    ],
    "owners",
]
TITLE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
ITEMS = st.lists(st.tuples(st.integers(1, 5), TITLE, st.integers(0, 6), st.integers(0, 5)), max_size=12)


def item(id: int, source: int, title: str, link: str = "", at: float = 0.0) -> Item:
    return Item(id=id, source=source, key=id, title=title, link=link, first_seen=at)


def slowly(items: list[Item]) -> list[list[int]]:
    """Every item against all before it, the nearest first; those with the same link before those with alike titles."""
    found: list[list[Item]] = []
    of: dict[int, list[Item]] = {}
    for place, each in enumerate(items):
        same = [of[other.id] for other in items[:place] if each.link and other.link == each.link][:1]
        for other in reversed(items[:place]):
            mine, theirs = set(each.title.split()), set(other.title.split())
            alike = len(mine & theirs) >= ALIKE * len(mine | theirs) and len(mine) >= FEWEST_WORDS
            if alike and abs(each.first_seen - other.first_seen) <= APART_S:
                same.append(of[other.id])
        story = next((story for story in same if all(every.source != each.source for every in story)), None)
        if story is None:
            story = []
            found.append(story)
        story.append(each)
        of[each.id] = story
    return [[each.id for each in story] for story in found]


@given(ITEMS)
def test_they_are_what_a_comparison_of_all_with_all_finds(given: list[tuple[int, str, int, int]]) -> None:
    items = [
        item(k, source, title, f"https://a.example/{link}" if link else "", days * 86400.0)
        for k, (source, title, link, days) in enumerate(given, 1)
    ]
    told = stories(items)
    assert [[each.id for each in story.items] for story in told] == slowly(items)
    assert all(set(story.why) == {each.id for each in story.items[1:]} for story in told)


def test_ten_sources_are_one_entry_with_ten_links_and_the_reasons() -> None:
    title = "Harbour to get shore power for ferries from 2027"
    items = [item(k, k, title.replace("to get", "gets") if k % 2 else title) for k in range(1, 11)]
    [told] = stories(items)
    assert len(told.items) == 10
    assert told.why[2] == "7 of 10 words of the titles"


def test_a_link_tells_whoever_led_there() -> None:
    first, second = item(1, 1, "A", "https://a.example/x?utm_source=rss"), item(2, 2, "B", "https://a.example/x")
    [told] = stories([first, second])
    assert told.why == {2: "the same link"}


def test_items_of_one_source_and_short_titles_stay_apart() -> None:
    assert len(stories([item(1, 1, " ".join(WORDS)), item(2, 1, " ".join(WORDS))])) == 2
    assert len(stories([item(1, 1, "Weekly links"), item(2, 2, "Weekly links")])) == 2


def test_it_is_cheap() -> None:
    """Comparisons, not seconds: a word in every title leads to some of them, not to all."""
    items = [item(k, k, f"the story of number {k} is told in the paper {k % 7} today") for k in range(2000)]
    assert len(stories(items)) == 2000
