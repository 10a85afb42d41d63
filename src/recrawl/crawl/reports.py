"""From what somebody else's fetcher reports to everything it leads to: the counterpart of `visit_outcome` for keys.

Pure: an intent, a report and the rules in, a :class:`~recrawl.crawl.visits.VisitOutcome` out. What a document listed
is compared with what it listed last time, so that whoever fetches need not remember anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from recrawl.arguments import flag, moment, number, several, shown, text, whole
from recrawl.crawl import hold_causes
from recrawl.crawl.events import source_event
from recrawl.crawl.failures import back_off_until
from recrawl.crawl.fetching.transport import usable_validator
from recrawl.crawl.mentions import Mentions
from recrawl.crawl.own_holds import own_hold
from recrawl.crawl.reading.digests import relation
from recrawl.crawl.reading.items import believed, telling
from recrawl.crawl.visits import CrawlRules, Intent, VisitOutcome
from recrawl.errors import ParameterError
from recrawl.learning.censoring import missed_items
from recrawl.store.records import Crawl, Outcome, Progress, item_key, keys_in, packed
from recrawl.units import parse_duration

TIMES = "a list of times, each in Unix seconds or a datetime"
MOST_NEW = 10**9
"""New items one fetch may bring."""
PAIRS = "a list of pairs of name and time, such as [('guid', 1763200000.0), ('other', None)]"
KEYS = "a list of pairs of key and time, such as [('https://example.org/a', 1763200000.0), ('other', None)]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is kept of the requests themselves.

    Parameters
        status: of the answer, 0 if there was none
        requests: all that were sent for it, redirects and retries included
        etag, modified: the validators of the answer, for conditional requests
        revalidated: nothing but "not modified" was answered: validators and digest stay as they were
    """

    status: int = 0
    size: int = 0
    elapsed_s: float = 0.0
    requests: int = 1
    etag: str = ""
    modified: str = ""
    revalidated: bool = False

    def __post_init__(self) -> None:
        expected = "a finite number >= 0"
        for name, least in (("status", 0), ("size", 0), ("requests", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), low=least))
        object.__setattr__(self, "elapsed_s", number("elapsed_s", self.elapsed_s, expected))
        for name in ("etag", "modified"):
            text(name, getattr(self, name))
        object.__setattr__(self, "revalidated", flag("revalidated", self.revalidated))


NO_ANSWER = Answer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a fetch brought. Times are Unix seconds.

    Parameters
        changed: whether a page differs; None if nobody says, and the digest decides
        digest: of a page
        published: of the new items; on a first fetch of all
        new: new items without a date
        listed: name and publication time (None if unknown) of all items there are; what is new is found out
        sitemap: keys that it names, and when it says that each was last modified (None if it does not say)
        hold_s: not to be fetched again for so long
    """

    changed: bool | None = None
    digest: str = ""
    published: Sequence[float] | None = None
    new: int = 0
    listed: Sequence[tuple[str, float | None]] | None = None
    sitemap: Sequence[tuple[str, float | None]] | None = None
    hold_s: float | None = None
    answer: Answer = NO_ANSWER

    @property
    def only_names(self) -> bool:
        """Whether it says nothing but what a list names."""
        own = (self.changed, self.published, self.listed)
        return self.sitemap is not None and not self.digest and not self.new and all(each is None for each in own)

    @classmethod
    def told(
        cls,
        *,
        changed: Any,
        digest: Any,
        published: Any,
        new: Any,
        listed: Any,
        hold: Any,
        answer: Any,
        sitemap: Any = None,
    ) -> Report:
        """A report as callers give it; ParameterError names what is wrong with it."""
        times = None if published is None else several("published", published, TIMES)
        return cls(
            changed=None if changed is None else flag("changed", changed),
            digest=text("digest", digest),
            published=None if times is None else [moment("published", each, (k,)) for k, each in enumerate(times)],
            new=whole("new", new, high=MOST_NEW),
            listed=None if listed is None else _named_times("listed", listed, PAIRS),
            sitemap=None if sitemap is None else _named_times("sitemap", sitemap, KEYS, "key"),
            hold_s=None if hold is None else parse_duration("hold", hold),
            answer=_an_answer(answer),
        )


def _named_times(argument: str, listed: Any, expected: str, what: str = "name") -> list[tuple[str, float | None]]:
    named: list[tuple[str, float | None]] = []
    for place, pair in enumerate(several(argument, listed, expected)):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ParameterError(argument, f"a pair of {what} and time", shown(pair), (place,))
        if not isinstance(pair[0], str):
            raise ParameterError(argument, f"a {what} that is text, and a time", shown(pair), (place,))
        named.append((pair[0], None if pair[1] is None else moment(argument, pair[1], (place,))))
    return named


def _an_answer(answer: Any) -> Answer:
    if not isinstance(answer, Answer):
        raise ParameterError("answer", "a recrawl.Answer", shown(answer))
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a fetch brought nothing: it failed, it was refused (robots.txt), or what it is about is gone for good.

    Parameters
        hold_s: not to be fetched again for so long; None for a back-off
    """

    error: str = "the fetch failed"
    refused: bool = False
    gone: bool = False
    hold_s: float | None = None
    answer: Answer = NO_ANSWER

    @classmethod
    def told(cls, *, failed: Any, refused: Any, gone: Any, error: Any, hold: Any, answer: Any) -> Failure | None:
        """A failure as callers give it, None if nothing failed; ParameterError names what is wrong with it."""
        said = [flag(name, each) for name, each in (("failed", failed), ("refused", refused), ("gone", gone))]
        reason = text("error", error)
        hold_s = None if hold is None else parse_duration("hold", hold)
        if not any(said):
            return None
        return cls(
            error=reason or "the fetch failed", refused=said[1], gone=said[2], hold_s=hold_s, answer=_an_answer(answer)
        )

    def require_nothing_brought(self, told: Report) -> None:
        """ParameterError if the same fetch is said to have brought something."""
        word = "gone" if self.gone else "refused" if self.refused else "failed"
        for name in ("changed", "digest", "published", "new", "listed", "sitemap"):
            if brought := getattr(told, name):
                expected = f"left out with {word}=True, which says that nothing was brought"
                raise ParameterError(name, expected, shown(brought))


@dataclass(slots=True)
class _News:
    """What a report says in the end: publication times of dated news, how many without, whether items were missed."""

    items: bool
    dated: list[float] = field(default_factory=list)
    blind: int = 0
    missed: int = 0
    censored: bool = False
    changed: bool = False
    listing: bytes = b""

    @property
    def count(self) -> int:
        return len(self.dated) + self.blind


def outcome_of_report(intent: Intent, report: Report, now: float, rules: CrawlRules) -> VisitOutcome:
    """A fetch that brought an answer."""
    before = intent.progress
    first = before.last is None
    news = _news(before, report, now)
    captured = 0.0
    if before.last is not None:
        captured = intent.worth(news.dated, now, rules.ephemeral)
        captured += news.blind * intent.mean_worth(now - before.last, now, rules.ephemeral)
    outcome: Outcome = "first" if first else "unchanged" if not news.count else "new" if news.items else "changed"
    crawl = _crawl(intent, now, outcome, report.answer, new=news.count, captured=captured, censored=news.censored)
    asked_until = now + (report.hold_s or 0.0)
    names = report.sitemap
    return VisitOutcome(
        kind="list" if report.only_names else "items" if news.items else "page",
        crawl=crawl,
        progress=_progress(before, report, news, captured, now),
        published=news.dated,
        new=news.blind + news.missed if news.items else 0,
        changed=news.changed,
        mentions=None if names is None else Mentions([key for key, _ in names], [at for _, at in names]),
        hold_until=own_hold(now, rules.min_interval_s, intent.options.interval, asked_until).until,
    )


def outcome_of_failure(
    intent: Intent, failure: Failure, now: float, rules: CrawlRules, host_held_until: float = 0.0
) -> VisitOutcome:
    """A fetch that brought nothing."""
    before = intent.progress
    failures = before.failures + 1
    if failure.hold_s is not None:
        until = now + failure.hold_s
    else:
        until = back_off_until(
            now, failures, rules, refused=failure.refused, host_held_until=host_held_until, alone=intent.alone
        )
    progress = msgspec.structs.replace(
        before, failures=failures, held_until=until, held_by=failure.error, held_cause=_cause(failure), held_under=""
    )
    crawl = _crawl(intent, now, "refused" if failure.refused else "failed", failure.answer, error=failure.error)
    outcome = VisitOutcome(kind="failed", crawl=crawl, progress=progress, hold_until=until)
    if failure.gone:
        gone = msgspec.structs.replace(intent.source, state="retired", note=failure.error)
        outcome.source, outcome.events, outcome.hold_until = gone, [source_event(gone, "retired", now)], math.inf
        progress.clear_hold()
    return outcome


def _cause(failure: Failure) -> str:
    if failure.refused:
        return "robots"
    if failure.hold_s is not None:
        return hold_causes.RETRY_AFTER
    return hold_causes.STATUS if failure.answer.status else hold_causes.UNREADABLE


def _news(before: Progress, report: Report, now: float) -> _News:
    if report.only_names:
        return _News(items=False)
    if report.listed is not None:
        return _listed(before, report.listed, now)
    if report.published is not None or report.new or (before.listing and report.changed is None):
        return _told(before, report, now)
    differs = report.changed if report.changed is not None else bool(report.digest) and _differs(before, report)
    changed = bool(differs) and before.last is not None and not report.answer.revalidated
    return _News(items=False, changed=changed, blind=int(changed))


def _differs(before: Progress, report: Report) -> bool:
    """Digests that were made by different rules tell nothing: the new one is a baseline."""
    return relation(before.digest, report.digest) == "differs"


def _told(before: Progress, report: Report, now: float) -> _News:
    """New items as the fetcher counted them; of a source known for its items, a mere digest tells at least if any."""
    blind = report.new
    if report.published is None and not blind and report.digest and not report.answer.revalidated:
        blind = int(_differs(before, report) and before.last is not None)
    dates = believed(report.published or (), now)
    dated = telling(dates, before.last)
    return _News(items=True, dated=dated, blind=blind + len(dates) - len(dated), listing=before.listing)


def _listed(before: Progress, listed: Sequence[tuple[str, float | None]], now: float) -> _News:
    """Of all items there are, those that were not there last time."""
    known = set(keys_in(before.listing))
    keys = [item_key(name) for name, _ in listed]
    dates = believed([moment for _, moment in listed], now)
    fresh = [date for key, date in zip(keys, dates, strict=True) if key not in known]
    dated = telling(fresh, before.last)
    blind = len(fresh) - len(dated)
    censored = before.last is not None and bool(known) and 0 < len(keys) == len(fresh)
    missed = 0
    if censored and before.last is not None:
        missed = missed_items(dated, len(dated), before.last, now)
    return _News(items=True, dated=dated, blind=blind, missed=missed, censored=censored, listing=packed(keys))


def _progress(before: Progress, report: Report, news: _News, captured: float, now: float) -> Progress:
    answer, hold = report.answer, report.hold_s
    kept = answer.revalidated
    return msgspec.structs.replace(
        before,
        last=now,
        visits=before.visits + 1,
        failures=0,
        held_until=0.0 if hold is None else now + hold,
        held_by="" if hold is None else "asked to wait",
        held_cause="" if hold is None else hold_causes.RETRY_AFTER,
        held_under="",
        etag=usable_validator(answer.etag or (before.etag if kept else "")),
        modified=usable_validator(answer.modified or (before.modified if kept else "")),
        digest=report.digest or before.digest,
        listing=news.listing if news.items else before.listing,
        captured=before.captured + captured,
    )


def _crawl(intent: Intent, now: float, outcome: Outcome, answer: Answer, **more: Any) -> Crawl:
    said = {name: getattr(answer, name) for name in ("status", "requests", "size", "elapsed_s")}
    return intent.crawl(now, outcome, **said, **more)
