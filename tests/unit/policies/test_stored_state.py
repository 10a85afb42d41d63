"""Records of several policies about one source."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl import Visits, policies
from recrawl.policies.stored_state import HEAD, Memory, joined, parted

NOW = 1.8e9
NAMES = st.sampled_from(policies.LIVE)


@given(st.dictionaries(NAMES, st.binary(min_size=1).filter(lambda part: not part.startswith(HEAD))))
def test_what_was_joined_comes_apart_again(parts: dict[str, bytes]) -> None:
    assert parted(joined(parts)) == parts


@given(st.binary())
def test_nothing_in_a_store_is_an_error(record: bytes) -> None:
    assert isinstance(parted(record), dict)
    assert parted(HEAD + b"\xff" + record) == {}


def test_the_learners_own_record_stands_bare() -> None:
    assert joined({"learned_whittle": b"\x02row"}) == b"\x02row"


def started(name: str, count: int = 3) -> Memory:
    policy = policies.live(name)
    policy.start(count, NOW)
    return Memory({name: policy})


def test_the_records_of_others_are_neither_read_nor_lost() -> None:
    learner = started("learned_whittle")
    (policy,) = learner.policies.values()
    policy.observe(Visits(np.arange(3), NOW, published=[np.array([NOW - 60.0])] * 3))
    rows, shared = learner.rows([0, 1, 2]), learner.shared()

    reader = started("miniflux")
    reader.load_shared(shared)
    reader.load_rows([0, 1, 2], rows, np.full(3, NOW))
    assert reader.unread == {"learned_whittle": 3}
    (timer,) = reader.policies.values()
    timer.observe(Visits(np.array([0]), NOW + 5.0, published=[np.array([NOW + 1.0])]))
    kept, kept_shared = reader.rows([0, 1, 2]), reader.shared()
    assert [set(parted(row)) for row in kept] == [{"learned_whittle", "miniflux"}] * 3

    again = started("learned_whittle")
    again.load_shared(kept_shared)
    again.load_rows([0, 1, 2], kept, np.full(3, NOW))
    assert not again.unread
    assert [parted(row)["learned_whittle"] for row in again.rows([0, 1, 2])] == rows
    assert [parted(row)["miniflux"] for row in again.rows([0, 1, 2])] == [parted(row)["miniflux"] for row in kept]
    assert parted(again.shared())["miniflux"] == parted(kept_shared)["miniflux"]


def test_a_source_that_is_gone_takes_the_records_of_others_with_it() -> None:
    memory = started("miniflux")
    memory.load_rows([0, 1], [b"\x02row", b"\x02row"], np.full(2, NOW))
    memory.forget([0])
    assert [set(parted(row)) for row in memory.rows([0, 1])] == [{"miniflux"}, {"miniflux", "learned_whittle"}]
