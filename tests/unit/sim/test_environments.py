"""The environments keep Gymnasium's rules and are the simulator's worlds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra `lab` is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import recrawl  # noqa: E402
import recrawl.sim.environments  # noqa: E402
from recrawl.errors import ParameterError  # noqa: E402

NAMES = ["recrawl/Ephemeral-v0", "recrawl/ChangingPages-v0"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [1, 2])
def test_passes_gymnasiums_own_check(name: str, budget: int) -> None:
    check_env(gymnasium.make(name, budget=budget).unwrapped, skip_render_check=True)


def test_worth_can_be_observed() -> None:
    env = gymnasium.make("recrawl/Ephemeral-v0", observed=True, noise=None)
    check_env(env.unwrapped, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    np.testing.assert_allclose(observation[1], env.unwrapped.sources.inflow)


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_everything(name: str) -> None:
    def episode(seed: int) -> list[float]:
        env = gymnasium.make(name)
        env.reset(seed=seed)
        return [env.step(slot % 4)[1] for slot in range(200)]

    assert episode(3) == episode(3)
    assert episode(3) != episode(4)


@pytest.mark.parametrize("name", NAMES)
def test_can_be_vectorised(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3, vectorization_mode="sync")
    observations, _ = envs.reset(seed=7)
    assert observations.shape == (3, 2, 4)
    _, rewards, _, _, _ = envs.step(np.array([0, 1, 2]))
    assert rewards.shape == (3,)
    envs.close()


def test_an_episode_is_cut_off_after_its_slots() -> None:
    env = gymnasium.make("recrawl/ChangingPages-v0", slots=5)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(5)] == [False] * 4 + [True]


def test_observation_shows_elapsed_slots_and_what_the_last_crawl_found() -> None:
    env = gymnasium.make("recrawl/Ephemeral-v0", noise=None)
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observation, [[1, 1, 1, 1], [0, 0, 0, 0]])
    observation, reward, *_ = env.step(2)
    np.testing.assert_allclose(observation, [[2, 2, 1, 2], [0, 0, reward, 0]])


def test_the_index_policy_earns_in_the_environment_what_it_earns_in_the_simulator() -> None:
    env = gymnasium.make("recrawl/Ephemeral-v0", noise=None)
    sources = env.unwrapped.sources
    observation, _ = env.reset(seed=0)
    total = 0.0
    for _ in range(1000):
        action = int(np.argmax(recrawl.whittle_index_after(sources, observation[0])))
        observation, reward, *_ = env.step(action)
        total += reward
    assert total / 1000 == pytest.approx(recrawl.simulate(sources, "whittle", steps=1000).mean_reward)


@pytest.mark.parametrize(
    ("options", "argument"),
    [({"budget": 5}, "budget"), ({"budget": 0}, "budget"), ({"slots": 0}, "slots"), ({"noise": "change"}, "noise")],
)
def test_wrong_options_are_named(options: dict, argument: str) -> None:
    with pytest.raises(ParameterError, match=argument):
        gymnasium.make("recrawl/Ephemeral-v0", **options)


def test_a_wrong_action_is_named() -> None:
    env = gymnasium.make("recrawl/Ephemeral-v0", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(ParameterError, match="action"):
        env.step(9)


def test_without_gymnasium_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport recrawl.sim.environments"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "recrawl[lab]" in done.stderr


def test_the_documented_example_agent_learns_something() -> None:
    text = (Path(__file__).parents[3] / "docs" / "environments.md").read_text(encoding="utf-8")
    code = text.split("<!-- example -->\n```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(compile(code, "docs/environments.md", "exec"), names)
    rewards = names["rewards"]
    assert isinstance(rewards, list)
    assert np.mean(rewards[-1000:]) > 1.4  # a uniform choice earns 1.2


def test_the_names_are_known_once_recrawl_is_imported_after_gymnasium() -> None:
    code = "import gymnasium, recrawl; print(gymnasium.make('recrawl/Ephemeral-v0').action_space)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Discrete(4)" in done.stdout, done.stderr
