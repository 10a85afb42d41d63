"""Adds to an explanation what its source is as a list, and what lists say of it."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from recrawl.crawl.explaining.explanation import Explanation
from recrawl.crawl.explaining.list_words import as_list, named_by
from recrawl.crawl.explaining.ranking import Rank, Ranking
from recrawl.crawl.list_notes import NotedList
from recrawl.store.records import Progress


def with_lists(found: Explanation, ranking: Ranking, noted: NotedList | None, now: float) -> Explanation:
    """An explanation with what lists have to do with its source.

    Parameters
        noted: what is thought of it as a list, if it is one
    """
    itself = None if noted is None or math.isnan(found.age_s) else as_list(noted, found.age_s, found.index, found.price)
    heard = ranking.heard(found.id, now)
    by = None
    if heard is not None:
        known = ranking.source_of(heard.list)
        by = named_by(heard, known, heard.name, now)
    return msgspec.structs.replace(found, as_list=itself, named_by=by)


def ranked_as_noted(standing: Rank, noted: NotedList | None, progress: Progress, now: float, price: float) -> Rank:
    """Where a list stands by what the crawler noted: its worth rests on pages that whoever looks on did not read."""
    if noted is None or not noted.worth or progress.last is None:
        return standing
    worth = float(noted.worth_at(np.array(max(now - progress.last, 0.0))))
    meets = progress.last + noted.crossing_age(price)
    return msgspec.structs.replace(standing, index=worth, meets=meets, due=meets, form=standing.form or "list")
