from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import ParameterError
from recrawl.scheduling.token_bucket import TimedBucket, exact


@pytest.mark.parametrize("ticks", [3, 7, 10, 600, 1440])
def test_many_small_incomes_add_up_to_exactly_one_token(ticks):
    bucket = TimedBucket(1 / ticks, now=0.0)
    spent = []
    for second in range(3 * ticks):
        bucket.fill(second + 1.0)
        spent.append(bucket.spend())
    assert [i + 1 for i, paid in enumerate(spent) if paid] == [ticks, 2 * ticks, 3 * ticks]


def test_nothing_beyond_the_burst_is_saved():
    bucket = TimedBucket(2.5, burst=2.5, now=0.0)
    bucket.fill(100.0)
    assert bucket.balance == bucket.capacity == 2.5
    assert bucket.affordable() == 2


def test_a_burst_lets_tokens_be_saved():
    bucket = TimedBucket(1, burst=10, now=0.0, balance=4)
    bucket.fill(100.0)
    assert bucket.affordable() == 10
    assert bucket.affordable(2.5) == 4


def test_costs_are_exact_too():
    bucket = TimedBucket(1, now=0.0)
    bucket.fill(1.0)
    assert [bucket.spend(0.1) for _ in range(11)] == [True] * 10 + [False]
    assert bucket.balance == 0


def test_what_does_not_fit_is_not_taken():
    bucket = TimedBucket(1, now=0.0)
    bucket.fill(1.0)
    assert not bucket.spend(1.5)
    assert bucket.balance == 1


@pytest.mark.parametrize(
    ("amount", "meant"),
    [
        (1 / 3, Fraction(1, 3)),
        (72 / 86400 * 600, Fraction(1, 2)),
        (24 / 86400 * 600, Fraction(1, 6)),
        (0.1, Fraction(1, 10)),
        (1e-12, Fraction(1, 10**12)),
        (1e18, Fraction(10**18)),
        (Fraction(5, 7), Fraction(5, 7)),
        (4, Fraction(4)),
    ],
)
def test_a_float_is_read_as_the_fraction_it_stands_for(amount, meant):
    assert exact("income", amount) == meant


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "many", None])
def test_a_bad_rate_is_named(bad):
    with pytest.raises(ParameterError, match="per_second"):
        TimedBucket(bad, now=0.0)


@given(
    rate=st.fractions(min_value=0, max_value=100, max_denominator=1000),
    burst=st.integers(1, 20),
    steps=st.lists(st.tuples(st.floats(0, 10), st.integers(0, 30)), max_size=40),
)
def test_no_window_spends_more_than_the_budget_and_the_burst(rate, burst, steps):
    now = 1.8e9
    bucket = TimedBucket(rate, burst, now=now, balance=burst)
    spent = []
    for wait, wanted in steps:
        now += wait
        bucket.fill(now)
        spent.append((Fraction(now), sum(bucket.spend() for _ in range(wanted))))
    for first in range(len(spent)):
        total = 0
        for last in range(first, len(spent)):
            total += spent[last][1]
            # one nanosecond of the clock is the unit time is counted in
            window = spent[last][0] - spent[first][0] + Fraction(1, 10**9)
            assert total <= burst + rate * window


def test_the_moment_a_token_is_ready_is_the_moment_it_can_be_spent():
    bucket = TimedBucket(Fraction(1, 7), 2, now=1.8e9 + 0.123)
    ready = bucket.ready_at()
    bucket.fill(ready - 1e-6)
    assert not bucket.spend()
    bucket.fill(ready)
    assert bucket.spend()
    assert bucket.ready_at(3) == float("inf")


def test_a_clock_that_steps_back_brings_nothing():
    bucket = TimedBucket(1, 100, now=1000.0)
    bucket.fill(1010.0)
    bucket.fill(1000.0)
    bucket.fill(1010.0)
    assert bucket.affordable() == 10


def test_an_allotment_replaces_rate_and_burst_from_now_on():
    bucket = TimedBucket(2, 10, now=100.0)
    bucket.allot(1, 20, now=103.0)
    assert bucket.balance == 6, "what was saved up at the old rate stays"
    bucket.fill(105.0)
    assert bucket.balance == 8
    bucket.allot(1, 3, now=105.0)
    assert bucket.balance == bucket.capacity == 3, "as far as the new burst holds it"


def test_an_allotment_runs_out_and_stays_out_until_the_next():
    bucket = TimedBucket(0, 0, now=100.0)
    bucket.allot(1, 5, now=100.0, until=110.0)
    bucket.fill(109.0)
    assert (bucket.balance, bucket.per_second, bucket.run_out) == (5, 1, False)
    assert bucket.ready_at(6) == float("inf")
    bucket.fill(110.0)
    bucket.put_back(3)
    bucket.fill(200.0)
    assert (bucket.balance, bucket.per_second, bucket.run_out) == (0, 0, True)
    bucket.allot(1, 5, now=200.0)
    bucket.fill(202.0)
    assert bucket.affordable() == 2


@pytest.mark.parametrize("until", [100.0, 99.0, float("-inf")])
def test_an_allotment_that_has_run_out_already_leaves_nothing(until):
    bucket = TimedBucket(1, 5, now=90.0)
    bucket.allot(1, 5, now=100.0, until=until)
    bucket.fill(200.0)
    assert (bucket.balance, bucket.ready_at(), bucket.run_out) == (0, float("inf"), True)


def test_a_token_that_would_come_too_late_never_comes():
    bucket = TimedBucket(Fraction(1, 10), 5, now=100.0)
    bucket.allot(Fraction(1, 10), 5, now=100.0, until=109.0)
    assert bucket.ready_at() == float("inf")
    bucket.allot(Fraction(1, 10), 5, now=100.0, until=111.0)
    assert bucket.ready_at() == 110.0


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf")])
def test_a_bad_allotment_is_named_and_changes_nothing(bad):
    bucket = TimedBucket(2, 10, now=100.0)
    for arguments, name in (((bad, 1), "per_second"), ((1, bad), "burst")):
        with pytest.raises(ParameterError, match=name):
            bucket.allot(*arguments, now=101.0)
    with pytest.raises(ParameterError, match="until"):
        bucket.allot(1, 1, now=101.0, until=float("nan"))
    assert bucket.balance == 0
