"""Batches of signals, whatever comes in whatever order: counts are right, rows are used anew, and nothing leaks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.learning.lists import Lists
from recrawl.learning.rates import rate_grid
from recrawl.learning.signal_batches import ALONE, LEAST_SIZE

TARGETS, LISTS = 40, 3
NOW, DAY = 1.75e9, 86400.0
RATES = rate_grid((1e-9, 1e-3), 3)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["read", "push", "visit", "learn", "remove", "gone"]),
        st.integers(0, LISTS - 1),
        st.integers(0, 2**31),
        st.floats(0.0, 1.0),
    ),
    max_size=25,
)


def evidence(ids: np.ndarray) -> np.ndarray:
    return np.zeros((len(ids), len(RATES)), np.float32)


def check(lists: Lists) -> None:
    """Every batch counts the places that wait in it, and is free if there are none."""
    sources, batches = lists.sources, lists.batches
    count = len(batches)
    taken = sources.batch[: len(sources)]
    expected = np.bincount(taken[taken != ALONE], minlength=count)
    np.testing.assert_array_equal(batches.waiting[:count], expected)
    assert sorted(batches._free) == np.flatnonzero(expected == 0).tolist()
    assert (taken[sources.owner[: len(sources)] == -1] == ALONE).all()
    assert (batches.hits[:count] >= 0.0).all()
    assert (batches.misses[:count] >= 0.0).all()
    used = np.flatnonzero(expected)
    precision = batches.precision(used)
    assert ((precision > 0.0) & (precision < 1.0)).all()
    doubt = sources.doubt[: len(sources)]
    assert ((doubt >= 0.0) & (doubt <= 1.0)).all()
    assert count <= max(1, TARGETS * LISTS // LEAST_SIZE) * 3


@settings(max_examples=100, deadline=None)
@given(steps=STEPS)
def test_batches_count_who_waits_in_them(steps: list[tuple[str, int, int, float]]) -> None:
    lists, now, last = Lists(NOW, RATES), NOW, np.full(TARGETS, NOW)
    lists.grow(TARGETS + LISTS)
    removed: set[int] = set()
    for what, which, seed, share in steps:
        random, now = np.random.default_rng(seed), now + DAY
        here = np.array([k for k in np.flatnonzero(random.random(TARGETS) < share).tolist() if k not in removed], int)
        if what == "read" and TARGETS + which not in removed:
            row = lists.row(100 + which, TARGETS + which)
            lists.read(row, now, here, now - random.choice([60.0, 3600.0, 90000.0], len(here)), last[here], evidence)
        elif what == "push":
            lists.push(7, now, here, np.full(len(here), now), last[here], evidence)
        elif what == "visit":
            lists.answered(lists.sources.rings(here)[1], now)
            last[here] = now
        elif what == "learn":
            batch = lists.sources.batch[lists.sources.rings(here)[1]].astype(np.int64)
            lists.batches.learn(batch, random.random(len(batch)), 0.995)
        elif what == "remove":
            some = here[:3]
            removed |= set(some.tolist())
            lists.forget(some)
        elif what == "gone":
            lists.forget(np.array([TARGETS + which]))
        check(lists)
