"""Newcomers of which lists speak: who is looked at first, and what is remembered of the queue."""

from __future__ import annotations

import numpy as np

from listed import DAY, HOUR, NOW
from recrawl import Visits
from recrawl.policies.learned_whittle import LearnedWhittle

PAGES = 60
EVERYONE = np.arange(PAGES)


def told(lastmod: np.ndarray, targets: int = PAGES + 1, objective: str = "freshness") -> LearnedWhittle:
    """Nobody was looked at but the last target, a list of the pages."""
    policy = LearnedWhittle(objective)  # type: ignore[arg-type]
    policy.start(targets, NOW)
    assert policy.choose(NOW, 1.0).tolist() == [targets - 1]
    policy.observe(Visits([targets - 1], NOW, sitemap=[(EVERYONE, lastmod)]))  # type: ignore[arg-type]
    return policy


def looked(policy: LearnedWhittle, visits: int, now: float = NOW) -> list[int]:
    """Who is looked at first, one by one."""
    seen = []
    for k in range(visits):
        chosen = policy.choose(now + k, 1.0)
        policy.observe(Visits(chosen, now + k, changed=np.zeros(len(chosen), dtype=bool)))
        seen += chosen.tolist()
    return seen


def test_pages_that_have_stood_for_long_are_copied_first() -> None:
    """A copy of a page that changed an hour ago will not be kept as long as one of a page that stood for years."""
    age = np.where(EVERYONE % 2 == 0, 2 * HOUR, 900 * DAY)
    assert {page % 2 for page in looked(told(NOW - age), PAGES // 2)} == {1}


def test_lists_say_nothing_of_who_is_first_under_other_objectives() -> None:
    age = np.where(EVERYONE % 2 == 0, 2 * HOUR, 900 * DAY)
    assert looked(told(NOW - age, objective="changes"), 10)[1:] == list(range(9))


def test_pages_of_which_nothing_is_stated_keep_their_order() -> None:
    assert looked(told(np.full(PAGES, np.nan)), PAGES) == [PAGES - 1, *range(PAGES - 1)]


def test_everybody_is_looked_at_whatever_lists_say() -> None:
    lastmod = NOW - np.random.default_rng(0).uniform(0, 1000 * DAY, PAGES)
    assert sorted(looked(told(lastmod), PAGES)) == EVERYONE.tolist()


def test_the_target_before_a_list_is_looked_at_next_and_so_on_until_one_is_none() -> None:
    policy = LearnedWhittle("freshness")
    policy.start(20, NOW)
    for target in (19, 18, 17):
        assert policy.choose(NOW, 1.0).tolist() == [target]
        policy.observe(Visits([target], NOW, sitemap=[(np.arange(3), np.full(3, np.nan))]))  # type: ignore[arg-type]
    assert policy.choose(NOW, 1.0).tolist() == [16]
    policy.observe(Visits([16], NOW, changed=[False]))  # type: ignore[arg-type]
    assert policy.choose(NOW, 1.0).tolist() == [0]


def test_a_list_read_after_its_neighbour_was_removed_or_seen_hastens_nobody() -> None:
    for gone in (True, False):
        policy = LearnedWhittle("freshness")
        policy.start(10, NOW)
        if gone:
            policy.remove([8])
        else:
            policy.observe(Visits([8], NOW, changed=[False]))  # type: ignore[arg-type]
        policy.observe(Visits([9], NOW, sitemap=[(np.arange(3), np.full(3, np.nan))]))  # type: ignore[arg-type]
        assert policy.choose(NOW, 1.0).tolist() == [0]


def test_the_queue_remembers_no_more_of_listed_newcomers_than_of_others() -> None:
    """A turn is kept per merit, and each page has a merit of its own by what a list says of it."""
    policy = told(NOW - np.random.default_rng(0).uniform(0, 1000 * DAY, PAGES))
    looked(policy, PAGES)
    assert len(policy.newcomers._serving) <= 1


def test_a_newcomer_named_while_it_is_looked_at_is_not_chosen_twice() -> None:
    policy = LearnedWhittle("freshness")
    policy.start(4, NOW)
    away = policy.choose(NOW, 2.0)
    policy.signal(away, NOW + 1)
    policy.signal(np.arange(4), NOW + 2)
    assert not set(policy.choose(NOW + 3, 4.0).tolist()) & set(away.tolist())


def test_held_newcomers_stay_held_when_they_are_named() -> None:
    policy = LearnedWhittle("freshness")
    policy.start(3, NOW)
    policy.hold([0, 1], NOW + DAY)
    policy.choose(NOW, 1.0)
    policy.signal([0, 1], NOW + 1)
    assert policy.choose(NOW + 2, 3.0).tolist() == []
    policy.release([2])
    assert sorted(policy.choose(NOW + DAY, 3.0).tolist()) == [0, 1, 2]


def test_newcomers_known_to_be_lists_are_looked_at_first() -> None:
    policy = LearnedWhittle("freshness")
    policy.start(0, NOW)
    policy.add(PAGES)
    policy.expect_lists([40, 7])
    assert set(looked(policy, 2)) == {40, 7}


def test_a_signal_that_comes_while_its_page_is_visited_is_not_answered_by_that_visit() -> None:
    policy = told(np.full(PAGES, NOW - 9 * DAY))
    page = policy.choose(NOW + HOUR, 1.0)
    policy.signal(page, NOW + HOUR + 5.0)
    policy.observe(Visits(page, NOW + HOUR + 2.0, changed=[False]))
    (heard,) = policy.heard(page)
    assert heard is not None
    pushes = policy.learned.signals.lists.sources  # type: ignore[union-attr]
    _, places = pushes.rings(page)
    assert pushes.pending[places].tolist().count(1) == 1
    policy.observe(Visits(page, NOW + 2 * HOUR, changed=[True]))
    assert not pushes.pending[places].any()
