"""Which of two lives of a shard is the shard now.

A node that was cut off for long is given up, its shards are started elsewhere, and when it is back the lives that were
there speak again, until Ray notices. Lives have no order that all machines would agree on, so leases decide: they are
with one of them.
"""

from __future__ import annotations

from recrawl.cluster.messages import Report

FRESH_S = 4.0
"""Reports older than this tell nothing about the present."""


def gives_way(now_it: Report, silent_s: float, other: Report, *, first: bool) -> bool:
    """Whether the life that is the shard, silent for so long, gives way to another, heard of for the first time or not.

    One that was just started has nothing yet: it is waited with until the last one is known to be silent.

    >>> holder, idle = Report(shard="a", life="2", buckets=300), Report(shard="a", life="1")
    >>> gives_way(holder, 1.0, idle, first=True), gives_way(idle, 1.0, holder, first=False)
    (False, True)
    """
    if silent_s > FRESH_S or other.buckets > now_it.buckets:
        return True
    return first and now_it.buckets == 0
