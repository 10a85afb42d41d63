"""Whether a page changed since the visit before, and how.

Digests tell, if they were made by the same rule. If not (its owner wants something else compared, or this version of
recrawl compares otherwise), this visit is a new baseline and no change; unless the text kept of the page, where it is
of the same part and whole, tells after all. Lines that only came or only went may have been read otherwise: of a main
text, a line that became another is what proves a change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from recrawl.crawl.reading.diffs import difference, tells_sizes
from recrawl.crawl.reading.digests import has_the_view_of, relation
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.pages import is_whole, says_the_same
from recrawl.crawl.visits import Visit
from recrawl.store.records import Version
from recrawl.store.roles import Items

_REPLACED = re.compile(r"^-.*\n\+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a page: whether this is its first state, whether it changed, and why this is a new baseline, if it is one."""

    first: bool = False
    changed: bool = False
    baseline: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether there is a new state of it."""
        return self.first or self.changed or self.baseline != ""


def judged(visit: Visit, findings: Findings) -> Verdict:
    """By its digests, and what was found out about the text kept of it."""
    before = visit.intent.progress.digest
    if not before:
        return Verdict(first=True)
    related = relation(before, findings.digest)
    if related != "another rule" or visit.kept_text:
        return Verdict(changed=related == "differs" or visit.kept_text == "changed")
    if has_the_view_of(before, findings.digest):
        return Verdict(baseline="now compared by the rules of a newer version")
    return Verdict(baseline=f"now compared by {visit.intent.counts.words}")


def compared_with_kept(store: Items, visit: Visit, findings: Findings) -> Visit:
    """A visit with how a page that was visited before differs from the state that is kept of it."""
    before = visit.intent.progress.digest
    related = relation(before, findings.digest)
    if related == "same":
        return visit
    kept = next(iter(store.versions(visit.intent.source.id, limit=1)), None)
    diff = difference(kept.text if kept else "", findings.text)
    told: Literal["", "same", "changed"] = ""
    if related == "another rule" and kept is not None and has_the_view_of(before, findings.digest):
        told = _told_by(kept, visit, findings, diff)
    return replace(visit, kept_text=told, diff=diff)


def _told_by(kept: Version, visit: Visit, findings: Findings, diff: str) -> Literal["", "same", "changed"]:
    if not is_whole(kept.text) or not is_whole(findings.text):
        return ""
    counts = visit.intent.counts
    if says_the_same(kept.text, kept.at, findings.text, visit.at, counts.ignore_noise):
        return "same"
    return "changed" if counts.select or tells_sizes(diff) or _REPLACED.search(diff) else ""
