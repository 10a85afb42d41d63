import math

import numpy as np
import pytest

from recrawl import Sources
from recrawl.errors import ParameterError

EPHEMERAL = {"arrival_rate": [1.0, 2.0], "interest": [1.0, 1.0], "decay": [0.5, 0.5]}
CHANGING = {"change_probability": [0.1, 0.2], "importance": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("argument", "bad"),
    [
        *((name, bad) for name in ("arrival_rate", "interest") for bad in (-1.0, math.nan, math.inf)),
        *(("decay", bad) for bad in (0.0, -1.0, math.nan, math.inf)),
        *(("cost", bad) for bad in (0.0, -1.0, math.nan, math.inf)),
        *(("lifetime", bad) for bad in (0.0, 0.5, 2.5, -1.0, math.nan)),
    ],
)
def test_a_wrong_element_of_an_ephemeral_source_is_named(argument, bad):
    with pytest.raises(ParameterError, match=rf"{argument}\[1\] must be .*, got {bad}") as error:
        Sources.ephemeral(**EPHEMERAL | {argument: [1.0, bad]})
    assert (error.value.argument, error.value.element) == (argument, (1,))


@pytest.mark.parametrize(
    ("argument", "bad"),
    [
        *(("change_probability", bad) for bad in (-0.1, 1.1, math.nan)),
        *(("importance", bad) for bad in (-1.0, math.nan, math.inf)),
        *(("cost", bad) for bad in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_a_wrong_element_of_a_changing_page_is_named(argument, bad):
    with pytest.raises(ParameterError, match=rf"{argument}\[1\] must be .*, got {bad}"):
        Sources.changing(**CHANGING | {argument: [1.0, bad]})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"arrival_rate": [1.0, 2.0, 3.0]}, "arrival_rate"),
        ({"interest": "much"}, "interest"),
        ({"period": 0.0}, "period"),
        ({"period": math.inf}, "period"),
        ({"lifetime_form": "guess"}, "lifetime_form"),
        ({"arrival_rate": 1e300, "interest": 1e300}, "decay"),
        ({"arrival_rate": np.ones((2, 2))}, "one-dimensional"),
        ({"interest": 1e200, "cost": [1.0, 1e-200]}, r"cost\[1\]"),
    ],
)
def test_arguments_that_do_not_fit_together_are_named(arguments, named):
    with pytest.raises(ParameterError, match=named):
        Sources.ephemeral(**EPHEMERAL | arguments)


def test_both_kinds_are_the_same_bandit():
    sources = Sources.changing(change_probability=0.25, importance=3.0)
    assert (sources.inflow[0], sources.ceiling[0]) == (0.75, 3.0)
    assert sources.inflow[0] / (1 - sources.decay_factor[0]) == pytest.approx(3.0)


def test_a_catalogue_cannot_be_written_to_and_does_not_follow_its_inputs():
    interest = np.array([1.0, 2.0])
    sources = Sources.ephemeral(arrival_rate=1.0, interest=interest, decay=0.5)
    interest[0] = 99.0
    assert sources.interest[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        sources.inflow[0] = 5.0


def test_a_part_of_a_catalogue_keeps_its_numbers():
    sources = Sources.ephemeral([1.0, 2.0, 3.0], 1.0, 0.5, cost=[1.0, 2.0, 3.0])
    part = sources.take([2, 0])
    assert len(part) == 2
    assert part.cost.tolist() == [3.0, 1.0]
    assert part.inflow.tolist() == sources.inflow[[2, 0]].tolist()
