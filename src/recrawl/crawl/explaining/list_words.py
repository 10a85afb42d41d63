"""What a source is as a list, and what lists say of it, in numbers and in plain words."""

from __future__ import annotations

import math

import msgspec

from recrawl.crawl.list_notes import NotedList
from recrawl.learning.list_reports import Heard
from recrawl.units import show_duration

FEW_VISITS = 5.0
"""A list that was judged by fewer visits is not judged yet."""
DOUBTED, TRUSTED = 0.005, 0.8
"""Below a trust of the first a list is not believed; nobody's is when it is met."""


class AsList(msgspec.Struct, frozen=True, kw_only=True):
    """What is thought of a source as a list: of what it says about the pages that it names.

    Parameters
        trust: probability that it tells anything at all
        right: share of its signals that are true
        tells: share of the changes that it tells of
        pages, dated: watched pages that it names, and those of which it says when they were modified
        signals, waiting: that have come, old ones counting less; and pages named that were not visited since
        judged_by: visits to its pages, old ones counting less
        news: changes that it is expected to name if it is fetched now
        worth: what a fetch of it is worth now, per unit of cost
        words: all of it for people
    """

    trust: float
    right: float
    tells: float
    pages: int
    dated: int
    signals: float
    waiting: int
    judged_by: float
    news: float
    worth: float
    words: str


class NamedBy(msgspec.Struct, frozen=True, kw_only=True):
    """What lists and pushes have said of a source.

    Parameters
        source: the list that is listened to, by its id; None for the pushes of its site
        name: its address, or the site
        stated: when that list says it was modified last, Unix seconds; NaN if it does not say
        signalled: the time of the latest signal since its last visit, Unix seconds; NaN if there was none
        signals: since its last visit; many at one moment count once
        chance: that it has changed as it was signalled
        told: share of its changes that the list is expected to name
        right: share of the signals about it that are true
        words: all of it for people
    """

    source: int | None
    name: str
    stated: float
    signalled: float
    signals: int
    chance: float
    told: float
    right: float
    words: str


def as_list(noted: NotedList, age: float, worth: float, price: float) -> AsList:
    """A list, so long after its last visit, with what a fetch is worth now."""
    news = noted.news_per_s * age
    return AsList(
        trust=noted.trust,
        right=noted.precision,
        tells=noted.recall,
        pages=noted.pages,
        dated=noted.said,
        signals=noted.signals,
        waiting=noted.waiting,
        judged_by=noted.visits,
        news=news,
        worth=worth,
        words=_list_words(noted, news, worth, price),
    )


def named_by(heard: Heard, source: int | None, name: str, now: float) -> NamedBy:
    """What was said of a source by its list."""
    signalled = heard.signalled if math.isfinite(heard.signalled) else math.nan
    return NamedBy(
        source=source,
        name=name,
        stated=heard.stated,
        signalled=signalled,
        signals=heard.signals,
        chance=heard.chance,
        told=heard.told,
        right=heard.precision,
        words=_page_words(heard, source, name, signalled, now),
    )


def verdict(noted: NotedList) -> str:
    """What is thought of a list in a word or two."""
    if not noted.said:
        return "silent"
    if noted.visits < FEW_VISITS:
        return "not judged yet"
    return "not believed" if noted.trust < DOUBTED else "believed" if noted.trust > TRUSTED else "in doubt"


def _list_words(noted: NotedList, news: float, worth: float, price: float) -> str:
    pages = _count(noted.pages, "watched page")
    dated = "" if noted.said == noted.pages else f", and says of {noted.said:,} when they were modified"
    said = [f"It names {pages}{dated}."]
    judged = f"{_count(round(noted.visits), 'visit')} to them"
    if not noted.said:
        said.append("So it cannot tell which of them have changed.")
    elif noted.visits < FEW_VISITS:
        said.append("Whether it is right is not known yet: too few of them were visited since.")
    elif noted.trust < DOUBTED:
        said.append(
            f"What it says is not believed: after {judged}, pages it named had changed no more often than others."
        )
    elif noted.trust < 0.5:
        said.append(f"Whether what it says can be believed is in doubt, after {judged}.")
    else:
        right = "" if math.isnan(noted.precision) else f"is right {_of_hundred(noted.precision)} and "
        doubt = "" if noted.trust > TRUSTED else " That is still in doubt."
        said.append(f"It {right}tells of {round(100.0 * noted.recall)} out of 100 changes, by {judged}.{doubt}")
    if math.isfinite(worth):
        cost = "" if math.isnan(price) else f"; the price is {price:.3g}"
        some = f"would name about {_about(news)} and " if math.isfinite(news) and noted.trust >= 0.5 else ""
        said.append(f"A fetch now {some}is worth {worth:.3g}{cost}.")
    return " ".join(said)


def _page_words(heard: Heard, source: int | None, name: str, signalled: float, now: float) -> str:
    by = f"the list {name}" if source is not None else "the pushes of its site"
    if math.isnan(signalled):
        said = f"Named by {by}, which has said nothing new of it since its last visit."
    else:
        when = f"{show_duration(max(now - signalled, 0.0))} ago"
        said = f"Named by {by} as changed {when}, which is so {_of_hundred(heard.chance)}."
    return f"{said} Of its changes, {round(100.0 * heard.told)} out of 100 are expected to be told of."


def _of_hundred(share: float) -> str:
    return f"{round(100.0 * share)} times out of 100" if math.isfinite(share) else "at an unknown share"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _about(news: float) -> str:
    return _count(round(news), "change") if news >= 9.5 else f"{news:.2g} change{'' if news == 1.0 else 's'}"
