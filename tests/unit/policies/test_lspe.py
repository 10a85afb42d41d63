"""The LSPE(0) policy: soft and hard budgets, observed or not, and the compiled runs that stand in for it."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl import Sources, Visits, policies, simulate
from recrawl.errors import ParameterError
from recrawl.papers.allerton2019.runs import run_many
from recrawl.policies.lspe import Lspe

TABLE = Sources.ephemeral(arrival_rate=250, interest=[1, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21])
WHOLE = float(TABLE.ceiling.max())
STEPS = 400


def lspe(**options: object) -> Lspe:
    policy = policies.make("lspe", **options)
    assert isinstance(policy, Lspe)
    return policy


@pytest.mark.parametrize("budget", ["soft", "hard"])
@pytest.mark.parametrize("reward", ["printed", "collected"])
@pytest.mark.parametrize("unit", [1.0, WHOLE])
def test_compiled_runs_are_the_policy_s_own(budget: str, reward: str, unit: float) -> None:
    policy = lspe(budget=budget, reward=reward, unit=unit, initial="random", seed=4)
    stepped = simulate(TABLE, policy, 1, STEPS, runs=2, observed=True)
    compiled = run_many(TABLE, policy, STEPS, runs=2)
    np.testing.assert_allclose(compiled.rewards, stepped.rewards, rtol=1e-9)
    assert compiled.engaged.mean() == pytest.approx(stepped.spend)


@pytest.mark.parametrize("form", ["paper", "exact"])
def test_unobserved_sources_are_taken_at_their_expected_worth(form: str) -> None:
    mortal = Sources.ephemeral(
        arrival_rate=250, interest=[1, 0.7, 0.2], decay=[0.7, 0.35, 0.7], lifetime=4, lifetime_form=form
    )
    unit = float(mortal.ceiling.max())
    seen, unseen = (simulate(mortal, lspe(unit=unit), 1, STEPS, observed=o) for o in (True, False))
    np.testing.assert_allclose(seen.rewards, unseen.rewards, rtol=1e-9)


def test_a_soft_budget_says_so_and_reports_its_spend() -> None:
    assert lspe().soft_budget
    assert not lspe(budget="hard").soft_budget
    assert simulate(TABLE, lspe(unit=WHOLE), 1, STEPS).spend != 1.0
    assert simulate(TABLE, lspe(unit=WHOLE, budget="hard"), 2, STEPS).spend == 2.0


def test_each_source_is_crawled_by_its_probability() -> None:
    policy = lspe(unit=WHOLE, initial=0.0, actor_step_gain=1e-300)
    share = simulate(TABLE, policy, 1, 6000).crawl_share
    expected = []
    for i in range(len(TABLE)):
        worth = TABLE.ceiling[i] * (1 - TABLE.decay_factor[i] ** np.arange(1, 400))
        f = 1 / (1 + np.exp(-2.0 * ((worth - TABLE.inflow[i]) / WHOLE - 0.5)))
        expected.append(1 / np.concatenate([[1.0], np.cumprod(1 - f)]).sum())
    np.testing.assert_allclose(share, expected, atol=0.025)  # four standard errors


def test_a_hard_budget_takes_the_largest_worth_above_its_threshold() -> None:
    policy = lspe(budget="hard", initial=[0.9, 0.0, 0.0, 0.0])
    policy.start(4, 0.0, sources=TABLE)
    states = np.array([300.0, 300.0, 60.0, 90.0])
    start = TABLE.inflow + np.array([0.9, 0, 0, 0]) * (TABLE.ceiling - TABLE.inflow)
    assert policy.choose(0.0, 4, states).tolist() == np.argsort(-(states - start)).tolist()
    np.testing.assert_allclose(policy.thresholds, start)


def test_thresholds_stay_in_the_range_of_the_worths() -> None:
    for project in (True, False):
        policy = lspe(project=project)
        policy.start(4, 0.0, sources=TABLE)
        outside = False
        for slot in range(200):
            ids = policy.choose(float(slot), 1)
            policy.observe(Visits(ids, float(slot), worth=np.ones(len(ids))))
            found = policy.thresholds
            outside |= bool(((found < TABLE.inflow - 1e-9) | (found > TABLE.ceiling + 1e-9)).any())
        assert outside is not project


def test_the_printed_reward_teaches_not_to_crawl_the_sources_that_matter() -> None:
    found = run_many(TABLE, lspe(unit=WHOLE, initial=0.0), 3000, runs=4)
    np.testing.assert_allclose(found.thresholds[:, -1, :2], np.broadcast_to(TABLE.ceiling[:2], (4, 2)))


def test_without_regularisation_the_carried_inverse_breaks_and_the_policy_says_when() -> None:
    policy = lspe(inverse="sherman_morrison")
    policy.start(4, 0.0, sources=TABLE)
    assert policy.broke_at is None
    for slot in range(1000):
        ids = policy.choose(float(slot), 1)
        policy.observe(Visits(ids, float(slot), worth=np.ones(len(ids))))
    assert policy.broke_at is not None
    assert np.isfinite(policy.thresholds).all()


def test_a_crawl_that_did_not_happen_is_not_learnt_as_one() -> None:
    told = []
    for outcome in ("crawled", "released", "failed"):
        policy = lspe(unit=WHOLE, initial=0.0, reward="collected", sharpness=2.0)
        policy.start(4, 0.0, sources=TABLE)
        ids = policy.choose(0.0, 1, TABLE.ceiling)
        assert len(ids)
        if outcome == "released":
            policy.release(ids)
        else:
            failed = np.full(len(ids), outcome == "failed")
            policy.observe(Visits(ids, 0.0, worth=np.ones(len(ids)), failed=failed))
        policy.choose(1.0, 1, TABLE.ceiling)
        told.append(policy.learner.average_reward[0])
    assert told[0] > 0
    assert told[1:] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"budget": "tight"}, "budget"),
        ({"reward": "hoped"}, "reward"),
        ({"inverse": "pseudo"}, "inverse"),
        ({"critic_steps": "big"}, "critic_steps"),
        ({"actor_steps": "big"}, "actor_steps"),
        ({"sharpness": 0.0}, "sharpness"),
        ({"critic_gain": -1.0}, "critic_gain"),
        ({"regularisation": 0.0}, "regularisation"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"step_gain": 1.0}, "step_gain"),
        ({"actor_step_gain": 0.0}, "actor_step_gain"),
        ({"initial": 1.5}, "initial"),
        ({"initial": "best"}, "initial"),
        ({"unit": 0.0}, "unit"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}"):
        policies.make("lspe", **options)


def test_too_many_sources_are_refused() -> None:
    crowd = Sources.ephemeral(arrival_rate=np.ones(50), interest=1, decay=0.5)
    with pytest.raises(ParameterError, match="targets must be at most"):
        lspe().start(50, 0.0, sources=crowd)


def test_one_start_per_source_or_one_for_all() -> None:
    with pytest.raises(ParameterError, match="initial must be one, or one per source"):
        lspe(initial=[0.1, 0.2]).start(4, 0.0, sources=TABLE)
