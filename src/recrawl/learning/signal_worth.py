"""What a page that has changed is worth to a visit, by objective."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.learning.page_model import PageModel
from recrawl.records import FloatArray, IntArray

if TYPE_CHECKING:
    from recrawl.learning.beliefs import CatalogueBeliefs

PLANNED_SHARE = 0.5
"""A page that has changed is worth the time to its next change, or to a planned visit in such a share of it."""


def changed_worth(
    beliefs: CatalogueBeliefs, ids: IntArray, when: FloatArray, since: FloatArray, now: FloatArray
) -> FloatArray:
    """What a visit to a source is worth that has changed at `when`, per cost."""
    objective, worth = beliefs.setting.objective, beliefs.weight[ids].copy()
    for model, mine, rows in beliefs.parts(ids):
        if isinstance(model, PageModel):
            worth[mine] = model.worth(rows)
            if objective == "freshness":
                worth[mine] *= _kept_fresh(model, rows)
    if objective == "discovery":
        worth *= when - since
    elif objective == "ephemeral":
        worth *= np.exp(-beliefs.fading(ids) * (now - when))
    return worth


def _kept_fresh(model: PageModel, rows: IntArray) -> FloatArray:
    """How long a copy that is fresh now stays so, or until it is visited anyway."""
    mass, change = model.change_atoms(rows)
    plan = model.plan
    if plan is None:
        planned = np.zeros(len(rows))
    elif plan.made:
        planned = plan.rate[rows]
    else:
        planned = np.full(len(rows), plan.pace_each(model.now))
    rate = np.maximum(change.astype(np.float64) + PLANNED_SHARE * planned[:, None], 1e-300)
    return (mass / rate).sum(axis=1)
