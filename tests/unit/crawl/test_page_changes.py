"""Whether a page changed: by digests, and where the rules for these changed, by the text that was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recrawl.config import Effective
from recrawl.crawl.courier import Delivery
from recrawl.crawl.digests import digest_of, relation
from recrawl.crawl.findings import Findings
from recrawl.crawl.intents import Intent, Terms, Visit
from recrawl.crawl.page_changes import compare_with_kept, judged
from recrawl.crawl.pages import read_bytes, read_page
from recrawl.crawl.settling import settle
from recrawl.crawl.transport import Response
from recrawl.crawl.what_counts import WhatCounts
from recrawl.store.base import Batch, Crawl, Progress, Settlement, Source, Store, Version
from recrawl.store.sqlite import SqliteStore

THEN, NOW = 1794738665.0, 1794825065.0
"""15 and 16 November 2026, 10:31:05 UTC."""
OLDER = "0" * 32
"""A digest of an earlier version."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        opened.add([Source(url="https://a.example/", kind="page")])
        yield opened


def page(body: str, counts: WhatCounts = WhatCounts(), keep: int = 200_000, now: float = NOW) -> Findings:  # noqa: B008
    return read_page(f"<body>{body}</body>".encode(), "https://a.example/", now, counts, keep)


def visited(store: Store, kept: str, digest: str, findings: Findings, counts: WhatCounts = WhatCounts()) -> Visit:  # noqa: B008
    """A visit after another of which this text and digest were kept."""
    (source,) = store.sources()
    progress = Progress(source=source.id, last=THEN, visits=1, digest=digest)
    version = Version(source=source.id, at=THEN, digest=digest, text=kept)
    crawl = Crawl(source=source.id, at=THEN, outcome="first")
    store.commit(Batch(settlements=[Settlement(crawl=crawl, progress=progress, version=version)]))
    answer = Response(status=200, headers={}, body=b"", url=source.url, elapsed_s=0.1)
    visit = Visit(
        Intent(0, source, progress, "a.example", 0.0, 0.0, Effective()),
        NOW,
        Delivery(answer, source.url, 1),
        findings,
        counts=counts,
    )
    compare_with_kept(store, visit)
    return visit


def test_after_an_upgrade_a_page_that_says_the_same_is_the_same(store: Store) -> None:
    visit = visited(store, "Terms\nToday is 15 November 2026", OLDER, page("<p>Terms<p>Today is 16 November 2026"))
    settled = settle(visit, Terms())
    assert settled.settlement.crawl.outcome == "unchanged"
    assert settled.settlement.version is None
    assert settled.settlement.events == []
    assert visit.findings is not None
    assert settled.settlement.progress.digest == visit.findings.digest


def test_what_older_rules_ignored_and_these_do_not_is_no_change_by_itself(store: Store) -> None:
    kept, counts = "Bought less than 30 days ago", WhatCounts()
    older = digest_of(f"2-{counts.rule.partition('-')[2]}", "Bought less than ⟨age⟩".encode())
    settled = settle(visited(store, kept, older, page(f"<p>{kept}")), Terms())
    assert (settled.settlement.crawl.outcome, settled.settlement.events) == ("unchanged", [])


def test_after_an_upgrade_the_text_kept_may_prove_a_change(store: Store) -> None:
    visit = visited(store, "Hearing on 5 March 2027", OLDER, page("<p>Hearing on 12 March 2027"))
    settled = settle(visit, Terms())
    assert settled.settlement.crawl.outcome == "changed"
    assert settled.settlement.version is not None
    assert settled.settlement.version.diff == "@@ -1,1 +1,1 @@\n-Hearing on 5 March 2027\n+Hearing on 12 March 2027"
    assert len(settled.settlement.events) == 1


@pytest.mark.parametrize(("kept", "keep"), [("Hearing on 5…", 200_000), ("Hearing on 5 March 2027", 10)])
def test_after_an_upgrade_a_text_that_is_cut_proves_nothing(store: Store, kept: str, keep: int) -> None:
    settled = settle(visited(store, kept, OLDER, page("<p>Hearing on 12 March 2027", keep=keep)), Terms())
    assert settled.settlement.events == []
    assert not settled.lesson.changed
    assert settled.settlement.version is not None
    assert settled.settlement.version.note == "now compared by the rules of a newer version"


def test_after_an_upgrade_bytes_are_as_comparable_as_before(store: Store) -> None:
    same = read_bytes(b"%PDF\0")
    assert not judged(visited(store, "", same.digest.partition(":")[2], same), same).is_kept
    other = read_bytes(b"%PDF\0\0")
    assert judged(visited(store, "", OLDER, other), other).changed


def test_what_an_owner_wants_compared_otherwise_is_no_change(store: Store) -> None:
    counts = WhatCounts(select="b", ignore_noise=False)
    before = page("<p>Price <b>5</b>", now=THEN)
    visit = visited(store, before.text, before.digest, page("<p>Price <b>6</b>", counts), counts)
    settled = settle(visit, Terms())
    assert settled.settlement.crawl.outcome == "unchanged"
    assert settled.settlement.crawl.captured == 0.0
    assert not settled.lesson.changed
    assert settled.settlement.events == []
    version = settled.settlement.version
    assert version is not None
    assert (version.text, version.diff, version.note) == ("6", "", "now compared by what b picks")


def test_a_change_that_the_text_does_not_show_is_told_in_words(store: Store) -> None:
    raw = WhatCounts(digest="raw")
    one, other = (page(f"<p>same<!-- {k} -->", raw) for k in (1, 2))
    assert relation(one.digest, other.digest) == "differs"
    visit = visited(store, one.text, one.digest, other, raw)
    assert visit.diff == "@@ changed, but not in the text that is kept of it @@"
