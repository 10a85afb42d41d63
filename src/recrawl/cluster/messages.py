"""What shards and the coordinator say to each other, once a second: two hundred bytes up, less than fifty down.

Now and then what they know in common is added, some hundred bytes each way (:mod:`~recrawl.cluster.shared_learning`).

Times are lengths, never moments: no two machines need to agree on what time it is.
"""

from __future__ import annotations

import math
from zlib import crc32

import msgspec


class Report(msgspec.Struct, kw_only=True, array_like=True):
    """A shard to the coordinator.

    Parameters
        shard: its name, kept over restarts
        incarnation: of this run of it; no two incarnations of a shard are equal
        node: the machine it runs on, for people to read
        pid: its process there
        leader: epoch of the coordinator whose grant is in force; 0 for none
        granted: number of that grant
        rate, burst: of that grant, tokens per second and tokens; 0 once it has run out
        left_s: how long it still holds
        able: tokens per second it could spend at most; inf where it spent all it was given
        demand: tokens per second its sources would spend at `price`, sources never crawled left out
        slope: d demand / d ln price, at most 0
        price: at which demand was counted; NaN where the coordinator has not told one yet
        own_price: what its last token bought
        backlog: tokens it would take to crawl everything whose index is above `price` now
        newcomers: sources never crawled that wait; where all sources have gone, the visits to them that are under way:
            what these still need has to come from somewhere before their buckets can go
        siblings: of the newcomers, those that have no share of their own (`Survey`)
        dearest: what its dearest crawl costs
        sources, hosts, buckets: how many it has
        spent: tokens since its incarnation began
        requests, crawls, new, changed, failed, captured: since its incarnation began
        trouble: why it fetches nothing, in words; empty if it does
        membership: `membership_of` the members it knows
        summary: what it knows of what is common to the catalogue, packed; empty for most of the time
    """

    shard: str
    incarnation: str
    node: str = ""
    pid: int = 0
    leader: int = 0
    granted: int = 0
    rate: float = 0.0
    burst: float = 0.0
    left_s: float = 0.0
    able: float = math.inf
    demand: float = 0.0
    slope: float = 0.0
    price: float = math.nan
    own_price: float = math.nan
    backlog: float = 0.0
    newcomers: int = 0
    dearest: float = 1.0
    sources: int = 0
    hosts: int = 0
    buckets: int = 0
    spent: float = 0.0
    requests: int = 0
    crawls: int = 0
    new: int = 0
    changed: int = 0
    failed: int = 0
    captured: float = 0.0
    trouble: str = ""
    membership: int = 0
    siblings: int = 0
    summary: bytes = b""


class Grant(msgspec.Struct, kw_only=True, array_like=True):
    """The coordinator's answer.

    Parameters
        leader: its epoch; a shard takes no smaller one than it has seen
        number: grows from grant to grant of one coordinator to one incarnation of a shard
        rate, burst: what the shard may spend, tokens per second and tokens, from now on
        seconds: for so long, counted from the moment the shard *sent* its report
        price: of the whole fleet; NaN before there is one
        members: names of the shards that share the buckets now; None for those the shard knows already, since among
            a thousand they are nearly all there is to say
        others: what the other members know in common, in answer to a summary; empty for nothing to say
        asks: whether the shard's own summary is not known here
    """

    leader: int
    number: int
    rate: float = 0.0
    burst: float = 0.0
    seconds: float = 0.0
    price: float = math.nan
    members: tuple[str, ...] | None = ()
    others: bytes = b""
    asks: bool = False


def membership_of(members: tuple[str, ...]) -> int:
    """A number that tells one list of members from another; 0 for none."""
    return crc32("/".join(members).encode())
