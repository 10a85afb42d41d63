"""A document that is sent again is not read again."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from recrawl.clock import ManualClock
from recrawl.config import SourceOptions
from recrawl.crawl import visitor
from recrawl.crawl.fetching.fetcher import FetchResult
from recrawl.crawl.fetching.transport import Response
from recrawl.crawl.reading.findings import Findings
from recrawl.crawl.visit_outcome import outcome_of
from recrawl.crawl.visitor import Reading, Visitor
from recrawl.crawl.visits import CrawlRules, Intent, Visit
from recrawl.store.records import Progress, Source, SourceKind
from recrawl.store.source_terms import Defaults

URL = "https://a.example/feed"
TYPE = {"content-type": "application/rss+xml"}
FEED = Findings(kind="feed")


class Sending:
    """A fetcher that brings the next of some answers."""

    def __init__(self, *answers: tuple[bytes, dict[str, str]]) -> None:
        self.answers = list(answers)

    async def visit(self, *_: object, **more: object) -> FetchResult:
        body, headers = self.answers.pop(0)
        return FetchResult(Response(URL, 200, headers, body), URL, 1)


class Counting:
    """Readers that count."""

    def __init__(self, findings: Findings) -> None:
        self.findings, self.read_so_far = findings, 0

    async def read(self, document: object) -> Findings:
        self.read_so_far += 1
        return self.findings


def intent_of(
    *, first: bool = False, in_full: bool = False, options: SourceOptions | None = None, kind: SourceKind = "feed"
) -> Intent:
    source = Source(id=1, url=URL, kind=kind, options=options or SourceOptions())
    progress = Progress(source=1, last=None if first else 50.0, visits=0 if first else 1)
    return Intent(0, source, progress, "a.example", 0.5, 0.4, source.terms(Defaults()), in_full=in_full)


def visits(
    *answers: tuple[bytes, dict[str, str]], again: Intent | None = None, findings: Findings = FEED, stored: bool = True
) -> tuple[int, Visit]:
    """How often something was read when these came one after the other, and the last visit."""

    async def scene() -> tuple[int, Visit]:
        readers, left = Counting(findings), list(answers)
        visiting = Visitor(Sending(*answers), readers, None, ManualClock(100.0), Reading())  # type: ignore[arg-type]
        visit = await visiting.visit(intent_of(first=True))
        for _ in left[1:]:
            if stored:
                visiting.stored(visit)
            visit = await visiting.visit(again or intent_of())
        return readers.read_so_far, visit

    return asyncio.run(scene())


def test_the_same_document_is_read_once_and_counts_as_not_modified() -> None:
    read, last = visits((b"a", TYPE), (b"a", TYPE), (b"a", TYPE))
    assert read == 1
    assert last.findings is None
    outcome = outcome_of(last, CrawlRules())
    assert (outcome.kind, outcome.crawl.outcome, outcome.crawl.status, outcome.crawl.size) == (
        "items",
        "unchanged",
        200,
        1,
    )
    assert outcome.progress.visits == 2


@pytest.mark.parametrize(
    "second",
    [(b"b", TYPE), (b"a", {"content-type": "text/html"}), (b"a", TYPE | {"link": "<https://hub.example/>; rel=hub"})],
)
def test_anything_else_is_read(second: tuple[bytes, dict[str, str]]) -> None:
    assert visits((b"a", TYPE), second)[0] == 2


def test_only_the_last_document_counts() -> None:
    assert visits((b"a", TYPE), (b"b", TYPE), (b"a", TYPE))[0] == 3


def test_what_was_not_stored_is_read_again() -> None:
    assert visits((b"a", TYPE), (b"a", TYPE), stored=False)[0] == 2


@pytest.mark.parametrize(
    "again",
    [
        intent_of(in_full=True),
        intent_of(first=True),
        intent_of(options=SourceOptions(follow=True)),
        intent_of(kind="page"),
    ],
)
def test_it_is_read_again_where_it_may_name_others_or_nothing_is_known_of_it(again: Intent) -> None:
    assert visits((b"a", TYPE), (b"a", TYPE), (b"a", TYPE), again=again)[0] == 3


@pytest.mark.parametrize(
    "findings", [Findings(kind="page"), Findings(kind="sitemap", children=("https://a.example/1",))]
)
def test_pages_and_indexes_are_always_read(findings: Findings) -> None:
    assert visits((b"a", TYPE), (b"a", TYPE), findings=findings)[0] == 2


def test_one_that_is_of_another_kind_now_is_read_as_such() -> None:
    assert visits((b"a", TYPE), (b"a", TYPE), again=intent_of(kind="sitemap"))[0] == 2


def test_no_mark_is_made_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[object] = []
    monkeypatch.setattr(visitor, "mark_of", lambda *given: marked.append(given) or 1)
    assert visits((b"a", TYPE), (b"a", TYPE), again=intent_of(kind="page"))[0] == 2
    assert len(marked) == 1


def test_answers_are_told_apart_by_their_source() -> None:
    async def scene() -> int:
        readers = Counting(FEED)
        visiting = Visitor(Sending((b"a", TYPE), (b"a", TYPE)), readers, None, ManualClock(1.0), Reading())  # type: ignore[arg-type]
        visiting.stored(await visiting.visit(intent_of(first=True)))
        await visiting.visit(msgspec.structs.replace(intent_of(), number=7))
        return readers.read_so_far

    assert asyncio.run(scene()) == 2
