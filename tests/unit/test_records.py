"""Records check what they are given, once, and say what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from recrawl import Sources, Visits
from recrawl.errors import ParameterError, RecrawlError
from recrawl.policies.call_checks import some_visits


def test_ephemeral_sources_have_the_papers_numbers() -> None:
    table = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
    np.testing.assert_allclose(table.decay_factor, np.exp([-0.7, -0.35, -0.7, -0.21]))
    np.testing.assert_allclose(table.ceiling, 250 * np.array([1, 0.7, 0.2, 0.08]) / [0.7, 0.35, 0.7, 0.21])
    np.testing.assert_allclose(table.inflow, table.ceiling * (1 - table.decay_factor))
    assert table.cost.tolist() == [1, 1, 1, 1]


def test_the_period_scales_rate_and_inflow() -> None:
    daily = Sources.ephemeral(arrival_rate=2.0, interest=1.0, decay=0.1, period=24.0)
    assert daily.decay_factor[0] == pytest.approx(np.exp(-2.4))
    assert daily.ceiling[0] == pytest.approx(20.0)


def test_changing_pages_are_the_same_bandit() -> None:
    pages = Sources.changing(change_probability=[0.6, 0.0, 1.0], importance=[5.0, 2.0, 3.0])
    np.testing.assert_allclose(pages.decay_factor, [0.4, 1.0, 0.0])
    np.testing.assert_allclose(pages.inflow, [3.0, 0.0, 3.0])
    np.testing.assert_allclose(pages.ceiling, [5.0, 0.0, 3.0])


def test_lifetimes_lower_the_ceiling_and_in_the_papers_form_the_inflow_too() -> None:
    given = {"arrival_rate": 1.0, "interest": 1.0, "decay": -np.log(0.8), "lifetime": 5}
    exact, paper = Sources.ephemeral(**given), Sources.ephemeral(**given, lifetime_form="paper")
    assert exact.ceiling[0] == pytest.approx(paper.ceiling[0])
    assert paper.inflow[0] == pytest.approx(exact.inflow[0] * (1 - 0.8**5))
    assert exact.saturates
    assert not paper.saturates


def test_sources_cannot_be_changed_and_do_not_share_memory_with_what_they_were_made_from() -> None:
    given = np.array([1.0, 2.0])
    sources = Sources.ephemeral(arrival_rate=given, interest=1.0, decay=1.0, cost=given)
    given[0] = 99.0
    assert sources.cost[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        sources.cost[0] = 5.0


def test_a_part_of_a_catalogue_keeps_its_numbers() -> None:
    sources = Sources.ephemeral([1.0, 2.0, 3.0], 1.0, [0.1, 0.2, 0.3], lifetime=[3, np.inf, 7])
    part = sources.take([2, 0])
    np.testing.assert_array_equal(part.lifetime, [7, 3])
    np.testing.assert_allclose(part.ceiling, sources.ceiling[[2, 0]])
    assert part.kind == "ephemeral"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arrival_rate": [1, -2]}, r"arrival_rate\[1\] must be finite and >= 0, got -2"),
        ({"interest": float("nan")}, "interest must be finite and >= 0, got nan"),
        ({"decay": 0.0}, "decay must be finite and > 0"),
        ({"decay": [0.5, np.inf]}, r"decay\[1\] must be finite and > 0, got inf"),
        ({"cost": 0.0}, "cost must be finite and > 0"),
        ({"period": -1.0}, "period must be a positive"),
        ({"lifetime": 2.5}, "lifetime.* whole number"),
        ({"lifetime": 0}, "lifetime must be a whole number of slots >= 1"),
        ({"arrival_rate": [1, 2, 3], "decay": [1, 2]}, "shapes must be broadcastable.*arrival_rate \\(3,\\)"),
        ({"arrival_rate": "many"}, "arrival_rate"),
        ({"arrival_rate": [[1.0, 2.0]]}, "one-dimensional"),
        ({"arrival_rate": 1e300, "decay": 1e-300}, "decay.*large enough"),
        ({"arrival_rate": []}, "at least one"),
        ({"interest": 1e-200, "decay": 1e-200, "period": 1e-200}, r"decay.*decay \* period is above 0"),
        ({"arrival_rate": 1e200, "interest": 1e-200, "period": 1e200}, "arrival_rate.*finite"),
        ({"period": [1.0, 2.0]}, "period must be one number"),
        ({"lifetime_form": "approximate"}, "lifetime_form must be one of exact, paper"),
    ],
)
def test_wrong_parameters_are_named(given: dict[str, object], message: str) -> None:
    valid = {"arrival_rate": 1.0, "interest": 1.0, "decay": 1.0}
    with pytest.raises(ParameterError, match=message):
        Sources.ephemeral(**{**valid, **given})  # type: ignore[arg-type]


def test_a_probability_above_one_is_named() -> None:
    with pytest.raises(ParameterError, match=r"change_probability\[1\] must be a probability in \[0, 1\], got 1.5"):
        Sources.changing([0.5, 1.5], 1.0)


def test_visits_need_one_entry_per_id() -> None:
    with pytest.raises(ParameterError, match=r"worth must be one entry per id \(2\), got 3 entries"):
        Visits(np.array([4, 5]), 0.0, worth=np.ones(3))
    assert len(Visits(np.array([4, 5]), 0.0)) == 2


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"ids": [1, 1]}, "ids must be distinct"),
        ({"ids": [1.7]}, "ids must be whole numbers"),
        ({"ids": ["a"]}, "ids must be whole numbers"),
        ({"now": float("nan")}, "now must be a finite time"),
        ({"worth": [float("nan")]}, r"worth\[0\] must be finite"),
    ],
)
def test_wrong_visits_are_named(given: dict[str, object], argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        Visits(**{"ids": [1], "now": 0.0, **given})  # type: ignore[arg-type]


def test_a_list_says_when_pages_were_modified_and_nan_where_it_does_not() -> None:
    then = datetime(2024, 5, 1, tzinfo=UTC)
    visits = Visits([7, 8, 9], 10.0, sitemap=[None, ([3, 1], [then, None]), ([], [])])  # type: ignore[list-item]
    assert visits.sitemap is not None
    assert visits.sitemap[0] is None
    pages, lastmod = visits.sitemap[1]  # type: ignore[misc]
    assert (pages.dtype, lastmod.dtype) == (np.int64, np.float64)
    assert pages.tolist() == [3, 1]
    np.testing.assert_array_equal(lastmod, [then.timestamp(), np.nan])
    assert visits.of_lists.tolist() == [False, True, True]


def test_a_list_that_could_not_be_read_is_none() -> None:
    visits = Visits([7, 8], 10.0, sitemap=[([3], [1.0]), ([4], [1.0])], failed=[True, False])  # type: ignore[list-item, arg-type]
    assert visits.of_lists.tolist() == [False, True]


def test_what_lists_say_goes_with_their_visits() -> None:
    visits = Visits([7, 8], 10.0, sitemap=[None, ([3], [1.0])])  # type: ignore[list-item]
    assert visits.renumbered(np.array([0, 1])).sitemap is visits.sitemap
    kept = some_visits(visits, np.array([False, True]))
    assert kept.ids.tolist() == [8]
    assert kept.sitemap is not None
    assert kept.sitemap[0] is not None
    assert [part.tolist() for part in kept.sitemap[0]] == [[3], [1.0]]


def test_parameter_errors_are_value_errors_and_ours() -> None:
    assert issubclass(ParameterError, ValueError)
    assert issubclass(ParameterError, RecrawlError)
