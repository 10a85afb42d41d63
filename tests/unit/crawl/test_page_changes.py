"""Whether a page changed: by digests, and where the rules for these changed, by the text that was kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.page_changes import compared_with_kept, judged
from recrawl.crawl.reading.digests import digest_of, relation
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_bytes, read_page
from recrawl.crawl.reading.regions import Record, Region, packed, unpacked
from recrawl.crawl.visit_outcome import outcome_of
from recrawl.crawl.visits import CrawlRules, Intent, Visit
from recrawl.store.records import Batch, Crawl, Progress, Source, Version, VisitUpdate
from recrawl.store.roles import Store
from recrawl.store.source_terms import EffectiveOptions
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
    source.select, options = counts.select, EffectiveOptions(ignore_noise=counts.ignore_noise)
    progress = Progress(source=source.id, last=THEN, visits=1, digest=digest)
    version = Version(source=source.id, at=THEN, digest=digest, text=kept)
    crawl = Crawl(source=source.id, at=THEN, outcome="first")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, version=version)]))
    answer = Response(status=200, headers={}, body=b"", url=source.url, elapsed_s=0.1)
    visit = Visit(
        Intent(0, source, progress, "a.example", 0.0, 0.0, options),
        NOW,
        FetchResult(answer, source.url, 1),
        findings,
    )
    return compared_with_kept(store, visit, findings)


def test_after_an_upgrade_a_page_that_says_the_same_is_the_same(store: Store) -> None:
    visit = visited(store, "Terms\nToday is 15 November 2026", OLDER, page("<p>Terms<p>Today is 16 November 2026"))
    settled = outcome_of(visit, CrawlRules())
    assert settled.crawl.outcome == "unchanged"
    assert settled.version is None
    assert settled.events == []
    assert visit.findings is not None
    assert settled.progress.digest == visit.findings.digest


def test_what_older_rules_ignored_and_these_do_not_is_no_change_by_itself(store: Store) -> None:
    kept, counts = "Bought less than 30 days ago", WhatCounts()
    older = digest_of(f"2-{counts.rule.partition('-')[2]}", "Bought less than ⟨age⟩".encode())
    settled = outcome_of(visited(store, kept, older, page(f"<p>{kept}")), CrawlRules())
    assert (settled.crawl.outcome, settled.events) == ("unchanged", [])


def test_after_an_upgrade_the_text_kept_may_prove_a_change(store: Store) -> None:
    visit = visited(store, "Hearing on 5 March 2027", OLDER, page("<p>Hearing on 12 March 2027"))
    settled = outcome_of(visit, CrawlRules())
    assert settled.crawl.outcome == "changed"
    assert settled.version is not None
    assert settled.version.diff == "@@ -1,1 +1,1 @@\n-Hearing on 5 March 2027\n+Hearing on 12 March 2027"
    assert len(settled.events) == 1


@pytest.mark.parametrize(("kept", "now"), [("Menu\nTerms", "Terms"), ("Terms", "Terms\nFolded up")])
def test_after_an_upgrade_lines_that_only_came_or_went_may_have_been_read_otherwise(
    store: Store, kept: str, now: str
) -> None:
    settled = outcome_of(visited(store, kept, OLDER, page(now.replace("\n", "<p>"))), CrawlRules())
    assert settled.events == []
    assert settled.version is not None
    assert settled.version.note == "now compared by the rules of a newer version"


@pytest.mark.parametrize(("kept", "keep"), [("Hearing on 5…", 200_000), ("Hearing on 5 March 2027", 10)])
def test_after_an_upgrade_a_text_that_is_cut_proves_nothing(store: Store, kept: str, keep: int) -> None:
    settled = outcome_of(visited(store, kept, OLDER, page("<p>Hearing on 12 March 2027", keep=keep)), CrawlRules())
    assert settled.events == []
    assert not settled.changed
    assert settled.version is not None
    assert settled.version.note == "now compared by the rules of a newer version"


def test_a_file_that_is_read_as_text_at_some_visits_alone_is_not_changed(store: Store) -> None:
    as_text, as_bytes = page("<p>Entry 5 euros"), read_bytes(b"%PDF-1", may_be_text=True)
    for before, now, note in (
        (as_text, as_bytes, "now compared byte by byte: it could not be read as text"),
        (as_bytes, as_text, "now compared by its text"),
    ):
        settled = outcome_of(visited(store, before.text, before.digest, now), CrawlRules())
        assert (settled.crawl.outcome, settled.events) == ("unchanged", [])
        assert settled.version is not None
        assert settled.version.note == note
    other = read_bytes(b"%PDF-2", may_be_text=True)
    assert judged(visited(store, as_bytes.text, as_bytes.digest, other), other).changed


def test_what_was_kept_need_not_be_any_more_when_its_owner_says_otherwise(store: Store) -> None:
    record = Record(visits=4, regions=[Region(1, 2, kept=True), Region(2, 3)])
    kept, now = page("<p>a<p>b", WhatCounts(keep=("p",))), page("<p>a<p>c")
    progress = Progress(source=1, last=THEN, visits=1, digest=kept.digest)
    crawl = Crawl(source=1, at=THEN, outcome="first")
    store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, restless=packed(record))]))
    visit = visited(store, kept.text, kept.digest, now)
    assert [region.kept for region in unpacked(visit.restless).regions] == [False, False]


def test_after_an_upgrade_bytes_are_as_comparable_as_before(store: Store) -> None:
    same = read_bytes(b"%PDF\0")
    assert not judged(visited(store, "", same.digest.partition(":")[2], same), same).is_kept
    other = read_bytes(b"%PDF\0\0")
    assert judged(visited(store, "", OLDER, other), other).changed


def test_a_file_that_an_older_version_could_not_read_is_no_change_by_itself(store: Store) -> None:
    visit = visited(store, "binary, 300 bytes", OLDER, page("<p>Entry 5 euros"))
    assert outcome_of(visit, CrawlRules()).events == []


def test_what_an_owner_wants_compared_otherwise_is_no_change(store: Store) -> None:
    counts = WhatCounts(select="b", ignore_noise=False)
    before = page("<p>Price <b>5</b>", now=THEN)
    visit = visited(store, before.text, before.digest, page("<p>Price <b>6</b>", counts), counts)
    settled = outcome_of(visit, CrawlRules())
    assert settled.crawl.outcome == "unchanged"
    assert settled.crawl.captured == 0.0
    assert not settled.changed
    assert settled.events == []
    version = settled.version
    assert version is not None
    assert (version.text, version.diff, version.note) == ("6", "", "now compared by what b picks")


def test_a_change_that_the_text_does_not_show_is_told_in_words(store: Store) -> None:
    raw = WhatCounts(digest="raw")
    one, other = (page(f"<p>same<!-- {k} -->", raw) for k in (1, 2))
    assert relation(one.digest, other.digest) == "differs"
    visit = visited(store, one.text, one.digest, other, raw)
    assert visit.diff == "@@ changed, but not in the text that is kept of it @@"
