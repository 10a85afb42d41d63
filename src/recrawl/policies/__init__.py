"""Everything that can choose. `make` builds any of them by name; all follow :class:`Policy`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, cast

from recrawl.arguments import meant, one_of
from recrawl.config.live_policies import LEARNED, LIVE_POLICIES, live_policy
from recrawl.errors import ParameterError
from recrawl.policies.contract import Beliefs, LivePolicy, Policy
from recrawl.policies.policy_spec import parse

_HOMES = {
    "whittle": ("whittle", "Whittle"),
    "relaxed": ("relaxed", "Relaxed"),
    "periodic": ("periodic", "Periodic"),
    "greedy": ("greedy", "Greedy"),
    "myopic": ("greedy", "Myopic"),
    "round_robin": ("round_robin", "RoundRobin"),
    "believes_lists": ("believes_lists", "BelievesLists"),
    "single": ("single", "Single"),
    "learned_whittle": ("learned_whittle", "LearnedWhittle"),
    "uniform": ("uniform", "Uniform"),
    "static": ("static", "Static"),
    "thompson": ("thompson", "Thompson"),
    "fg_dqn": ("fg_dqn", "FgDqn"),
    "thompson_then_dqn": ("thompson_then_dqn", "ThompsonThenDqn"),
    "lspe": ("lspe", "Lspe"),
    "q_whittle": ("q_whittle", "QWhittle"),
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
    maker = _maker(one_of("name", name, NAMES))
    _check_options("options", maker, options)
    try:
        return cast(Policy, maker(**options))
    except TypeError as error:
        raise ParameterError("options", f"what {maker.__name__} takes", str(error)) from error


def live(text: str, **learning: Any) -> LivePolicy:
    """A policy that runs live, as the settings name it; `learning` are options that only the learned one takes.

    >>> live("miniflux:filled", objective="ephemeral").price
    nan
    """
    name = live_policy("policy", text)
    options = dict(parse(text)[1])
    _check_options(f"an option of policy {text!r}", _maker(name), options)
    return cast(LivePolicy, make(name, **(learning | options if name == LEARNED else options)))


def _maker(name: str) -> Callable[..., Any]:
    """The class of a policy."""
    module, kind = _HOMES[name]
    found: Callable[..., Any] = getattr(import_module(f"recrawl.policies.{module}"), kind)
    return found


def _check_options(argument: str, maker: Callable[..., Any], options: dict[str, Any]) -> None:
    """ParameterError naming the first option the policy does not take, and those it takes."""
    known = signature(maker).parameters
    if any(each.kind is Parameter.VAR_KEYWORD for each in known.values()):
        return
    taken = [option for option in known if option != "seed"]
    for option in options:
        if option not in known:
            raise ParameterError(argument, f"one of {', '.join(taken) or 'seed'}", f"{option!r}{meant(option, taken)}")
