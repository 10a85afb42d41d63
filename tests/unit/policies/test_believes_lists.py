"""The baseline that takes every list at its word."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Visits
from recrawl.errors import ParameterError
from recrawl.policies.believes_lists import BelievesLists

HOUR, DAY = 3600.0, 86400.0
NOTHING = (np.empty(0, np.int64), np.empty(0))


def begun(targets: int, **options: object) -> BelievesLists:
    """After a visit to everybody at 0; the last target is a list."""
    policy = BelievesLists(**options)  # type: ignore[arg-type]
    policy.start(targets, 0.0)
    policy.observe(Visits(np.arange(targets - 1), 0.0, changed=np.zeros(targets - 1, dtype=bool)))
    policy.observe(Visits([targets - 1], 0.0, sitemap=[NOTHING]))  # type: ignore[arg-type]
    return policy


def says(policy: BelievesLists, now: float, **lastmod: float) -> None:
    """The list, which is the last target, names pages p0, p1, …"""
    pages = np.array([int(name[1:]) for name in lastmod])
    policy.observe(Visits([len(policy.last) - 1], now, sitemap=[(pages, np.array([*lastmod.values()]))]))  # type: ignore[arg-type]


def seen(policy: BelievesLists, ids: np.ndarray, now: float) -> None:
    policy.observe(Visits(ids, now, changed=np.zeros(len(ids), dtype=bool)))


def test_the_first_round_begins_at_the_end_where_lists_are() -> None:
    policy = BelievesLists()
    policy.start(4, 0.0)
    assert policy.choose(0.0, 3.0).tolist() == [3, 2, 1]


def test_pages_named_since_their_visit_go_first_the_oldest_word_first() -> None:
    policy = begun(6)
    seen(policy, np.array([4]), 10 * HOUR)
    says(policy, 12 * HOUR, p0=np.nan, p1=-5.0, p2=9 * HOUR, p3=8 * HOUR, p4=10 * HOUR)
    assert policy.choose(13 * HOUR, 10.0).tolist()[:2] == [3, 2]


def test_a_visit_answers_a_word_until_the_next() -> None:
    policy = begun(4)
    says(policy, 2 * HOUR, p2=HOUR)
    assert policy.choose(3 * HOUR, 1.0).tolist() == [2]
    seen(policy, np.array([2]), 3 * HOUR)
    says(policy, 4 * HOUR, p2=HOUR)
    assert policy.choose(4 * HOUR, 1.0).tolist() != [2]
    says(policy, 5 * HOUR, p2=4 * HOUR)
    assert policy.choose(5 * HOUR, 1.0).tolist() == [2]


def test_a_word_about_the_future_is_answered_by_one_visit() -> None:
    policy = begun(4)
    says(policy, 2 * HOUR, p2=1000 * DAY)
    seen(policy, policy.choose(3 * HOUR, 1.0), 3 * HOUR)
    says(policy, 3 * HOUR, p2=np.nan)
    assert policy.choose(4 * HOUR, 1.0).tolist() == [0]


def test_the_rest_goes_round() -> None:
    policy, chosen = begun(5), []
    for hour in range(1, 9):
        ids = policy.choose(hour * HOUR, 1.0)
        chosen += ids.tolist()
        seen(policy, ids, hour * HOUR)
    assert chosen == [0, 1, 2, 3] * 2


def test_a_list_is_fetched_once_a_day() -> None:
    policy, when = begun(60), []
    for hour in range(1, 97):
        ids = policy.choose(hour * HOUR, 1.0)
        if ids.tolist() == [59]:
            when.append(hour)
            says(policy, hour * HOUR)
        else:
            seen(policy, ids, hour * HOUR)
    assert when == [24, 48, 72, 96]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_lists_take_their_share_and_no_more(share: float) -> None:
    policy, lists = BelievesLists(share=share), np.arange(10, 20)
    policy.start(20, 0.0)
    crawls = np.zeros(20, dtype=np.int64)
    for hour in range(1, 2401):
        ids = policy.choose(6 * hour * HOUR, 1.0)
        crawls[ids] += 1
        if ids[0] in lists:
            policy.observe(Visits(ids, 6 * hour * HOUR, sitemap=[NOTHING]))
        else:
            seen(policy, ids, 6 * hour * HOUR)
    assert crawls[lists].sum() == pytest.approx(2400 * share, abs=11)
    assert np.ptp(crawls[lists]) <= 1


def test_what_it_costs_to_see_a_list_that_fails_is_counted() -> None:
    policy = begun(6)
    tries = 0
    for hour in range(24, 124):
        ids = policy.choose(hour * HOUR, 1.0)
        tries += int(ids[0] == 5)
        policy.observe(Visits(ids, hour * HOUR, failed=[bool(ids[0] == 5)], changed=[False]))  # type: ignore[arg-type]
    assert tries <= 26


def test_signals_are_believed_as_lists_are() -> None:
    policy = begun(5)
    policy.signal([2], 5 * HOUR)
    policy.signal([1, 3], 5 * HOUR, at=[4 * HOUR, 3 * HOUR])
    assert policy.choose(6 * HOUR, 3.0).tolist() == [3, 1, 2]


def test_a_list_that_became_a_page_is_a_page() -> None:
    policy = begun(3)
    seen(policy, np.array([2]), HOUR)
    assert set(policy.choose(2 * HOUR, 3.0).tolist()) == {0, 1, 2}


@pytest.mark.parametrize(("option", "value"), [("every", 0), ("every", "soon"), ("share", 0.0), ("share", 1.5)])
def test_wrong_options_are_named(option: str, value: object) -> None:
    with pytest.raises(ParameterError, match=option):
        BelievesLists(**{option: value})  # type: ignore[arg-type]
