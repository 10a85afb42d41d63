"""At most one coordinates."""

from __future__ import annotations

import math

import pytest

from one_lease import OneLease
from recrawl.clock import ManualClock
from recrawl.cluster.leader_lease import LEASE_S, SCOPE, LeaderLease
from recrawl.errors import StoreError


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


def test_the_second_gets_it_when_the_first_has_run_out(clock: ManualClock) -> None:
    store = OneLease(clock)
    first, second = LeaderLease(store, "first", clock.now), LeaderLease(store, "second", clock.now)
    assert first.keep() == 1
    assert second.keep() == 0
    clock.advance(LEASE_S)
    assert first.epoch == 0
    assert second.keep() == 2
    assert first.keep() == 0
    assert second.epoch == 2


def test_it_ends_by_its_own_clock_when_the_store_is_away_and_goes_on_when_nobody_else_came(clock: ManualClock) -> None:
    store = OneLease(clock)
    leader_lease = LeaderLease(store, "first", clock.now)
    leader_lease.keep()
    store.away = True
    clock.advance(LEASE_S + 1.0)
    with pytest.raises(StoreError):
        leader_lease.keep()
    assert leader_lease.epoch == 0
    store.away = False
    assert leader_lease.keep() == 1


def test_who_leaves_is_followed_at_once(clock: ManualClock) -> None:
    store = OneLease(clock)
    first, second = LeaderLease(store, "first", clock.now), LeaderLease(store, "second", clock.now)
    first.keep()
    first.leave()
    assert first.epoch == 0
    assert second.keep() == 2


def test_it_knows_how_long_it_was_vacant(clock: ManualClock) -> None:
    store = OneLease(clock)
    first, second = LeaderLease(store, "first", clock.now), LeaderLease(store, "second", clock.now)
    first.keep()
    assert first.vacant_s == math.inf
    clock.advance(LEASE_S + 3.0)
    second.keep()
    assert second.vacant_s == 3.0


def test_who_took_it_after_another_came_and_went_knows_nothing_of_that(clock: ManualClock) -> None:
    """Between looking and taking, somebody may have held it."""
    store = OneLease(clock)
    LeaderLease(store, "first", clock.now).keep()
    clock.advance(LEASE_S + 3.0)
    before = store.leases(SCOPE)
    store.leases = lambda prefix: before  # type: ignore[method-assign]
    store.epoch += 1
    last = LeaderLease(store, "last", clock.now)
    last.keep()
    assert last.epoch == 3
    assert last.vacant_s == 0.0
