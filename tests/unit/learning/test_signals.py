"""What visits do to signals that wait, and what the catalogue is told of it."""

from __future__ import annotations

import numpy as np

from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

NOW, HOUR, DAY = 1.75e9, 3600.0, 86400.0
PAGES = 12
EVERYONE = np.arange(PAGES)


def begun(objective: str = "freshness", targets: int = PAGES + 2) -> LearnedWhittle:
    """Pages, visited once, then two targets that nobody has looked at."""
    policy = LearnedWhittle(objective)  # type: ignore[arg-type]
    policy.start(targets, NOW)
    policy.observe(Visits(EVERYONE, NOW, changed=np.zeros(PAGES, dtype=bool)))  # type: ignore[arg-type]
    return policy


def read(policy: LearnedWhittle, target: int, now: float, pages: np.ndarray, lastmod: np.ndarray) -> None:
    policy.observe(Visits([target], now, sitemap=[(pages, lastmod)]))  # type: ignore[arg-type]


def waiting(policy: LearnedWhittle, ids: np.ndarray) -> list[int]:
    return [said.signals if said else 0 for said in policy.heard(ids)]


def test_a_visit_to_a_list_answers_what_an_index_of_lists_said_of_it() -> None:
    """Its pages are lists themselves; one is read and found as it was, one is read anew."""
    policy, index, lists = begun(targets=20), 19, np.arange(10, 19)
    for target in lists.tolist():
        read(policy, target, NOW + HOUR, EVERYONE[:3], np.full(3, np.nan))
    read(policy, index, NOW + 2 * HOUR, lists, np.full(9, NOW))
    read(policy, index, NOW + 9 * HOUR, lists, np.full(9, NOW + 8 * HOUR))
    assert waiting(policy, lists) == [1] * 9
    policy.observe(Visits([10], NOW + 10 * HOUR))  # type: ignore[arg-type]
    read(policy, 11, NOW + 10 * HOUR, EVERYONE[:3], np.full(3, np.nan))
    assert waiting(policy, lists) == [0, 0] + [1] * 7
    batches = policy.learned.signals.lists.batches  # type: ignore[union-attr]
    assert batches.waiting[: len(batches)].sum() == 7


def test_a_visit_that_shows_nothing_answers_a_signal_too() -> None:
    policy = begun()
    policy.signal([3], NOW + HOUR)
    assert waiting(policy, EVERYONE)[3] == 1
    policy.observe(Visits([3], NOW + 2 * HOUR))  # type: ignore[arg-type]
    assert waiting(policy, EVERYONE) == [0] * PAGES


def test_a_failed_visit_answers_nothing() -> None:
    policy = begun()
    policy.signal([3], NOW + HOUR)
    policy.observe(Visits([3], NOW + 2 * HOUR, changed=[False], failed=[True]))  # type: ignore[arg-type]
    assert waiting(policy, EVERYONE)[3] == 1


def test_first_visits_count_neither_for_the_plan_nor_as_prompted_by_signals() -> None:
    """Newcomers that were signalled before anybody looked at them do not take from the visits that are counted."""
    policy = LearnedWhittle("freshness")
    policy.start(PAGES, NOW)
    policy.observe(Visits([0], NOW, changed=[False]))  # type: ignore[arg-type]
    policy.signal(EVERYONE, NOW)
    for hour in range(1, 40):
        policy.signal(EVERYONE[1:], NOW + hour * HOUR)
    signals = policy.learned.signals
    assert signals is not None
    first = np.ones(PAGES, dtype=bool)
    visits = Visits(EVERYONE, NOW + 2 * DAY, changed=np.ones(PAGES, dtype=bool))  # type: ignore[arg-type]
    assert signals.visited(visits, np.full(PAGES, NOW), first) == 0.0
