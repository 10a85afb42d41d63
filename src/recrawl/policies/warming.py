"""Compile everything the live policy runs, before time matters.

Compiled code is kept on disk, so that this takes a second at most from the second time on; the very first time it takes
a minute or so, in which nothing could be crawled anyway. Done at the start, it never happens in the middle of a crawl.
"""

from __future__ import annotations

import numpy as np

from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.records import Visits

SOURCES = 8


def warm_up(policy: LearnedWhittle, now: float) -> None:
    """Take a policy through a short life; it is to be started anew afterwards."""
    ids = np.arange(SOURCES)
    policy.start(SOURCES, now, groups=ids % 3, labels=[f"https://a.example/{i}" for i in ids.tolist()])
    policy.configure(ids, importance=np.ones(SOURCES), half_life=np.full(SOURCES, 60.0), max_age=1e6, cost=1.0)
    for step in range(1, 8):
        moment = now + 20.0 * step
        chosen = policy.choose(moment, 2.0)
        policy.hold_groups(chosen % 3, moment + 1.0)
        feeds, pages = chosen[chosen % 2 == 0], chosen[chosen % 2 == 1]
        listed = [np.array([moment - 5.0, moment - 3.0]) for _ in feeds]
        policy.observe(Visits(feeds, moment, published=listed, new=np.zeros(len(feeds), np.int64)))
        policy.observe(Visits(pages, moment, changed=np.ones(len(pages), dtype=bool)))
        policy.hold(chosen, np.full(len(chosen), moment + 1.0))
    failed = policy.choose(now + 200.0, 1.0)
    policy.observe(Visits(failed, now + 200.0, failed=np.ones(len(failed), dtype=bool)))
    policy.feedback(ids, born=now, found=now + 150.0, at=now + 160.0, clicks=1.0, now=now + 200.0)
    policy.index(ids, now + 200.0)
    policy.due(ids)
    policy.survey(1.0, now + 200.0, delay=1.0)
    policy.adopt(policy.summary())
    policy.load_rows(ids, policy.rows(ids), np.full(SOURCES, now))
    policy.load_shared(policy.shared())
    policy.add(1, groups=np.array([4]))
    policy.remove(np.array([0]))
    policy.choose(now + 300.0, 1.0)
