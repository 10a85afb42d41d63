"""What the report on allerton2019 claims."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.papers import registry
from recrawl.papers.allerton2019 import claims_method, sweeps
from recrawl.papers.allerton2019 import lab as laboratory
from recrawl.papers.allerton2019.fixed import fixed_thresholds
from recrawl.papers.allerton2019.lab import Lab
from recrawl.records import Sources
from recrawl.report.progress import silent

IDS = ["lspe", "engaged-arms", "lspe-collected", "whittle", "best-arm", "second-best-arm"]


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab(quick=True, seed=0, progress=silent)


def stationary(sources: Sources, share: float, sharpness: float, unit: float, ages: int = 400) -> tuple[float, float]:
    """Reward and arms from the stationary law of each source's age, by solving for it."""
    reward = engaged = 0.0
    for i in range(len(sources)):
        worth = sources.ceiling[i] * (1 - sources.decay_factor[i] ** np.arange(1, ages + 1))
        threshold = sources.inflow[i] + share * (sources.ceiling[i] - sources.inflow[i])
        crawl = 1 / (1 + np.exp(-sharpness * ((worth - threshold) / unit - 0.5)))
        crawl[-1] = 1.0
        move = np.zeros((ages, ages))
        move[:, 0] = crawl
        move[np.arange(ages - 1), np.arange(1, ages)] = 1 - crawl[:-1]
        system = np.vstack([(move.T - np.eye(ages))[1:], np.ones(ages)])
        law = np.linalg.solve(system, np.eye(ages)[-1])
        reward += float(law @ (crawl * worth))
        engaged += float(law @ crawl)
    return reward, engaged


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_fixed_thresholds_earn_what_the_stationary_law_says(lab: Lab, share: float) -> None:
    found = fixed_thresholds(lab.sources, share, 2.0, lab.whole_unit)
    assert (found.reward, found.engaged) == pytest.approx(stationary(lab.sources, share, 2.0, lab.whole_unit))


def test_the_published_reward_is_that_of_thresholds_at_their_upper_end(lab: Lab) -> None:
    found = fixed_thresholds(lab.sources, 1.0, 2.0, lab.whole_unit)
    assert found.reward == pytest.approx(159.97, abs=0.01)
    assert found.engaged == pytest.approx(0.887, abs=0.001)


def test_every_start_ends_near_the_published_reward_when_worths_lie_in_the_unit_interval(lab: Lab) -> None:
    for start in (0.0, 1.0, "random"):
        runs = lab.learn(unit=lab.whole_unit, initial=start)
        assert runs.reward_per_run.mean() == pytest.approx(160, abs=8)
        assert runs.engaged_per_run.mean() == pytest.approx(0.93, abs=0.1)


def test_raw_worths_make_a_lottery(lab: Lab) -> None:
    raw, whole = lab.learn(), lab.learn(unit=lab.whole_unit)
    assert raw.reward_per_run.std() > 4 * whole.reward_per_run.std()
    assert raw.undecided.mean() < 0.5 * whole.undecided.mean()


def test_sharpness_controls_the_arms_engaged(lab: Lab) -> None:
    arms = [lab.learn(unit=lab.whole_unit, sharpness=k).engaged_per_run.mean() for k in (0.5, 1.0, 2.0, 5.0)]
    assert (np.diff(arms) < 0).all()


def test_only_the_paper_s_steps_break_the_carried_inverse(lab: Lab) -> None:
    assert (lab.learn(inverse="sherman_morrison").broke_at > 0).all()
    assert (lab.learn(inverse="sherman_morrison", critic_steps="harmonic", unit=lab.whole_unit).broke_at == 0).all()
    assert (lab.learn().broke_at == 0).all()


def test_thresholds_rise_with_the_other_states(lab: Lab) -> None:
    assert claims_method.thresholds_that_fall(lab) == 0


def test_the_carried_inverse_breaks_with_random_arrivals_too(lab: Lab) -> None:
    assert (claims_method.noisy_runs(lab).broke_at > 0).all()


def test_the_report_has_every_number_and_every_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laboratory, "QUICK_STEPS", 300)
    monkeypatch.setattr(laboratory, "QUICK_RUNS", 2)
    monkeypatch.setattr(sweeps, "ours", lambda lab: np.ones((2, 300)))
    heard: list[float] = []
    found = registry.reproduce("allerton2019", quick=True, progress=lambda what, share: heard.append(share))
    assert [result.id for result in found.results] == [
        f"allerton2019/{name}" for name in [*IDS, "ours", "ours-first-1000"]
    ]
    assert len(found.sections) == 9
    assert sum(len(list(section.figures())) for section in found.sections) == 4
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    said = {claim.id.rpartition("/")[2]: claim.verdict for claim in found.claims}
    assert len(said) == len(found.claims) == 18
    assert said["sherman-morrison"] == said["rank-by-determinism"] == "does not hold"
    assert said["threshold-monotone"] == said["periodic-under-index"] == "holds"
    assert said["two-time-scales"] == "holds under"


@pytest.mark.long
def test_the_full_reproduction_finds_the_published_reward() -> None:
    found = {result.id: result for result in registry.reproduce("allerton2019").results}
    assert found["allerton2019/lspe"].verdict == "reproduced"
    assert found["allerton2019/engaged-arms"].verdict == "reproduced"
    assert found["allerton2019/lspe"].measured == pytest.approx(161.5, abs=1.5)
    assert found["allerton2019/whittle"].measured == pytest.approx(260.38, abs=0.02)
    assert found["allerton2019/ours"].measured > 0.99 * found["allerton2019/whittle"].measured
