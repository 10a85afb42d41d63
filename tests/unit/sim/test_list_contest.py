"""Lists that are ignored, believed and weighed, on the same pages at the same budget."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from recrawl.policies.believes_lists import BelievesLists
from recrawl.sim.list_contest import ListContest, Watched, compete_with_lists
from recrawl.sim.replay import replay
from recrawl.sim.scenarios import DAY_S, Scenario
from recrawl.sim.scoring import score
from recrawl.sim.trace_lists import TraceList
from recrawl.sim.traces import Trace

START, DAYS, BUDGET, PAGES = 1_700_006_400, 20, 24.0, 60
SCENARIO = Scenario(
    "lists", "freshness", (), START, START + 5 * DAY_S, START + DAYS * DAY_S, 3600, (BUDGET,), lists=True
)


def trace() -> Trace:
    """Pages that change every four days or so, half of them in an honest list."""
    random = np.random.default_rng(8)
    owners = np.repeat(np.arange(PAGES), 5)
    times = START + random.integers(0, DAYS * DAY_S, len(owners))
    pages = Trace.of(np.arange(PAGES), [f"https://a.example/{page}" for page in range(PAGES)], owners, times)
    told, listed = owners < PAGES // 2, np.arange(PAGES // 2)
    owners, times = np.append(listed, owners[told]), np.append(np.full(len(listed), START - DAY_S), times[told])
    honest = TraceList.of(0, "https://a.example/sitemap.xml", owners, times, times)
    return replace(pages, lists=(honest,))


@pytest.fixture(scope="module")
def contest() -> ListContest:
    return compete_with_lists(SCENARIO, trace(), BUDGET, [0.0, 10.0, 20.0])


def test_it_says_what_was_played(contest: ListContest) -> None:
    assert (contest.pages, contest.changes, contest.days) == (PAGES, 5 * PAGES, DAYS)
    assert contest.budget_per_day == BUDGET
    assert [each.name for each in contest.lists] == ["https://a.example/sitemap.xml"]


def test_an_honest_list_comes_to_be_trusted_and_is_worth_something(contest: ListContest) -> None:
    (honest,) = contest.lists
    assert honest.days == [0.0, 10.0, 20.0]
    assert honest.trust[0] is None
    assert honest.trust[2] > 0.9
    assert honest.believed_after > 0
    assert honest.found_out_after is None
    assert honest.truly_right == 1.0
    assert contest.learned > contest.without


def test_believing_is_what_the_baseline_does(contest: ListContest) -> None:
    log = replay(SCENARIO, trace(), BelievesLists(), BUDGET)
    assert contest.believed == score(SCENARIO, trace(), log, BUDGET).value


def test_a_signal_is_true_if_the_page_changed_since_the_one_before() -> None:
    pages = Trace.of(np.arange(1), ["https://a.example/"], [0, 0], [START + 50, START + 250])
    when = START + 100 * np.arange(-1, 5)
    said = TraceList.of(0, "list", np.zeros(6, np.int64), when, when)
    scenario = replace(SCENARIO, scored_from=START, ends_at=START + 7200)
    (rebuilt,) = compete_with_lists(scenario, replace(pages, lists=(said,)), BUDGET, [0.0]).lists
    assert rebuilt.truly_right == 0.5


def watched(*trusts: float | None) -> Watched:
    """A list of pages 0 to 2 that is trusted like this, a page visited each day in turn."""
    found = Watched(9, "list", np.arange(3), 0.0)
    for day, trust in enumerate(trusts):
        belief = SimpleNamespace(id=9, trust=trust, precision=0.5, recall=0.25)
        policy = SimpleNamespace(lists=lambda now, said=[] if trust is None else [belief]: said)
        found.look(policy, day * DAY_S, np.array([day % 3, 7]))
    return found


def test_it_takes_later_visits_to_find_out_a_list_and_only_the_last_word_counts() -> None:
    standing = watched(None, 0.1, 0.1, 0.01, 0.3, 0.02, 0.03).standing([0.0, 3.5])
    assert standing.found_out_after == 3
    assert standing.believed_after is None
    assert standing.trust == [None, 0.01]
    assert (standing.right, standing.tells) == (0.5, 0.25)


def test_a_list_nobody_made_up_their_mind_about_is_neither_found_out_nor_believed() -> None:
    for trusts in ((None, None), (0.01, 0.5), (0.99, 0.5)):
        standing = watched(*trusts).standing([0.0])
        assert (standing.found_out_after, standing.believed_after) == (None, None)
    never = watched(None).standing([0.0])
    assert (never.right, never.tells, never.trust) == (None, None, [None])
