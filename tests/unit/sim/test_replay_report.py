from collections.abc import Sequence

import numpy as np
import pytest

from recrawl.report import Figure
from recrawl.sim.comparison import Contender, Outcome
from recrawl.sim.replay_report import document
from recrawl.sim.scenarios import Kind, Scenario
from recrawl.sim.scoring import Score


def figure(kind: Kind, values: Sequence[float], budgets: Sequence[float]) -> Figure:
    """The curves of two policies with these scores at each of the budgets."""
    scenario = Scenario("made", kind, ("a",), 0, 500, 1000, 100, tuple(budgets))
    outcomes = [
        Outcome(scenario, budget, Contender(name), Score(np.array([value]), np.ones(1), 1.0, 0.0), 0.0)
        for budget in budgets
        for name, value in zip(("learned_whittle", "round_robin"), values, strict=True)
    ]
    (drawn,) = document(outcomes, [], "").figures()
    return drawn


@pytest.mark.parametrize("values", [(3.1, 3.9), (3.0, 3.0), (2.0, 7.0), (0.03, 40.0)])
@pytest.mark.parametrize("budgets", [(100.0,), (100.0, 200.0)])
@pytest.mark.parametrize("kind", ["discovery", "ephemeral"])
def test_both_axes_have_numbers_however_few_the_budgets(
    kind: Kind, values: Sequence[float], budgets: Sequence[float]
) -> None:
    (axes,) = figure(kind, values, budgets).picture.axes
    for axis, least in ((axes.xaxis, len(budgets)), (axes.yaxis, 2)):
        (low, high), texts = axis.get_view_interval(), axis.get_majorticklabels()
        places = axis.get_majorticklocs()
        seen = {text.get_text() for text, place in zip(texts, places, strict=True) if low <= place <= high}
        assert len(seen - {""}) >= least
