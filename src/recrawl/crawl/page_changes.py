"""Whether a page changed since the visit before, and how.

Digests tell, if they were made by the same rule. If not (its owner wants something else compared, or this version of
recrawl compares otherwise), this visit is a new baseline and no change; unless the text kept of the page, where it is
of the same part and whole, tells after all. Lines that only came or only went may have been read otherwise: of a main
text, a line that became another is what proves a change.

Where digests differ, and all that differs is text that has proved restless (`reading.restless`), that is a new state of
the page, but no change of it. The same holds for a change that meets none of its owner's conditions
(`met_conditions`); one that does counts, restless or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from recrawl.crawl.met_conditions import lacks_number, met
from recrawl.crawl.reading import restless
from recrawl.crawl.reading.diffs import Noise, difference, is_binary, tells_sizes
from recrawl.crawl.reading.digests import Relation, has_the_view_of, is_by, is_of_bytes, relation
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.noise import without_noise
from recrawl.crawl.reading.number_history import History
from recrawl.crawl.reading.number_history import packed as packed_history
from recrawl.crawl.reading.number_history import unpacked as unpacked_history
from recrawl.crawl.reading.pages import is_whole, says_the_same
from recrawl.crawl.reading.regions import packed, unpacked
from recrawl.crawl.rendering import screenshots
from recrawl.crawl.rendering.record import NOT_SHOWN
from recrawl.crawl.rendering.record import packed as packed_record
from recrawl.crawl.rendering.record import unpacked as unpacked_record
from recrawl.crawl.rendering.screenshots import is_picture
from recrawl.crawl.visits import Visit
from recrawl.store.records import Version
from recrawl.store.roles import Items

RESTLESS_NOTE = "only text that changes at nearly every visit"
NO_HISTORY = History()
NOW_BYTES_NOTE = "now compared byte by byte: it could not be read as text"
NOW_TEXT_NOTE = "now compared by its text"
UNMET_NOTE = "no condition is met"
_REPLACED = re.compile(r"^-.*\n\+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a page: whether this is its first state, whether it changed, and if neither, why this state is kept.

    `differs`: it is no change, though it can be told from the state before.
    """

    first: bool = False
    changed: bool = False
    note: str = ""
    differs: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether there is a new state of it."""
        return self.first or self.changed or self.note != ""


def judged(visit: Visit, findings: Findings) -> Verdict:
    """By its digests, and what was found out about the text kept of it."""
    before = visit.intent.progress.digest
    if not before:
        return Verdict(first=True)
    related = relation(before, findings.digest)
    if related != "another rule" or visit.kept_text:
        differs = related == "differs" or visit.kept_text == "changed"
        if differs and visit.met == "":
            return Verdict(note=UNMET_NOTE, differs=True)
        if visit.kept_text == "restless" and not visit.met:
            return Verdict(note=RESTLESS_NOTE, differs=True)
        return Verdict(changed=differs)
    if has_the_view_of(before, findings.digest):
        if is_of_bytes(findings.digest):
            return Verdict(note=NOW_BYTES_NOTE)
        return Verdict(note=NOW_TEXT_NOTE if is_of_bytes(before) else "now compared by the rules of a newer version")
    return Verdict(note=f"now compared by {visit.intent.counts.words}")


def looked_up(store: Items, visit: Visit, findings: Findings) -> Visit:
    """A visit of a page with how it differs from the state that is kept of it, its number, and how it was shown."""
    visit = _with_number(store, _with_browser(store, visit), findings)
    if visit.shown is None or not is_picture(visit.shown.picture) or not judged(visit, findings).is_kept:
        return visit
    before = screenshots.unpacked(store.screenshots(visit.intent.source.id))
    return structs.replace(visit, screenshots=screenshots.packed(before.followed_by(visit.shown.picture, visit.at)))


def _with_number(store: Items, visit: Visit, findings: Findings) -> Visit:
    """With how it differs from the state that is kept, and the history of its number."""
    before = visit.intent.progress.digest
    if findings.number is None and (not before or relation(before, findings.digest) == "same"):
        return visit
    history = unpacked_history(store.watched_number(visit.intent.source.id)) if findings.number else History()
    if before:
        visit = compared_with_kept(store, visit, findings, history)
    if findings.number is None:
        return visit
    first = history.told is None
    after = history.followed_by(findings.number, visit.at, told=first or judged(visit, findings).changed)
    return visit if after == history else structs.replace(visit, numbers=packed_history(after))


def _with_browser(store: Items, visit: Visit) -> Visit:
    """With what is known now of the page in a browser, and what a fetch of it costs by that."""
    source, shown = visit.intent.source, visit.shown
    if shown is None and not is_by(visit.intent.counts_when_shown.rule, visit.intent.progress.digest):
        return visit
    before = unpacked_record(store.rendering(source.id))
    record = NOT_SHOWN if shown is None else before.followed_by(shown, visit.at, visit.plain_s, visit.shown_why)
    record, cost = structs.replace(record, cost=before.cost).charged(source.cost)
    return structs.replace(visit, rendering=packed_record(record), cost=cost, remark=record.note)


def compared_with_kept(store: Items, visit: Visit, findings: Findings, history: History = NO_HISTORY) -> Visit:
    """A visit with how a page that was visited before differs from the state that is kept of it."""
    related = relation(visit.intent.progress.digest, findings.digest)
    if related == "same":
        return visit
    kept = next(iter(store.versions(visit.intent.source.id, limit=1)), None)
    options = visit.intent.options
    if options.when and not lacks_number(options.number, options.when):
        visit = structs.replace(visit, met=met(visit.intent.options.when, kept.text if kept else "", findings, history))
    return _differing(store, visit, findings, kept, related)


def _differing(store: Items, visit: Visit, findings: Findings, kept: Version | None, related: Relation) -> Visit:
    before = visit.intent.progress.digest
    if related == "differs" and kept is not None and visit.intent.options.restless and _can_be_learned(kept, findings):
        return _learned_from(store, kept, visit, findings)
    diff = difference(kept.text if kept else "", findings.text)
    told: Literal["", "same", "changed"] = ""
    if related == "another rule" and kept is not None and has_the_view_of(before, findings.digest):
        told = _told_by(kept, visit, findings, diff)
    if related == "another rule" and not has_the_view_of(before, findings.digest):
        visit = _kept_anew(store, visit)
    return structs.replace(visit, kept_text=told, diff=diff)


def _kept_anew(store: Items, visit: Visit) -> Visit:
    """Its owner says otherwise now what counts: what always did need not any more, and is told by what comes."""
    record = unpacked(store.restless(visit.intent.source.id))
    if not any(region.kept for region in record.regions):
        return visit
    for region in record.regions:
        region.kept = False
    return structs.replace(visit, restless=packed(record))


def _can_be_learned(kept: Version, findings: Findings) -> bool:
    return is_whole(kept.text) and is_whole(findings.text) and not is_binary(findings.text)


def _learned_from(store: Items, kept: Version, visit: Visit, findings: Findings) -> Visit:
    """With what is restless on the page, and whether anything else differs."""
    source, before = visit.intent.source.id, visit.intent.progress
    old, new = kept.text.split("\n"), findings.text.split("\n")
    learned = restless.compared(
        unpacked(store.restless(source)),
        old,
        new,
        visit=before.visits,
        gap_s=visit.at - (before.last or visit.at),
        masked_old=lambda lines: without_noise([*lines], (), kept.at)[0],
        masked=lambda lines: without_noise([*lines], (), visit.at, findings.kept)[0],
        kept=findings.kept,
    )
    rest = _without(old, learned.old), _without(new, learned.new)
    there = set(old)
    quiet = bool(learned.old or learned.new) and all(new[number] in there for number in findings.kept)
    noise = visit.intent.counts.ignore_noise
    quiet = quiet and says_the_same(rest[0], kept.at, rest[1], visit.at, noise)
    return structs.replace(
        visit,
        kept_text="restless" if quiet else "",
        diff=difference(kept.text, findings.text, noise=Noise() if visit.met else Noise(learned.old, learned.new)),
        restless=packed(learned.record),
    )


def _without(lines: Sequence[str], noise: frozenset[int]) -> str:
    return "\n".join(line for number, line in enumerate(lines) if number not in noise)


def _told_by(kept: Version, visit: Visit, findings: Findings, diff: str) -> Literal["", "same", "changed"]:
    if not is_whole(kept.text) or not is_whole(findings.text):
        return ""
    if kept.text and is_binary(kept.text) != is_binary(findings.text):  # it could not be read then, or cannot now
        return ""
    counts = visit.intent.counts
    if says_the_same(kept.text, kept.at, findings.text, visit.at, counts.ignore_noise):
        return "same"
    return "changed" if counts.select or tells_sizes(diff) or _REPLACED.search(diff) else ""
