"""Whether a page changed since the visit before, and how.

Digests tell, if they were made by the same rule. If not (its owner wants something else compared, or this version of
recrawl compares otherwise), this visit is a new baseline and no change; unless the text kept of the page, where it is
of the same part and whole, tells after all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recrawl.crawl.diffs import difference
from recrawl.crawl.digests import has_the_view_of, relation
from recrawl.crawl.findings import Findings
from recrawl.crawl.intents import Visit
from recrawl.crawl.pages import is_whole, says_the_same
from recrawl.store.base import Store, Version


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
    return Verdict(baseline=f"now compared by {visit.counts.words}")


def compare_with_kept(store: Store, visit: Visit) -> None:
    """Note on a visit how a page differs from the state that is kept of it."""
    before, findings = visit.intent.progress.digest, visit.findings
    if findings is None or findings.kind != "page" or not before:
        return
    related = relation(before, findings.digest)
    if related == "same":
        return
    kept = next(iter(store.versions(visit.intent.source.id, limit=1)), None)
    if related == "another rule" and kept is not None and has_the_view_of(before, findings.digest):
        visit.kept_text = _told_by(kept, visit, findings)
    visit.diff = difference(kept.text if kept else "", findings.text)


def _told_by(kept: Version, visit: Visit, findings: Findings) -> Literal["", "same", "changed"]:
    if not is_whole(kept.text) or not is_whole(findings.text):
        return ""
    same = says_the_same(kept.text, kept.at, findings.text, visit.at, visit.counts.ignore_noise)
    return "same" if same else "changed"
