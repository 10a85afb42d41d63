"""A folder of recorded pages, made up: some change twice a day, some weekly, most never."""

from __future__ import annotations

from pathlib import Path

import numpy as np

START = 1_704_067_200  # 2024-01-01
DAY = 86400
DAYS = 20
PERIODS = [0.5 * DAY] * 4 + [7.0 * DAY] * 8 + [float("inf")] * 12
SCENARIO = """
[[scenario]]
name = "made"
kind = "freshness"
corpora = ["made"]
starts_at = "2024-01-01T00:00:00Z"
scored_from = "2024-01-06T00:00:00Z"
ends_at = "2024-01-21T00:00:00Z"
tick_s = 14400
budgets_fetches_per_day = [6, 12, 24]
"""
ITEMS_SCENARIO = """
[[scenario]]
name = "items"
kind = "discovery"
corpora = ["made"]
starts_at = "2024-01-01T00:00:00Z"
scored_from = "2024-01-06T00:00:00Z"
ends_at = "2024-01-21T00:00:00Z"
tick_s = 14400
budgets_fetches_per_day = [6]
"""


def write_recordings(folder: Path, extra: str = "") -> Path:
    """Write the scenarios and the tables they need; `extra` are further scenarios."""
    folder.mkdir(exist_ok=True)
    random, changes = np.random.default_rng(0), []
    for page, period in enumerate(PERIODS):
        moments = random.uniform(0, DAYS * DAY, random.poisson(DAYS * DAY / period)).astype(int)
        changes += [f"{page},{START + moment},1,false" for moment in sorted(set(moments.tolist()))]
    pages = [f"{page},made,page/{page},{START - DAY},{START + (DAYS + 1) * DAY}" for page in range(len(PERIODS))]
    for name, head, rows in (
        ("pages", "page,corpus,name,first_observed,last_observed", pages),
        ("page_changes", "page,changed_at,batch,revert", changes),
    ):
        (folder / f"{name}.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    (folder / "scenarios.toml").write_text(SCENARIO + extra, encoding="utf-8")
    return folder
