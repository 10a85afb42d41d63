"""An allowance that changes and runs out is never overspent, in whatever order things happen."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from recrawl.scheduling.token_bucket import TimedBucket

START = 1_800_000_000.0
NANOSECOND = Fraction(1, 10**9)

rates = st.fractions(min_value=0, max_value=50, max_denominator=97) | st.floats(0.0, 50.0)
bursts = st.integers(0, 12) | st.floats(0.0, 12.0)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("allot"), rates, bursts, st.floats(0.0, 20.0) | st.just(math.inf)),
        st.tuples(st.just("spend"), st.integers(0, 15)),
        st.tuples(st.just("put back"), st.just(1)),
        st.tuples(st.just("wait"), st.floats(0.0, 8.0)),
    ),
    max_size=40,
)


class Account:
    """The plain, slow account: every token taken, and the rate that held in every stretch of time."""

    def __init__(self) -> None:
        self.taken: list[tuple[Fraction, Fraction]] = []
        self.stretches: list[tuple[Fraction, Fraction | None, Fraction]] = []
        self.largest = Fraction(0)

    def allot(self, rate: float | Fraction, burst: float, now: float, until: float) -> None:
        end = None if math.isinf(until) else Fraction(until)
        self.stretches.append((Fraction(now), end, Fraction(rate)))
        self.largest = max(self.largest, Fraction(burst))

    def income(self, first: Fraction, last: Fraction) -> Fraction:
        """∫ rate dt; a nanosecond is the unit in which time is counted."""
        total = Fraction(0)
        for place, (start, end, rate) in enumerate(self.stretches):
            stop = self.stretches[place + 1][0] if place + 1 < len(self.stretches) else last
            stop = min(stop, last) if end is None else min(stop, last, end)
            total += rate * max(stop - max(start, first) + NANOSECOND, Fraction(0))
        return total


@given(steps)
def test_no_window_spends_more_than_was_allotted_for_it(steps):
    now, until, account = START, -math.inf, Account()
    bucket = TimedBucket(0, 0, now=now)
    for step, *told in steps:
        if step == "allot":
            rate, burst, seconds = told
            until = now + seconds
            bucket.allot(rate, burst, now, until)
            account.allot(rate, burst, now, until)
        elif step == "wait":
            now += told[0]
        elif step == "spend":
            bucket.fill(now)
            taken = sum(bucket.spend() for _ in range(told[0]))
            assert taken == 0 or now < until, "nothing is there from the moment it runs out"
            account.taken.append((Fraction(now), Fraction(taken)))
    for first in range(len(account.taken)):
        total = Fraction(0)
        for moment, taken in account.taken[first:]:
            total += taken
            slack = Fraction(1, 10**6)  # floats are read as the fractions they stand for
            assert total <= account.largest + account.income(account.taken[first][0], moment) + slack


@given(steps)
def test_what_is_put_back_is_never_more_than_fits_and_never_revives_what_ran_out(steps):
    now, until = START, -math.inf
    bucket = TimedBucket(0, 0, now=now)
    for step, *told in steps:
        if step == "allot":
            until = now + told[2]
            bucket.allot(told[0], told[1], now, until)
        elif step == "wait":
            now += told[0]
        bucket.fill(now)
        if step == "put back":
            bucket.put_back()
        assert 0.0 <= bucket.balance <= bucket.capacity
        assert bucket.balance == 0.0 or now < until


@given(rates, st.integers(1, 12), st.floats(0.1, 20.0), st.floats(0.0, 1e6))
def test_whoever_wakes_up_late_finds_nothing(rate, burst, seconds, late):
    bucket = TimedBucket(0, 0, now=START)
    bucket.allot(rate, burst, START, START + seconds)
    bucket.fill(START + seconds + late)
    assert not bucket.spend(Fraction(1, 10**6))
    assert bucket.ready_at(Fraction(1, 10**6)) == math.inf
    assert bucket.per_second == 0.0
    bucket.allot(1, burst, START + seconds + late)
    assert not bucket.spend(Fraction(1, 10**6)), "nothing was saved up in between"


@given(st.lists(st.floats(0.001, 1000.0), min_size=300, max_size=300))
def test_many_rates_do_not_make_the_numbers_longer(rates):
    bucket, now = TimedBucket(0, 0, now=START), START
    for rate in rates:
        now += 1.0
        bucket.allot(rate, rate, now, now + 10.0)
        bucket.spend(0.1)
    assert bucket._scale.bit_length() < 250
