"""Which policies can run live, and how one is named in the settings: `NAME`, or `NAME:option,option=value`."""

from __future__ import annotations

from difflib import get_close_matches

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
    name = text.partition(":")[0]
    if name not in LIVE_POLICIES:
        near = get_close_matches(name.lower().replace("-", "_"), LIVE_POLICIES)
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ParameterError(argument, f"one that can run live ({', '.join(LIVE_POLICIES)})", f"{name!r}{meant}")
    return name
