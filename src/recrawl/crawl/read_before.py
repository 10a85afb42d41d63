"""What was read of each source last, so that the same document is not read again.

Many servers do not know "not modified", and send the whole document at every visit. Reading it takes most of the time
of a visit, and tells what is known. Kept are eight bytes for a source, in memory alone: after a start everything is
read once. Pages are not the business of this room: what they say may depend on the moment (`reading.digests`).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.visits import Intent

TELLING = ("content-type", "link")
"""Headers that reading a document rests on, beside its bytes."""


class ReadBefore:
    """The latest documents, by the policy's numbers of sources."""

    def __init__(self) -> None:
        self._marks = array("q")

    def is_same(self, intent: Intent, mark: int) -> bool:
        """Whether this document was the last one, and need not be read in full for the sake of others that it names."""
        if intent.in_full or intent.progress.last is None or intent.number >= len(self._marks):
            return False
        return self._marks[intent.number] == mark

    def note(self, number: int, mark: int) -> None:
        """What was found in it is stored; 0 for a document that has to be read again."""
        if number >= len(self._marks):
            self._marks.extend([0] * (number + 1 - len(self._marks)))
        self._marks[number] = mark


def mark_of(intent: Intent, url: str, headers: Mapping[str, str], body: bytes) -> int:
    """Of all that its reading rests on; differs from run to run, so that nobody can make two documents alike."""
    told = [headers.get(name, "") for name in TELLING]
    options = intent.options
    return hash((url, body, intent.source.kind, options.hints, options.follow, options.content, *told))


def may_stand(intent: Intent, findings: Findings) -> bool:
    """Whether reading it again tells nothing new: what a list names may be taken in later, where it is followed."""
    return findings.kind in ("feed", "sitemap") and not findings.children and not intent.options.follow
