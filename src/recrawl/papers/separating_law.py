"""The law of the separating instances: pages under which policies differ.

* change probability per slot Δ, log-uniform on [0.001, 0.5]: most pages change rarely, some nearly always;
* importance w, log-normal with median 1 and σ = 1.2: a few pages matter much;
* both independent, and every crawl costs 1.
"""

from __future__ import annotations

import numpy as np

from recrawl.records import Sources

PAGES = 1000
SLOWEST, FASTEST = 0.001, 0.5
IMPORTANCE_SIGMA = 1.2


def catalogue(seed: int, pages: int = PAGES) -> Sources:
    """Pages drawn from the law above.

    >>> drawn = catalogue(seed=0)
    >>> len(drawn), bool((drawn.arrivals_per_slot <= 0.5).all())
    (1000, True)
    """
    random = np.random.default_rng(seed)
    change = SLOWEST * (FASTEST / SLOWEST) ** random.random(pages)
    return Sources.changing(change, np.exp(IMPORTANCE_SIGMA * random.standard_normal(pages)))
