"""Numbers are found as in a dict."""

from __future__ import annotations

import numpy as np
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


@given(st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000)), st.sets(st.integers(0, 5000)))
def test_what_may_be_here_leaves_out_nothing_that_is(one_by_one: set[int], at_once: set[int], gone: set[int]) -> None:
    keys = [f"https://{k}.example/" for k in [*one_by_one, *(at_once - one_by_one)]]
    index = NumberIndex(keys.__getitem__, often_missed=True)
    for number in range(len(one_by_one)):
        index.put(number)
    rest = np.arange(len(one_by_one), len(keys))
    index.put_all(rest, np.array([hash(keys[number]) for number in rest], np.int64))
    for number, key in enumerate(keys):
        if key in {f"https://{k}.example/" for k in gone}:
            index.remove(number)
    asked = [f"https://{k}.example/" for k in range(5001)]
    here = {place for place, key in enumerate(asked) if index.find(key) is not None}
    assert here <= set(index.possible(asked).tolist())


def test_hardly_any_that_is_not_here_is_looked_for() -> None:
    keys = [f"https://{k}.example/" for k in range(10_000)]
    index = NumberIndex(keys.__getitem__, often_missed=True)
    for number in range(len(keys)):
        index.put(number)
    assert len(index.possible([f"https://{k}.example/feed" for k in range(10_000)])) < 2500


def test_all_may_be_here_where_nobody_keeps_account() -> None:
    assert NumberIndex([0].__getitem__).possible(["a", "b"]).tolist() == [0, 1]
