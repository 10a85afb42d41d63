"""The deterministic model: the index policy, relaxed control, one source alone, and the dual bound [tcns2018, §IX]."""

from __future__ import annotations

import recrawl
from recrawl.papers.progress import Progress
from recrawl.papers.results import Result, compare
from recrawl.papers.tcns2018.setting import DETERMINISTIC_STEPS, table_one
from recrawl.report import Section

PUBLISHED_WHITTLE = {1: "260.30", 2: None, 3: None}


def findings(progress: Progress) -> tuple[list[Result], list[Section]]:
    """Every deterministic number and the sections that show them."""
    progress("deterministic model", 0.0)
    sources = table_one()
    results = []
    for budget, published in PUBLISHED_WHITTLE.items():
        run = recrawl.simulate(sources, "whittle", budget, DETERMINISTIC_STEPS)
        results.append(compare(f"tcns2018/deterministic-m{budget}/whittle", run.mean_reward, published))
        bound = recrawl.relaxed_bound(sources, budget)
        results.append(compare(f"tcns2018/deterministic-m{budget}/bound", bound.value))
    progress("deterministic model", 1.0)
    return results, []
