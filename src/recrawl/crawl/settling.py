"""From a visit to everything it leads to: what to store, what to learn, and how long to stay away.

Pure: a visit and the terms in, a :class:`Settled` out. Rules of conduct live here: a permanent move is followed when
seen twice, what is gone is retired, failures in a row slow a source down and say so, nothing is deleted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from recrawl.crawl import causes
from recrawl.crawl.diffs import added_lines
from recrawl.crawl.digests import name_of
from recrawl.crawl.events import change_event, item_event, source_event
from recrawl.crawl.findings import FoundItem
from recrawl.crawl.hints import earliest, headers_in_words, in_words, of_headers, says_how_fresh
from recrawl.crawl.intents import Terms, Visit
from recrawl.crawl.item_dates import telling, with_believed_dates
from recrawl.crawl.items import oldest_first
from recrawl.crawl.page_changes import judged
from recrawl.crawl.politeness import site_of
from recrawl.crawl.renaming import NOTE
from recrawl.crawl.settled import Lesson, Settled, blind_worth, dated_worth
from recrawl.crawl.urls import origin
from recrawl.crawl.validators import usable
from recrawl.learning.censoring import missed_items
from recrawl.redaction import without_credentials
from recrawl.store.base import Crawl, Event, Item, Outcome, Progress, Settlement, Source, Version, item_key, packed

MOVES_BELIEVED = 2
"""A permanent redirect seen so often in a row moves the source."""
FAILURES_NOTED = 3
"""So many failures in a row are noted in the catalogue."""
REFUSED_S = 3600.0
"""The first wait of a source whose robots.txt (or scheme) forbids it; doubled up to a day."""
GONE, NOT_MODIFIED = 410, 304
FAILING = "failing: "


def settle(visit: Visit, terms: Terms) -> Settled:
    """Settle one visit. Of a source whose owner wants no notice of it, nothing is handed on."""
    settled = _settle(visit, terms)
    if not visit.intent.options.notify:
        settled.settlement.events = []
    return settled


def _settle(visit: Visit, terms: Terms) -> Settled:
    delivery = visit.delivery
    status = 0 if delivery.response is None else delivery.response.status
    if delivery.refused:
        return _failed(visit, terms, "refused", delivery.refused, status)
    if delivery.response is None or delivery.error:
        return _failed(visit, terms, "failed", delivery.error or "no answer", status)
    if status == GONE:
        return _gone(visit, terms)
    if status == NOT_MODIFIED and visit.intent.progress.last is not None:
        return _unchanged(visit, terms)
    if not 200 <= status < 300:
        return _failed(visit, terms, "failed", f"HTTP status {status}", status)
    if visit.findings is None:
        return _failed(visit, terms, "failed", visit.error or "nothing to read", status)
    return _page(visit, terms) if visit.findings.kind == "page" else _listed(visit, terms)


# -- answers with something to read


def _listed(visit: Visit, terms: Terms) -> Settled:
    """A feed or sitemap: which items are new, and what finding them was worth."""
    findings, before = visit.findings, visit.intent.progress
    assert findings is not None
    keys = visit.keys
    listed = with_believed_dates(findings.items, visit.at)
    fresh = oldest_first([(key, item) for key, item in zip(keys, listed, strict=True) if key in visit.unseen])
    first = before.last is None
    source = _described(visit)
    importance, half_life = _worth(visit, terms)
    censored, missed = _missed(visit, listed, len(fresh))
    gap = 0.0 if before.last is None else visit.at - before.last
    blind = blind_worth(importance, gap, half_life, terms.ephemeral)
    items, events, captured = [], [], 0.0
    for key, found in fresh:
        item = Item(
            source=source.id,
            key=key,
            title=found.title,
            link=found.link,
            summary=found.summary,
            published=found.published,
            first_seen=visit.at,
        )
        told = telling([found.published], before.last)
        gain = dated_worth(importance, visit.at, told, half_life, terms.ephemeral) if told else blind
        items.append(item)
        if not first:
            captured += gain
        events.append(item_event(source, item, 0.0 if first else gain, visit.at))
    progress = _answered(visit)
    progress.listing = packed(keys)
    progress.captured += captured
    dated = telling([found.published for _, found in fresh], before.last)
    undated = len(fresh) - len(dated)
    if first and not dated and findings.hints.period_s:
        # What the publisher says of its pace stands in for a backlog: one item in two periods.
        dated, undated = [visit.at - 2.0 * findings.hints.period_s, visit.at - findings.hints.period_s], 0
    lesson = Lesson("items", published=dated, new=undated + missed)
    outcome: Outcome = "first" if first else "new" if fresh else "unchanged"
    crawl = _crawl(visit, outcome, new=len(fresh), captured=captured, censored=censored)
    return _settled(visit, terms, crawl, progress, lesson, source, items=items, events=events)


def _missed(visit: Visit, listed: Sequence[FoundItem], fresh: int) -> tuple[bool, int]:
    """Whether items came and went unseen since the last visit, and about how many."""
    before, findings = visit.intent.progress, visit.findings
    assert findings is not None
    if before.last is None or not before.listing or not listed or fresh < len(listed):
        return False, 0
    known = telling([item.published for item in listed], before.last)
    return True, missed_items(known, len(known), before.last, visit.at) if findings.kind == "feed" else 0


def _page(visit: Visit, terms: Terms) -> Settled:
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
        name, diff = name_of(findings.digest), visit.diff if changed else ""
        version = Version(
            source=source.id, at=visit.at, digest=name, text=findings.text, diff=diff, note=verdict.baseline
        )
    if changed and version is not None:
        gap = visit.at - (before.last or visit.at)
        importance, half_life = _worth(visit, terms)
        captured = blind_worth(importance, gap, half_life, terms.ephemeral)
        progress.captured += captured
        items.append(change_of(source, version))
        events.append(change_event(source, version, captured, visit.at))
    outcome: Outcome = "first" if first else "changed" if changed else "unchanged"
    crawl = _crawl(visit, outcome, new=int(changed), captured=captured)
    lesson = Lesson("page", changed=changed)
    return _settled(visit, terms, crawl, progress, lesson, source, items=items, version=version, events=events)


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


def _unchanged(visit: Visit, terms: Terms) -> Settled:
    """304: nothing new since the last visit, for a few bytes."""
    before, source = visit.intent.progress, visit.intent.source
    progress = _answered(visit)
    lesson = Lesson("page" if source.kind == "page" else "items")
    if source.note.startswith(FAILING):
        source = msgspec.structs.replace(source, note="")
    settled = _settled(visit, terms, _crawl(visit, "unchanged"), progress, lesson, source)
    response = visit.delivery.response
    assert response is not None
    stay_s, why, words = _stay_s(visit, terms) or 0.0, causes.SERVER, headers_in_words(response.headers, visit.at)
    if (
        _heeds(visit, terms)
        and before.last is not None
        and (
            before.held_cause == causes.PUBLISHER
            or (before.held_cause == causes.SERVER and not says_how_fresh(response.headers))
        )
    ):
        # The document is the same, and so is what its publisher asks for; what the server asks for it may say anew.
        asked_s = before.held_until - before.last
        if asked_s >= stay_s:
            stay_s, why, words = asked_s, before.held_cause, before.held_by
    if visit.at + stay_s > settled.hold_until:
        settled.hold_until = visit.at + stay_s
        _hold(progress, visit, terms, settled.hold_until, words, why)
    return settled


def _heeds(visit: Visit, terms: Terms) -> bool:
    """Whether the publisher's own words about its pace count for the source."""
    return visit.intent.hints(terms.hints) is terms.hints


def _stay_s(visit: Visit, terms: Terms) -> float | None:
    """Seconds the server asks to stay away for, in headers."""
    response = visit.delivery.response
    return None if response is None else of_headers(response.headers, visit.at, visit.intent.hints(terms.hints))


# -- no answer, or none that helps


def _failed(visit: Visit, terms: Terms, outcome: Outcome, error: str, status: int) -> Settled:
    progress = msgspec.structs.replace(visit.intent.progress)
    progress.failures += int(visit.delivery.reason not in ("busy", "permit"))  # nobody failed: it was not our turn
    until = _back_off_until(visit, terms, outcome, progress.failures)
    _hold(progress, visit, terms, until, error, _cause(visit, status))
    source = visit.intent.source
    if progress.failures >= FAILURES_NOTED and not source.note.startswith(FAILING):
        source = msgspec.structs.replace(source, note=f"{FAILING}{error}")
    settlement = Settlement(
        crawl=_crawl(visit, outcome, error=error),
        progress=progress,
        source=None if source is visit.intent.source else source,
    )
    return Settled(settlement, Lesson("failed"), progress.held_until)


def _cause(visit: Visit, status: int) -> str:
    """Why a visit brought nothing, in a word."""
    return visit.delivery.reason or (causes.UNREADABLE if 200 <= status < 300 else causes.STATUS)


def _hold(progress: Progress, visit: Visit, terms: Terms, until: float, words: str, cause: str) -> None:
    progress.held_until, progress.held_by, progress.held_cause = until, words, cause
    progress.held_under = terms.causes.of_source(cause, visit.intent.source, visit.intent.options)


def _back_off_until(visit: Visit, terms: Terms, outcome: Outcome, failures: int) -> float:
    """When a source that brought nothing is asked again.

    If its host is held now, its back-off begins when that ends: another source of the host goes first. Where there is
    no other, it is asked again when the hold ends.
    """
    longest = max(terms.max_backoff_s, REFUSED_S) if outcome == "refused" else terms.max_backoff_s
    if visit.delivery.retry_at > 0.0:
        return visit.at + min(max(visit.delivery.retry_at - visit.at, terms.min_interval_s), longest)
    if visit.intent.alone and visit.delivery.host_held_until > visit.at:
        return max(visit.delivery.host_held_until, visit.at + terms.min_interval_s)
    # Of an address the settings refuse, nobody was asked: the name may lead elsewhere before long.
    base = REFUSED_S if outcome == "refused" and visit.delivery.reason != "address" else terms.backoff_s
    doubled = min(base * 2.0 ** min(max(failures - 1, 0), 40), longest) * _jitter(visit)
    return max(visit.at, visit.delivery.host_held_until) + max(doubled, terms.min_interval_s)


def _gone(visit: Visit, terms: Terms) -> Settled:
    """410: the publisher says it will not come back. It stays in the catalogue, retired."""
    progress = msgspec.structs.replace(visit.intent.progress)
    causes.clear(progress)
    source = msgspec.structs.replace(visit.intent.source, state="retired", note="gone: the server says so (410)")
    settlement = Settlement(
        crawl=_crawl(visit, "failed", error="HTTP status 410: gone"),
        progress=progress,
        source=source,
        events=[source_event(source, "retired", visit.at)],
    )
    return Settled(settlement, Lesson("failed"), math.inf)


def _worth(visit: Visit, terms: Terms) -> tuple[float, float]:
    """What an item of the source is worth, and its half-life in seconds."""
    options = visit.intent.options
    return options.importance, options.half_life or terms.half_life_s


def _jitter(visit: Visit) -> float:
    """A factor of 0.75 to 1.25 that differs between sources and failures, so that they do not all come back at once."""
    seed = item_key(f"{visit.intent.source.id}/{visit.intent.progress.failures}")
    return 0.75 + (seed % 1000) / 2000.0


# -- what all have in common


def _crawl(
    visit: Visit, outcome: Outcome, *, new: int = 0, captured: float = 0.0, censored: bool = False, error: str = ""
) -> Crawl:
    response = visit.delivery.response
    return Crawl(
        source=visit.intent.source.id,
        at=visit.at,
        outcome=outcome,
        status=0 if response is None else response.status,
        requests=visit.delivery.requests,
        size=visit.size,
        elapsed_s=0.0 if response is None else response.elapsed_s,
        new=new,
        censored=censored,
        captured=captured,
        index=visit.intent.index,
        price=visit.intent.price,
        error=error,
    )


def _answered(visit: Visit) -> Progress:
    """Progress after an answer: failures forgotten, validators kept, permanent moves counted."""
    response, before = visit.delivery.response, visit.intent.progress
    assert response is not None
    progress = msgspec.structs.replace(before)
    progress.last, progress.visits, progress.failures = visit.at, before.visits + 1, 0
    causes.clear(progress)
    same, index = response.status == NOT_MODIFIED, visit.findings is not None and bool(visit.findings.children)
    # An index is read in full each time: of what it names, some may have been left out, and find room now.
    progress.etag = "" if index else usable(response.headers.get("etag", before.etag if same else ""))
    progress.modified = "" if index else usable(response.headers.get("last-modified", before.modified if same else ""))
    moved = visit.delivery.moved_to
    progress.moved_seen = before.moved_seen + 1 if moved and moved == before.moved_to else int(bool(moved))
    progress.moved_to = moved
    return progress


def _described(visit: Visit) -> Source:
    """The catalogue's line with what the document says of itself; the very same object if nothing is new."""
    source, findings = visit.intent.source, visit.findings
    assert findings is not None
    changes: dict[str, str] = {}
    if source.kind == "auto":
        changes["kind"] = findings.kind
    if findings.title and not source.title:
        changes["title"] = findings.title
    note = source.note
    if note.startswith(FAILING):
        note = ""
    if findings.kind == "page" and findings.advertises and not note:
        note = f"advertises a feed: {findings.advertises[0]}"
    if visit.renamed:
        note = NOTE
    if findings.remark:
        note = findings.remark
    if note != source.note:
        changes["note"] = note
    return msgspec.structs.replace(source, **changes) if changes else source


def _settled(
    visit: Visit,
    terms: Terms,
    crawl: Crawl,
    progress: Progress,
    lesson: Lesson,
    source: Source,
    *,
    items: list[Item] | None = None,
    version: Version | None = None,
    events: list[Event] | None = None,
) -> Settled:
    said = list(events or ())
    if progress.moved_seen >= MOVES_BELIEVED:
        source, followed = _moved(source, progress.moved_to)
        if followed:
            progress.moved_to, progress.moved_seen = "", 0
            said.append(source_event(source, "moved", visit.at))
    floor = visit.at + max(terms.min_interval_s, visit.intent.options.interval or 0.0)
    until = floor
    findings = visit.findings
    if findings is not None and _heeds(visit, terms):
        until = max(floor, earliest(findings.hints, visit.at, floor))
        if until > floor:
            by_headers = _stay_s(visit, terms)
            by_server = findings.hints.stay_away_s is not None and findings.hints.stay_away_s == by_headers
            headers = {} if visit.delivery.response is None else visit.delivery.response.headers
            words = in_words(findings.hints, headers, by_headers, visit.at, until)
            _hold(progress, visit, terms, until, words, causes.SERVER if by_server else causes.PUBLISHER)
    children = [] if findings is None else [_child(source, url, visit.at) for url in findings.children]
    settlement = Settlement(
        crawl=crawl,
        progress=progress,
        items=items or [],
        version=version,
        source=None if source is visit.intent.source else source,
        children=children,
        events=said,
    )
    return Settled(settlement, lesson, until, visit.taken)


def _moved(source: Source, url: str) -> tuple[Source, bool]:
    """The source at its new address, and whether it may go there: its headers belong to its own origin alone."""
    if source.headers and origin(url) != origin(source.url):
        note = f"moved to {url}: not followed, because its headers are for its own origin"
        return (source if source.note == note else msgspec.structs.replace(source, note=note)), False
    return msgspec.structs.replace(source, url=url, note=f"moved from {source.url}"), True


def _child(parent: Source, url: str, now: float) -> Source:
    """A sitemap named in an index: a source of its own, on its parent's terms."""
    child = msgspec.structs.replace(
        parent,
        id=0,
        url=url,
        kind="sitemap",
        title="",
        note=f"listed in {parent.url}",
        added=now,
        found_on=site_of(url),
        revision=0,
    )
    return child if origin(url) == origin(parent.url) else msgspec.structs.replace(child, headers={})
