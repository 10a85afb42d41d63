"""What lists tell of their pages is what their law of honesty says, measured over many pages."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.errors import ParameterError
from recrawl.synthweb.laws import Arrivals, Law
from recrawl.synthweb.list_laws import LIST_LAWS, ListedPage, ListLaw, Told, laws_named
from recrawl.synthweb.world import World

PAGES, HOURS, RATE = 40, 600.0, 0.2


def changes(page: int) -> Arrivals:
    return Arrivals(Law(rate=RATE), (5, page), 6.0)


def listed(law: str, page: int) -> ListedPage:
    return ListedPage(LIST_LAWS[law], changes(page), (5, page))


def told_in_time(law: str) -> list[Told]:
    """What was told of each page after hour 0."""
    found = []
    for page in range(PAGES):
        told = listed(law, page).told(HOURS)
        later = told.at > 0.0
        found.append(Told(*(each[later] for each in told)))
    return found


def changes_in_time(page: int) -> np.ndarray:
    return changes(page).between(0.0, HOURS)


def test_an_honest_list_tells_of_every_change_at_once_and_of_nothing_else() -> None:
    for page, told in enumerate(told_in_time("honest")):
        assert told.at.tolist() == told.lastmod.tolist() == changes_in_time(page).tolist()
        assert told.true.all()


def test_a_forgetful_list_leaves_out_its_share_and_says_nothing_false() -> None:
    kept = 0
    for page, told in enumerate(told_in_time("forgetful")):
        assert set(told.lastmod.tolist()) <= set(changes_in_time(page).tolist())
        assert told.true.all()
        kept += len(told.at)
    everything = sum(len(changes_in_time(page)) for page in range(PAGES))
    assert kept / everything == pytest.approx(1.0 - LIST_LAWS["forgetful"].left_out, abs=0.03)


def test_a_nightly_list_tells_at_the_next_midnight_with_the_true_time() -> None:
    for page, told in enumerate(told_in_time("nightly")):
        assert (told.at % 24.0 == 0.0).all()
        assert ((told.at - told.lastmod >= 0.0) & (told.at - told.lastmod < 24.0)).all()
        assert set(told.lastmod.tolist()) <= set(changes(page).between(-24.0, HOURS).tolist())
        assert len(told.at) >= len(changes_in_time(page)[changes_in_time(page) < HOURS - 24.0])


def test_a_touchy_list_tells_of_all_changes_and_of_others_at_its_rate() -> None:
    false = 0
    for page, told in enumerate(told_in_time("touchy")):
        assert told.lastmod[told.true].tolist() == changes_in_time(page).tolist()
        assert not set(told.lastmod[~told.true].tolist()) & set(changes_in_time(page).tolist())
        false += int((~told.true).sum())
    assert false / (PAGES * HOURS) == pytest.approx(LIST_LAWS["touchy"].false_per_h, rel=0.1)


@pytest.mark.parametrize(("law", "period"), [("rebuilt", 24.0), ("rebuilt_weekly", 168.0)])
def test_a_rebuilt_list_gives_all_pages_the_time_of_the_rebuild(law: str, period: float) -> None:
    pages = [listed(law, page) for page in range(PAGES)]
    for hour in (0.0, 23.9, 24.0, 171.0, HOURS):
        assert {page.last(hour).lastmod for page in pages} == {hour // period * period}
    for page, told in enumerate(told_in_time(law)):
        changed = [len(changes(page).between(at - period, at)) > 0 for at in told.at.tolist()]
        assert told.true.tolist() == changed


def test_a_silent_list_tells_nothing_though_its_pages_are_known_to_move() -> None:
    page = listed("silent", 0)
    assert len(page.told(HOURS).at) == 0
    assert page.last(HOURS).lastmod == changes(0).between(-np.inf, HOURS)[-1]


@pytest.mark.parametrize("law", LIST_LAWS)
def test_what_is_told_does_not_depend_on_who_asked_before(law: str) -> None:
    asked_once, asked_often = listed(law, 3), listed(law, 3)
    for hour in (900.0, 10.0, 77.7, 300.0):
        asked_often.told(hour)
        asked_often.last(hour)
    once, often = asked_once.told(HOURS), asked_often.told(HOURS)
    assert [each.tolist() for each in once] == [each.tolist() for each in often]
    assert (once.at <= HOURS).all()
    assert (np.diff(once.at) >= 0.0).all()
    if len(once.at):
        assert asked_often.last(HOURS) == (once.at[-1], once.lastmod[-1])


def test_hosts_take_turns_with_the_laws_of_a_mix() -> None:
    world = World.make(20, 5, mix="pages", lists="honest,rebuilt")
    assert [world.lists[host].name for host in range(5)] == ["honest", "rebuilt", "honest", "rebuilt", "honest"]
    assert [page.number for page in world.pages(1)] == [1, 6, 11, 16]
    assert World.make(20, 5, mix="pages").lists == {}
    assert [law.name for law in laws_named("mixed")] == list(LIST_LAWS)


def test_a_law_is_the_same_from_the_same_seed_and_another_from_another() -> None:
    one, same, other = (World.make(9, 3, seed, "pages", lists="forgetful") for seed in (1, 1, 2))
    assert one.listed(4).told(500.0).at.tolist() == same.listed(4).told(500.0).at.tolist()
    assert one.listed(4).told(500.0).at.tolist() != other.listed(4).told(500.0).at.tolist()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: World.make(4, 2, mix="pages", lists="honest,truthful"), "truthful"),
        (lambda: World.make(4, 2, mix="feeds", lists="honest"), "mix"),
        (lambda: ListLaw(name="x", left_out=1.5), "left_out"),
        (lambda: ListLaw(name="x", false_per_h=-1.0), "false_per_h"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        make()
