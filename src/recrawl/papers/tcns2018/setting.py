"""Table I of the paper: four sources, slots of length one, crawls of cost one."""

from __future__ import annotations

from recrawl.records import Sources

DETERMINISTIC_STEPS = 1000
STOCHASTIC_STEPS = 10_000


def table_one() -> Sources:
    """The four sources of [tcns2018, Table I]."""
    return Sources.ephemeral(
        arrival_rate=250.0, interest=[1.0, 0.7, 0.2, 0.08], decay=[0.7, 0.35, 0.7, 0.21], cost=1.0, period=1.0
    )
