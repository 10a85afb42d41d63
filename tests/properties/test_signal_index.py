"""What must hold of the index with signals for any page at all."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl import continuous_index
from recrawl.kernels.fading_signal_index import fading_signal_index
from recrawl.kernels.signal_index import change_signal_index, fresh_probability, signal_index

some = settings(max_examples=80, deadline=None)
rates = st.floats(0.0, 1e9)
recalls = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 1e-12, 1 - 1e-12]))
ages = st.floats(0.0, 1e9)


@some
@given(st.floats(1e-6, 1e6), recalls, rates, st.lists(ages, min_size=2, max_size=10), st.integers(0, 10**6))
def test_it_rises_with_age_up_to_the_full_price(change_rate, recall, false_rate, old, signals):
    index = signal_index(change_rate, recall, false_rate, np.sort(old), signals)
    assert np.isfinite(index).all()
    assert (np.diff(index) >= -5e-5 * index[1:] - 1e-13 / change_rate).all()
    assert (index <= (1 + 1e-12) / change_rate).all()


@some
@given(st.floats(1e-6, 1e6), recalls, rates, ages, st.lists(st.integers(0, 10**6), min_size=2, max_size=10))
def test_it_rises_with_signals(change_rate, recall, false_rate, age, signals):
    index = change_signal_index(change_rate, recall, false_rate, age, np.sort(signals))
    assert (np.diff(index) >= -5e-5 * index[1:] - 1e-13).all()


@some
@given(st.floats(1e-3, 1e3), recalls, st.floats(0.0, 1e3), st.floats(0.0, 1e3), st.integers(0, 100))
def test_knowing_more_is_never_worth_less(change_rate, recall, false_rate, age, signals):
    """At the same belief the index with signals is at least the plain one and at most that of one who sees changes."""
    fresh = fresh_probability(change_rate, recall, false_rate, age, signals)
    index = change_signal_index(change_rate, recall, false_rate, age, signals)
    plain = continuous_index(1.0, 1.0, -np.log(fresh)) if fresh > 0 else 1.0
    assert plain * (1 - 5e-5) - 1e-12 <= index <= (1 - fresh) * (1 + 5e-5) + 1e-12


@some
@given(rates, recalls, rates, rates, st.floats(0.0, 1.0))
def test_news_that_fade_have_a_finite_index(change_rate, recall, false_rate, decay, worth):
    assert 0.0 <= fading_signal_index(change_rate, recall, false_rate, decay, worth) <= 1.0 + 1e-9
