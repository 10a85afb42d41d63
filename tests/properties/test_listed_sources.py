"""The places of sources in lists, against dictionaries: whoever enters and leaves, in any order."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.lists import Rings
from recrawl.learning.listed_sources import BETTER, NOWHERE, WITNESSES, ListedSources

TARGETS, LISTS, POINTS = 12, 7, 3
SOME = st.lists(st.integers(0, TARGETS - 1), unique=True, max_size=TARGETS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("enter"), SOME, st.integers(0, LISTS - 1)),
        st.tuples(st.just("leave"), SOME, st.just(0)),
        st.tuples(st.just("drop"), st.just([]), st.integers(0, LISTS - 1)),
        st.tuples(st.just("elect"), SOME, st.integers(0, 1000)),
    ),
    max_size=30,
)


def evidence(ids: np.ndarray) -> np.ndarray:
    return np.repeat(ids[:, None], POINTS, axis=1).astype(np.float32)


def elect(sources: ListedSources, target: int, told: np.ndarray) -> None:
    """Each list tells so much."""
    sources.elect(np.array([target]), lambda places: told[sources.owner[places]])


def compare(sources: ListedSources, rings: Rings) -> None:
    everyone = np.arange(TARGETS)
    positions, places = sources.rings(everyone)
    assert len(np.unique(places)) == len(places)
    np.testing.assert_array_equal(sources.target[places], positions)
    for target in everyone.tolist():
        mine = places[positions == target]
        assert len(mine) <= WITNESSES
        assert set(sources.owner[mine].tolist()) == set(rings.named.get(target, ()))
        assert sources.places(np.array([target]))[0] == (mine[0] if len(mine) else NOWHERE)
        if len(mine):
            if rings.heard[target] is None:
                rings.heard[target] = int(sources.owner[mine[0]])
            assert sources.owner[mine[0]] == rings.heard[target]
    for row in range(LISTS):
        found = sources.places_in(everyone, row)
        named = [row in rings.named.get(target, ()) for target in range(TARGETS)]
        np.testing.assert_array_equal(found != NOWHERE, named)
        assert np.all(sources.owner[found[named]] == row)
    free = np.array(sources._free, np.int64)
    assert len(free) + len(places) == len(sources) == len(np.union1d(free, places))


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_places_are_those_of_dictionaries_and_every_one_is_taken_or_free(
    steps: list[tuple[str, list[int], int]],
) -> None:
    sources, rings = ListedSources(POINTS), Rings(WITNESSES)
    sources.know(TARGETS)
    for what, some, number in steps:
        ids = np.array(some, np.int64)
        if what == "enter":
            before = sources.places_in(ids, number)
            places = sources.enter(ids, number, 100 + number, evidence)
            assert (places != NOWHERE).tolist() == [rings.enter(target, number) for target in some]
            new = places[(before == NOWHERE) & (places != NOWHERE)]
            np.testing.assert_array_equal(sources.evidence[new], evidence(sources.target[new]))
            assert np.isnan(sources.stated[new]).all()
            assert not sources.waits(new).any()
            sources.stated[new], sources.pending[new], sources.doubt[new] = 1.0, 3, 0.5
            assert (sources.owner_key[new] == 100 + number).all()
        elif what == "leave":
            sources.leave(ids)
            for target in some:
                rings.leave(target)
        elif what == "drop":
            touched = sources.drop(sources.owned(np.array([number])))
            assert set(touched.tolist()) == rings.drop(number)
        else:
            draw = np.random.default_rng(number).random((TARGETS, LISTS))
            moved = sources.elect(ids, lambda places, draw=draw: draw[sources.target[places], sources.owner[places]])
            expected = [target for target in some if rings.elect(target, lambda row: draw[target, row], BETTER)]  # noqa: B023
            assert sorted(moved.tolist()) == sorted(expected)
        compare(sources, rings)


def test_a_list_that_tells_a_little_more_is_not_listened_to_and_one_that_tells_much_more_is() -> None:
    for first, second, heard in [(0.5, 0.59, 0), (0.5, 0.61, 1), (0.61, 0.5, 0), (0.0, 1.0, 1)]:
        sources = ListedSources(POINTS)
        sources.know(1)
        for row in (0, 1):
            sources.enter(np.array([0]), row, row, evidence)
        told = np.array([first, second])
        for _ in range(3):
            elect(sources, 0, told)
        assert sources.owner[sources.places(np.array([0]))].tolist() == [heard]


@settings(max_examples=40, deadline=None)
@given(told=st.permutations([0.1, 0.3, 0.5, 0.9]))
def test_the_best_list_is_listened_to_whichever_came_first(told: list[float]) -> None:
    sources = ListedSources(POINTS)
    sources.know(3)
    for row in range(4):
        sources.enter(np.array([2]), row, row, evidence)
    elect(sources, 2, np.array(told))
    assert told[int(sources.owner[sources.place[2]])] == 0.9
