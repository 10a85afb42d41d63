"""Everything that can choose. `make` builds any of them by name; all follow :class:`Policy`."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import Any, cast

from recrawl.config.live_policies import LEARNED, LIVE_POLICIES, live_policy
from recrawl.errors import ParameterError
from recrawl.policies.contract import Beliefs, LivePolicy, Policy
from recrawl.policies.written import parse

_HOMES = {
    "whittle": ("whittle", "Whittle"),
    "relaxed": ("relaxed", "Relaxed"),
    "periodic": ("periodic", "Periodic"),
    "greedy": ("greedy", "Greedy"),
    "myopic": ("greedy", "Myopic"),
    "round_robin": ("round_robin", "RoundRobin"),
    "single": ("single", "Single"),
    "learned_whittle": ("learned_whittle", "LearnedWhittle"),
    "uniform": ("uniform", "Uniform"),
    "static": ("static", "Static"),
    "thompson": ("thompson", "Thompson"),
    "fg_dqn": ("fg_dqn", "FgDqn"),
    "thompson_then_dqn": ("thompson_then_dqn", "ThompsonThenDqn"),
    "lspe": ("lspe", "Lspe"),
    "nutch_adaptive": ("peers.nutch_adaptive", "NutchAdaptive"),
    "stormcrawler_adaptive": ("peers.stormcrawler_adaptive", "StormcrawlerAdaptive"),
    "news_crawl": ("peers.news_crawl", "NewsCrawl"),
    "miniflux": ("peers.miniflux", "Miniflux"),
    "commafeed": ("peers.commafeed", "Commafeed"),
    "lambda_crawl": ("peers.lambda_crawl", "LambdaCrawl"),
    "azar": ("peers.azar", "Azar"),
}
NAMES = tuple(_HOMES)
LIVE = LIVE_POLICIES
"""Those that can run live."""

__all__ = ["LIVE", "NAMES", "Beliefs", "LivePolicy", "Policy", "live", "make"]


def make(name: str, **options: Any) -> Policy:
    """A policy by name; options are those of its class, `seed` among them.

    >>> make("whittle").soft_budget
    False
    """
    if name not in _HOMES:
        raise ParameterError("name", f"one of {', '.join(NAMES)}", repr(name))
    module, kind = _HOMES[name]
    maker = getattr(import_module(f"recrawl.policies.{module}"), kind)
    try:
        return cast(Policy, maker(**options))
    except TypeError as error:
        raise ParameterError("options", f"what {kind} takes", str(error)) from error


def live(text: str, **learning: Any) -> LivePolicy:
    """A policy that runs live, as the settings name it; `learning` are options that only the learned one takes.

    >>> live("miniflux:filled", objective="ephemeral").price
    nan
    """
    name = live_policy("policy", text)
    options = dict(parse(text)[1])
    _check_options(text, name, options)
    return cast(LivePolicy, make(name, **(learning | options if name == LEARNED else options)))


def _check_options(text: str, name: str, options: dict[str, Any]) -> None:
    """ParameterError naming the first option the policy does not take, and those it takes."""
    module, kind = _HOMES[name]
    maker = getattr(import_module(f"recrawl.policies.{module}"), kind)
    taken = [option for option in signature(maker).parameters if option != "seed"]
    for option in options:
        if option not in (*taken, "seed"):
            near = get_close_matches(option.lower(), taken)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"an option of policy {text!r}", f"one of {', '.join(taken)}", f"{option!r}{meant}")
