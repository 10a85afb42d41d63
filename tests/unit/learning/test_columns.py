"""Columns that take no room while all rows are alike hold what plain ones hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl.learning.columns import Column, Columns

PLAIN = {"weight": Column(np.float64, 1.0), "age": Column(np.float64, np.nan), "kin": Column(np.int32, -1)}
ALIKE = {name: column._replace(alike=True) for name, column in PLAIN.items()}
VALUES = st.sampled_from([1.0, -1.0, 3.0, np.nan])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grow"), st.integers(0, 200)),
        st.tuples(st.just("clear"), st.integers(0, 400)),
        st.tuples(st.sampled_from([*PLAIN]), st.integers(0, 400), VALUES),
    ),
    max_size=12,
)


def taken(columns: Columns, steps: list[Any]) -> Columns:
    for name, number, *values in steps:
        rows = np.array([number % max(len(columns), 1)] if len(columns) else [], np.int64)
        if name == "grow":
            columns.grow(number)
        elif name == "clear":
            columns.clear(rows)
        elif name != "kin":
            columns.put(name, rows, values[0])
        elif np.isfinite(values[0]):
            columns.put(name, rows, int(values[0]))
    return columns


@given(st.integers(0, 3), STEPS)
def test_they_hold_what_plain_ones_hold(size: int, steps: list[Any]) -> None:
    plain, alike = taken(Columns(size, PLAIN), steps), taken(Columns(size, ALIKE), steps)
    everyone = np.arange(len(plain))
    packed, same = plain.pack(everyone), alike.pack(everyone)
    for name in PLAIN:
        np.testing.assert_array_equal(packed[name], same[name])
    back = Columns(len(plain), ALIKE)
    back.unpack(everyone, same)
    for name in PLAIN:
        np.testing.assert_array_equal(getattr(back, name)[everyone], packed[name])


def test_they_take_room_when_the_first_row_differs() -> None:
    columns = Columns(1000, ALIKE)
    columns.put("weight", np.arange(1000), 1.0)
    columns.put("age", np.arange(10), np.full(10, np.nan))
    columns.put("kin", np.array([3]), 7)
    columns.grow(5000)
    assert [getattr(columns, name).strides[0] for name in ALIKE] == [0, 0, 4]
