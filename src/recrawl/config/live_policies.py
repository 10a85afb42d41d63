"""Which policies can run live, and how one is named in the settings: `NAME`, or `NAME:option,option=value`."""

from __future__ import annotations

from recrawl.arguments import meant, shown
from recrawl.errors import ParameterError

LEARNED = "learned_whittle"
LIVE_POLICIES = (
    LEARNED,
    "round_robin",
    "uniform",
    "thompson",
    "nutch_adaptive",
    "stormcrawler_adaptive",
    "news_crawl",
    "miniflux",
    "commafeed",
    "lambda_crawl",
    "azar",
)
"""The others need to be told their sources' parameters or states, which only a simulation knows, or choose among a
handful of arms."""


def live_policy(argument: str, text: str) -> str:
    """The name in a setting; ParameterError, with the nearest, if it is not one of a policy that can run live.

    >>> live_policy("policy", "miniflux:filled")
    'miniflux'
    """
    name = text.partition(":")[0] if isinstance(text, str) else text
    if name not in LIVE_POLICIES:
        expected = f"one that can run live ({', '.join(LIVE_POLICIES)})"
        raise ParameterError(argument, expected, shown(name) + meant(name, LIVE_POLICIES))
    return name
