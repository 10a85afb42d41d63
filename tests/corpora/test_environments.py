"""Gymnasium's own checks and wrappers on our environments; its published tests hold no more that we could run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

gymnasium = pytest.importorskip("gymnasium")
from gymnasium import wrappers  # noqa: E402
from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402

import recrawl.sim.environments  # noqa: E402, F401 - registers the names

pytestmark = pytest.mark.corpora
NAMES = ("recrawl/Ephemeral-v0", "recrawl/ChangingPages-v0")
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"budget": 1}, {"budget": 3}, {"slots": 5})
WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "flat": wrappers.FlattenObservation,
    "normal": wrappers.NormalizeObservation,
    "rewards": wrappers.NormalizeReward,
    "statistics": wrappers.RecordEpisodeStatistics,
    "limited": lambda env: wrappers.TimeLimit(env, 7),
    "time-aware": lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 7)),
    "delayed": lambda env: wrappers.DelayObservation(env, 2),
    "rescaled rewards": lambda env: wrappers.TransformReward(env, lambda reward: 0.5 * reward),
    "autoreset": wrappers.Autoreset,
}


def test_gymnasium_finds_nothing_wrong_with_our_environments(judged):
    with judged("Gymnasium's checks") as corpus:
        for name in NAMES:
            for options in OPTIONS:
                corpus.check(f"{name} {options}", None, lambda n=name, o=options: _checked(n, o))
            for label, wrap in WRAPPERS.items():
                corpus.check(f"{name} {label}", True, lambda n=name, w=wrap: _alike(n, w))


def _checked(name: str, options: dict[str, Any]) -> None:
    check_env(gymnasium.make(name, **options).unwrapped, skip_render_check=True)


def _alike(name: str, wrap: Callable[[Any], Any]) -> bool:
    """Whether the same seed gives the same walk, twelve steps long, beyond the end of an episode."""
    return bool(
        data_equivalence(_walk(wrap(gymnasium.make(name, slots=9))), _walk(wrap(gymnasium.make(name, slots=9))))
    )


def _walk(env: Any) -> list[Any]:
    env.action_space.seed(3)
    steps: list[Any] = [env.reset(seed=7)[0]]
    for _ in range(12):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        steps.append((observation, float(reward), terminated, truncated))
        if terminated or truncated:
            steps.append(env.reset()[0])
    return steps
