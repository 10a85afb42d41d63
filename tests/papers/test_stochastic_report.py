import numpy as np
import pytest

from recrawl.papers.stochastic_report import agreement, exponential_quantiles, instances, poisson_inflows


def test_the_three_methods_agree_within_their_stated_errors():
    laws = instances(size=500)
    chosen = {name: laws[name] for name in laws if "constant" in name or "exponential, α" in name or "source 2" in name}
    begun = []
    rows = agreement(chosen, shares=(0.6, 0.9), replications=4, progress=begun.append)
    assert begun == list(chosen)
    assert len(rows) == 2 * len(chosen)
    for row in rows:
        assert row.agrees, row
        # The stated errors are small enough for agreement to mean something.
        assert row.disagreement < 0.05 * row.threshold
        assert row.two_time_scale.error < 0.05 * row.threshold
        assert row.renewal.error < 1e-3 * row.threshold


@pytest.mark.long
def test_the_three_methods_agree_on_every_instance():
    assert all(row.agrees for row in agreement())


def test_thresholds_that_are_never_reached_are_left_out():
    laws = instances(size=50)
    assert agreement({"constant": laws["constant, α = 0.5"]}, shares=(1.1,), replications=2) == []


def test_inflows_have_the_mean_of_equation_1():
    interest, decay = 0.7, 0.35
    expected = 250 * interest / decay * -np.expm1(-decay)
    plain = poisson_inflows(interest, decay, 4000, seed=1)
    epoch = poisson_inflows(interest, decay, 4000, seed=1, per_epoch=True)
    assert plain.mean() == pytest.approx(expected, rel=0.01)
    assert epoch.mean() == pytest.approx(expected, rel=0.08)
    assert epoch.std() > 10 * plain.std()


def test_exponential_quantiles_keep_mean_and_spread():
    points = exponential_quantiles(4000)
    assert points.mean() == pytest.approx(1.0, rel=1e-12)
    assert points.std() == pytest.approx(1.0, abs=2e-3)
