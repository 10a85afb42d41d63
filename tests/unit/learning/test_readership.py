"""What stood there to be clicked, kept without a list of items, against the list."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recrawl.learning.readership import FORGET_S, Clicked, Readership

HOUR = 3600.0
START = 1.75e9


def test_exposure_agrees_with_counting_every_item() -> None:
    random, readers = np.random.default_rng(2), Readership(1, 6 * HOUR)
    ids, items, now = np.zeros(1, np.int64), [], START
    first_click = START + 20 * HOUR
    for step in range(12):
        now = START + 4 * HOUR * step
        born = now - HOUR * random.uniform(0.0, 9.0, 3)
        readers.find(ids, np.array([0, 3]), born, np.zeros(1), now)
        items += [(time, now) for time in born]
        if step == 5:
            told = Clicked(*(np.array([each]) for each in (items[-1][0], items[-1][1], first_click, 1.0, 0.0)))
            readers.listen(ids, told, now)
    expected = np.zeros(len(readers.rates))
    for born, found in items:
        begin = max(found, first_click)
        expected += np.exp(-readers.rates * (begin - born)) - np.exp(-readers.rates * (now - born))
    forgotten = 2.0 ** (-(now - first_click) / FORGET_S)
    assert (readers.exposure[0] <= expected * (1 + 1e-5)).all()
    assert (readers.exposure[0] >= expected * forgotten * (1 - 1e-5)).all()


def test_clicks_from_before_the_record_began_are_left_out() -> None:
    readers, ids = Readership(2, 6 * HOUR), np.zeros(1, np.int64)
    readers.find(ids, np.array([0, 1]), np.array([START - HOUR]), np.zeros(1), START)
    early = Clicked(*(np.array([each]) for each in (START - 9 * HOUR, START - 8 * HOUR, START + 60, 5.0, 0.0)))
    assert not readers.listen(ids, early, START + 90)
    assert not readers.heard
    before_found = Clicked(*(np.array([each]) for each in (START - HOUR, START, START - 60, 5.0, 0.0)))
    readers.listen(ids, before_found, START + 90)
    assert not readers.heard


def test_what_was_found_before_anybody_clicked_is_what_the_pace_leads_to_expect() -> None:
    random, readers, size = np.random.default_rng(3), Readership(1, 6 * HOUR), 4000
    expecting, until = Readership(2, 6 * HOUR), START + 200 * HOUR
    born = np.sort(random.uniform(START, until, size))
    readers.find(np.zeros(1, np.int64), np.array([0, size]), born, np.zeros(1), until)
    expecting.expect(np.array([START, np.nan]), np.array([until, until]), np.full(2, size / (200 * HOUR)))
    np.testing.assert_allclose(expecting.mass[0], readers.mass[0], rtol=0.2)
    assert np.isnan(expecting.begun[1])
    assert (expecting.mass[1] == 0.0).all()


@pytest.mark.parametrize("half_life", [6.0, 6 * HOUR])
def test_interest_and_decay_are_found_whatever_the_unit_of_time(half_life: float) -> None:
    random, size = np.random.default_rng(5), 20
    readers, ids, drawn = Readership(size, half_life), np.arange(size), np.linspace(0.5, 4.0, size)
    true_half_life = 2.0 * half_life
    for step in range(80):
        now = START + half_life * step
        readers.find(ids, np.arange(size + 1), np.full(size, now), np.zeros(size), now)
        number = random.poisson(drawn)
        ages = random.exponential(true_half_life / math.log(2.0), number.sum())
        owner, at = np.repeat(ids, number), now + ages
        one = np.ones(len(at))
        readers.listen(owner, Clicked(now * one, now * one, at, one, 0.0 * one), now + 12 * half_life * (step == 79))
    readers.refit(now + 30 * half_life)
    appeal, doubt, fading = readers.appeal(ids, np.full(size, np.nan))
    np.testing.assert_allclose(appeal, drawn / drawn.mean(), rtol=0.3)
    assert np.median(math.log(2.0) / fading) == pytest.approx(true_half_life, rel=0.1)
    assert (doubt < 0.25).all()
