"""Numbers are found as in a dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.number_index import NumberIndex

KEYS = st.integers(-3, 30)


@given(st.lists(st.tuples(st.booleans(), KEYS)), st.integers(0, 500))
def test_it_finds_what_a_dict_finds(steps: list[tuple[bool, int]], expected: int) -> None:
    keys, wanted = list[int](), dict[int, int]()
    index = NumberIndex(keys.__getitem__)
    index.reserve(expected)
    for comes, key in steps:
        if comes:
            keys.append(key)
            index.put(len(keys) - 1)
            wanted[key] = len(keys) - 1
        elif key in wanted:
            index.remove(wanted.pop(key))
        assert len(index) == len(wanted)
    assert {key: index.find(key) for key in range(-3, 31)} == {key: wanted.get(key) for key in range(-3, 31)}


def test_one_that_was_replaced_cannot_remove_the_other() -> None:
    keys = ["a", "a"]
    index = NumberIndex(keys.__getitem__)
    index.put(0)
    index.put(1)
    index.remove(0)
    assert (index.find("a"), len(index)) == (1, 1)


def test_places_of_those_that_left_are_used_again() -> None:
    keys = list(range(10_000))
    index = NumberIndex(keys.__getitem__)
    for number in keys:
        index.put(number)
        index.remove(number)
    assert len(index._places) < 1000
