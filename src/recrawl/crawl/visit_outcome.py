"""From a visit to everything it leads to: what to store, what to learn, and how long to stay away.

Pure: a visit and the rules in, a :class:`VisitOutcome` out. Rules of conduct live here: a permanent move is followed
when seen twice, nothing is deleted. What failed or is gone is the business of `failures`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from recrawl.config.item_rules import verdict
from recrawl.crawl import hold_causes
from recrawl.crawl.events import addressed, change_event, item_events, source_event
from recrawl.crawl.failures import FAILING, failed, gone, hold
from recrawl.crawl.fetching.politeness import site_of
from recrawl.crawl.fetching.transport import usable_validator
from recrawl.crawl.mentions import Mentions
from recrawl.crawl.met_conditions import NO_NUMBER, lacks_number
from recrawl.crawl.own_holds import own_hold
from recrawl.crawl.page_changes import judged
from recrawl.crawl.reading.diffs import added_lines
from recrawl.crawl.reading.digests import name_of
from recrawl.crawl.reading.findings import Findings, FoundItem
from recrawl.crawl.reading.items import RENAMED_NOTE, oldest_first, telling, with_believed_dates
from recrawl.crawl.reading.numbers import says_missing
from recrawl.crawl.reading.publisher_hints import earliest, headers_in_words, in_words, of_headers, says_how_fresh
from recrawl.crawl.reading.shells import WORDS as SHELL
from recrawl.crawl.rendering.record import WORDS as SHOWN
from recrawl.crawl.urls import origin
from recrawl.crawl.visits import CrawlRules, Visit, VisitOutcome
from recrawl.learning.censoring import missed_items
from recrawl.redaction import without_credentials
from recrawl.store.records import (
    Content,
    Item,
    Mark,
    Outcome,
    Progress,
    Source,
    SourceKind,
    Version,
    item_key,
    packed,
)

MOVES_BELIEVED = 2
"""A permanent redirect seen so often in a row moves the source."""
GONE, NOT_MODIFIED = 410, 304


def outcome_of(visit: Visit, rules: CrawlRules) -> VisitOutcome:
    """What one visit leads to. Of a source whose owner wants no notice of it, nothing is handed on."""
    outcome = _outcome(visit, rules)
    options = visit.intent.options
    if not options.notify:
        outcome.events = []
    elif options.notify_to:
        outcome.events = [addressed(event, options.notify_to) for event in outcome.events]
    return outcome


def _outcome(visit: Visit, rules: CrawlRules) -> VisitOutcome:
    fetched = visit.fetched
    status = 0 if fetched.response is None else fetched.response.status
    if fetched.refused:
        return failed(visit, rules, "refused", fetched.refused, status)
    if fetched.response is None or fetched.error:
        return failed(visit, rules, "failed", fetched.error or "no answer", status)
    if status == GONE:
        return gone(visit)
    if visit.same or (status == NOT_MODIFIED and visit.intent.progress.last is not None):
        return _unchanged(visit, rules)
    if not 200 <= status < 300:
        return failed(visit, rules, "failed", f"HTTP status {status}", status)
    if visit.findings is None:
        return failed(visit, rules, "failed", visit.error or "nothing to read", status)
    return _page(visit, rules) if visit.findings.kind == "page" else _listed(visit, rules)


# -- answers with something to read


def _listed(visit: Visit, rules: CrawlRules) -> VisitOutcome:
    """A feed or sitemap: which items are new, and what finding them was worth."""
    findings, before = visit.findings, visit.intent.progress
    assert findings is not None
    keys = visit.keys
    listed = with_believed_dates(findings.items, visit.at)
    unseen = [(key, item) for key, item in zip(keys, listed, strict=True) if key in visit.unseen]
    judged = by_rules(visit, unseen)
    fresh = oldest_first([(key, item) for key, item in unseen if key not in judged.blocked])
    source, intent, first = _described(visit), visit.intent, before.last is None
    censored, missed = _missed(visit, listed, len(fresh))
    gap = 0.0 if before.last is None else visit.at - before.last
    blind = 0.0 if first else intent.mean_worth(gap, visit.at, rules.ephemeral)
    items = [
        Item(
            source=source.id,
            key=key,
            title=found.title,
            link=found.link,
            summary=found.summary,
            published=found.published,
            first_seen=visit.at,
        )
        for key, found in fresh
    ]
    gains = [0.0] * len(items) if first else [_gain(visit, item.published, blind, rules) for item in items]
    events = item_events(source, list(zip(items, gains, strict=True)), visit.at) if intent.options.notify else []
    captured = sum(gains)
    progress = _answered(visit)
    progress.listing = packed(keys)
    progress.captured += captured
    dated = telling([found.published for _, found in fresh], before.last)
    undated = len(fresh) - len(dated)
    if first and not dated and findings.period_s:
        # What the publisher says of its pace stands in for a backlog: one item in two periods.
        dated, undated = [visit.at - 2.0 * findings.period_s, visit.at - findings.period_s], 0
    outcome: Outcome = "first" if first else "new" if fresh else "unchanged"
    crawl = visit.crawl(outcome, new=len(fresh), captured=captured, censored=censored)
    found_out = VisitOutcome(
        kind="items",
        crawl=crawl,
        progress=progress,
        items=items,
        contents={key: Content(item.author, item.content) for key, item in fresh if item.content or item.author},
        marks=[*judged.marks],
        blocked=[*judged.blocked],
        articles=[key for key, item in fresh if item.link] if intent.options.articles and not first else [],
        events=events,
        published=dated,
        new=undated + missed,
        mentions=Mentions([item.link for item in findings.items], [item.modified for item in findings.items]),
    )
    return _completed(found_out, visit, rules, source)


class ByRules(NamedTuple):
    """What the owner's rules say of new items: the keys of those that are not wanted, and what is put on others."""

    blocked: frozenset[int] = frozenset()
    marks: tuple[Mark, ...] = ()


def by_rules(visit: Visit, unseen: Sequence[tuple[int, FoundItem]]) -> ByRules:
    """Of new items those that are blocked count as if they had never been there: they are worth no fetch."""
    if not visit.item_rules:
        return ByRules()
    verdicts = [(key, verdict(item.matched, visit.item_rules)) for key, item in unseen if item.matched]
    blocked = frozenset(key for key, (is_blocked, _, _) in verdicts if is_blocked)
    marks = [Mark(key, starred, labels) for key, (_, starred, labels) in verdicts if key not in blocked]
    return ByRules(blocked, tuple(each for each in marks if each.starred or each.labels))


def _gain(visit: Visit, published: float | None, blind: float, rules: CrawlRules) -> float:
    """What finding a new item captured; `blind` where its date tells nothing."""
    told = telling([published], visit.intent.progress.last)
    return visit.intent.worth(told, visit.at, rules.ephemeral) if told else blind


def _missed(visit: Visit, listed: Sequence[FoundItem], fresh: int) -> tuple[bool, int]:
    """Whether items came and went unseen since the last visit, and about how many."""
    before, findings = visit.intent.progress, visit.findings
    assert findings is not None
    if before.last is None or not before.listing or not listed or fresh < len(listed):
        return False, 0
    known = telling([item.published for item in listed], before.last)
    return True, missed_items(known, len(known), before.last, visit.at) if findings.kind == "feed" else 0


def _page(visit: Visit, rules: CrawlRules) -> VisitOutcome:
    """A page: whether it differs from the last visit, and how."""
    findings, before = visit.findings, visit.intent.progress
    assert findings is not None
    verdict = judged(visit, findings)
    first, changed = verdict.first, verdict.changed
    source = _described(visit)
    progress = _answered(visit)
    progress.digest = findings.digest
    version, items, events, captured = None, [], [], 0.0
    if verdict.is_kept:
        name, diff = name_of(findings.digest), visit.diff if changed or verdict.differs else ""
        version = Version(source=source.id, at=visit.at, digest=name, text=findings.text, diff=diff, note=verdict.note)
    if changed and version is not None:
        captured = visit.intent.mean_worth(visit.at - (before.last or visit.at), visit.at, rules.ephemeral)
        progress.captured += captured
        items.append(change_of(source, version))
        events.append(change_event(source, version, captured, visit.at, findings.number, visit.met or ""))
    outcome: Outcome = "first" if first else "changed" if changed else "unchanged"
    crawl = visit.crawl(outcome, new=int(changed), captured=captured)
    found_out = VisitOutcome(
        kind="page", crawl=crawl, progress=progress, items=items, version=version, events=events, changed=changed,
        mentions=Mentions.of_page(findings.links), restless=visit.restless, numbers=visit.numbers,
        rendering=visit.rendering, screenshots=visit.screenshots,
    )  # fmt: skip
    return _completed(found_out, visit, rules, source)


def change_of(source: Source, version: Version) -> Item:
    """A change of a page as something found: it is listed and searched for by what is new in it."""
    return Item(
        source=source.id,
        key=item_key(f"change {version.at!r} {version.digest}"),
        title=source.title,
        link=without_credentials(source.url),
        summary=added_lines(version.diff),
        first_seen=version.at,
        kind="change",
    )


def _unchanged(visit: Visit, rules: CrawlRules) -> VisitOutcome:
    """A 304, or the very document that was read last: nothing new since the last visit."""
    before, source = visit.intent.progress, visit.intent.source
    progress = _answered(visit)
    if source.note.startswith(FAILING):
        source = msgspec.structs.replace(source, note="")
    crawl = visit.crawl("unchanged")
    same = VisitOutcome(kind="page" if source.kind == "page" else "items", crawl=crawl, progress=progress)
    outcome = _completed(same, visit, rules, source)
    response = visit.fetched.response
    assert response is not None
    stay_s, why, words = _stay_s(visit, rules) or 0.0, hold_causes.SERVER, headers_in_words(response.headers, visit.at)
    if (
        _heeds(visit, rules)
        and before.last is not None
        and (
            before.held_cause == hold_causes.PUBLISHER
            or (before.held_cause == hold_causes.SERVER and not says_how_fresh(response.headers))
        )
    ):
        # The document is the same, and so is what its publisher asks for; what the server asks for it may say anew.
        asked_s = before.held_until - before.last
        if asked_s >= stay_s:
            stay_s, why, words = asked_s, before.held_cause, before.held_by
    if visit.at + stay_s > outcome.hold_until:
        outcome.hold_until = visit.at + stay_s
        hold(progress, visit, rules, outcome.hold_until, words, why)
    return outcome


def _heeds(visit: Visit, rules: CrawlRules) -> bool:
    """Whether the publisher's own words about its pace count for the source."""
    return visit.intent.hints(rules.hints) is rules.hints


def _stay_s(visit: Visit, rules: CrawlRules) -> float | None:
    """Seconds the server asks to stay away for, in headers."""
    response = visit.fetched.response
    return None if response is None else of_headers(response.headers, visit.at, visit.intent.hints(rules.hints))


# -- what all have in common


def _answered(visit: Visit) -> Progress:
    """Progress after an answer: failures forgotten, validators kept, permanent moves counted."""
    response, before = visit.fetched.response, visit.intent.progress
    assert response is not None
    progress = msgspec.structs.replace(before)
    progress.last, progress.visits, progress.failures = visit.at, before.visits + 1, 0
    progress.clear_hold()
    same, index = response.status == NOT_MODIFIED, visit.findings is not None and bool(visit.findings.children)
    # An index is read in full each time: of what it names, some may have been left out, and find room now.
    progress.etag = "" if index else usable_validator(response.headers.get("etag", before.etag if same else ""))
    progress.modified = (
        "" if index else usable_validator(response.headers.get("last-modified", before.modified if same else ""))
    )
    moved = visit.fetched.moved_to
    progress.moved_seen = before.moved_seen + 1 if moved and moved == before.moved_to else int(bool(moved))
    progress.moved_to = moved
    return progress


def _described(visit: Visit) -> Source:
    """The catalogue's line with what the document says of itself; the very same object if nothing is new."""
    source, findings = visit.intent.source, visit.findings
    assert findings is not None
    changes: dict[str, str | float] = {}
    if source.kind == "auto":
        changes["kind"] = findings.kind
    if findings.title and not source.title:
        changes["title"] = findings.title
    note = source.note
    if note.startswith((FAILING, SHELL, SHOWN)) or note == NO_NUMBER or says_missing(note):
        note = ""
    if findings.kind == "page" and lacks_number(visit.intent.options.number, visit.intent.options.when):
        note = NO_NUMBER
    if findings.kind == "page" and findings.advertises and not note:
        note = f"advertises a feed: {findings.advertises[0]}"
    if visit.renamed:
        note = RENAMED_NOTE
    if findings.remark or visit.remark:
        note = "; ".join(filter(None, (visit.remark, findings.remark)))
    if note != source.note:
        changes["note"] = note
    if visit.cost is not None and visit.cost != source.cost:
        changes["cost"] = visit.cost
    return msgspec.structs.replace(source, **changes) if changes else source


def _completed(outcome: VisitOutcome, visit: Visit, rules: CrawlRules, source: Source) -> VisitOutcome:
    """With what any answer may lead to: a move, a hold, sources found.

    Parameters
        source: as the document describes it
    """
    progress, findings = outcome.progress, visit.findings
    if progress.moved_seen >= MOVES_BELIEVED:
        source, followed = _moved(source, progress.moved_to)
        if followed:
            progress.moved_to, progress.moved_seen = "", 0
            outcome.events = [*outcome.events, source_event(source, "moved", visit.at)]
    floor = until = own_hold(visit.at, rules.min_interval_s, visit.intent.options.interval).until
    if findings is not None and _heeds(visit, rules):
        until = max(floor, earliest(findings, visit.at, floor))
        if until > floor:
            by_headers = _stay_s(visit, rules)
            by_server = findings.stay_away_s is not None and findings.stay_away_s == by_headers
            headers = {} if visit.fetched.response is None else visit.fetched.response.headers
            words = in_words(findings, headers, by_headers, visit.at, until)
            hold(progress, visit, rules, until, words, hold_causes.SERVER if by_server else hold_causes.PUBLISHER)
    outcome.children = [] if findings is None else _children(visit, findings, source)
    outcome.source = None if source is visit.intent.source else source
    outcome.hold_until, outcome.taken = until, visit.taken
    return outcome


def keep_address(outcome: VisitOutcome, url: str) -> None:
    """If a source has moved, then onto an URL that another one has: it keeps its own, and is retired."""
    source = outcome.source
    if source is None or source.url == url:
        return
    note = f"moved to {source.url}, which is in the catalogue"
    outcome.source = msgspec.structs.replace(source, url=url, state="retired", note=note)
    outcome.hold_until = math.inf
    if outcome.events:  # none are where its owner wants no notice
        outcome.events = [*outcome.events[:-1], source_event(outcome.source, "retired", outcome.crawl.at)]


def _moved(source: Source, url: str) -> tuple[Source, bool]:
    """The source at its new address, and whether it may go there: its headers belong to its own origin alone."""
    if source.headers and origin(url) != origin(source.url):
        note = f"moved to {url}: not followed, because its headers are for its own origin"
        return (source if source.note == note else msgspec.structs.replace(source, note=note)), False
    return msgspec.structs.replace(source, url=url, note=f"moved from {source.url}"), True


def _children(visit: Visit, findings: Findings, source: Source) -> list[Source]:
    """The sitemaps of an index, and the pages that a list names whose owner wants it followed."""
    found = [_child(source, url, "sitemap", visit.at) for url in findings.children]
    if not visit.intent.options.follow:
        return found
    # A page links whatever it likes: as a sitemap, it speaks for its own host.
    own = f"{origin(visit.fetched.final_url)}/" if findings.kind == "page" else ""
    named = [*findings.links, *(item.link.partition("#")[0] for item in findings.items)]
    # What its pages name in turn is not followed, even where it is their tags that say so; its pace is its own.
    options = msgspec.structs.replace(source.options, follow=False if source.tags else None, interval=None)
    select = "" if findings.kind == "page" else source.select  # of a page it says which of its links count
    pages = msgspec.structs.replace(source, options=options, select=select, wanted=0.0)
    return found + [_child(pages, url, "page", visit.at) for url in named if url.startswith(own or "http")]


def _child(parent: Source, url: str, kind: SourceKind, now: float) -> Source:
    """What a list names: a source of its own, on its parent's terms."""
    child = msgspec.structs.replace(
        parent,
        id=0,
        url=url,
        kind=kind,
        title="",
        note=f"listed in {parent.url}",
        added=now,
        found_on=site_of(url),
        revision=0,
    )
    return child if origin(url) == origin(parent.url) else msgspec.structs.replace(child, headers={})
