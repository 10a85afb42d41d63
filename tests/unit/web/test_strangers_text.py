"""Text, links and diffs from strangers, through a store into every view: nothing of it may become markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from made_up import NOW
from recrawl.store.base import Batch, Crawl, Hold, Item, Progress, Settlement, Source, Version, item_key
from recrawl.store.sqlite import SqliteStore
from visitor import Visitor

CORPUS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'><iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    'https://a.example/"onmouseover="alert(1)',
    "https://a.example/<script>alert(1)</script>",
    "https://a.example/\r\nSet-Cookie: a=b",
    "//evil.example/",
    "https:evil",
    "{{ 7 * 7 }}{% raw %}",
    "<math><mtext></title><style><img src onerror=alert(1)>",
    "</textarea></title></script><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202egnp.exe\u202c\u0000\u001b[31m\ufeff\u200b",
    "\ud800 half a pair",
    '<a href="javascript:alert(1)">x</a>',
    "]]><!--<x",
    "+ADw-script+AD4-",
)
VIEWS = ("/", "/sources", "/sources?q=script", "/items", "/items?q=alert", "/items?order=found", "/whatif",
         "/feed.atom", "/sources.opml", "/metrics",
         "/api/v1/items", "/api/v1/sources", "/api/v1/search?q=alert")  # fmt: skip
KNOWN_SCRIPTS = {"/static/live.js", "/static/whatif.js"}
URL_ATTRIBUTES = {"href", "src", "action", "formaction", "xlink:href", "srcset", "data", "poster", "background"}


class Judge(HTMLParser):
    """Everything in a page that could execute, or lead somewhere it should not."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        if tag in ("iframe", "object", "embed", "base", "math", "style", "foreignobject", "animate"):
            self.found.append(f"<{tag}>")
        if tag == "script" and (said.get("src") or "").partition("?")[0] not in KNOWN_SCRIPTS:
            self.found.append(f"<script {said}>")
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.found.append(f"{tag} {name}={value}")
            if name in URL_ATTRIBUTES and not re.match(r"(/(?!/)|\?|#|https?://)", value or "?"):
                self.found.append(f"{tag} {name}={value}")


def hostile(store: SqliteStore) -> None:
    for k, text in enumerate(CORPUS):
        source = Source(
            url=f"https://x{k}.example/{k}" if "\n" in text or "\r" in text else f"https://x{k}.example/?{text}",
            title=text,
            note=text,
            tags=(text,),
            kind="page" if k % 2 else "feed",
            select=text,
            added=NOW - 9,
        )
        (added,) = store.add([source])
        item = Item(
            source=added.id,
            key=item_key(text),
            title=text,
            link=text,
            summary=text,
            published=NOW - 5,
            first_seen=NOW - 4,
        )
        other = Item(
            source=added.id, key=k, title=text, link=f"https://a.example/?{text}", summary="alert", first_seen=NOW
        )
        version = Version(
            source=added.id, at=NOW - 3, digest=text, text=text, diff=f"@@ {text}\n+{text}\n-{text}\n {text}"
        )
        settlement = Settlement(
            crawl=Crawl(source=added.id, at=NOW - 4, outcome="failed", error=text, value=1.0, value_sd=1.0),
            progress=Progress(source=added.id, last=NOW - 4, failures=1, held_until=NOW + 60, held_by=text, value=1.0,
                              value_sd=0.5, rate=1e-4, rate_sd=1e-5, due=NOW + 5),
            items=[item, other],
            version=version if k % 2 else None,
        )  # fmt: skip
        store.commit(Batch(settlements=[settlement], holds=[Hold(host=f"x{k}.example", until=NOW + 60, reason=text)]))


@pytest.fixture
def haunted(store: SqliteStore, visitor: Visitor) -> Visitor:
    hostile(store)
    return visitor


def judged(text: str) -> list[str]:
    judge = Judge()
    judge.feed(text)
    return judge.found


@pytest.mark.parametrize("path", VIEWS)
def test_nothing_executes_in_any_list(haunted: Visitor, path: str) -> None:
    answer = haunted.get(path)
    assert answer.status == 200
    kind = (answer.header("content-type") or "").partition(";")[0]
    if kind == "text/html":
        assert judged(answer.text) == []
    else:
        assert kind in ("application/atom+xml", "text/x-opml", "text/plain", "application/json")


def test_nothing_executes_on_the_page_of_any_source(haunted: Visitor) -> None:
    for k in range(1, len(CORPUS) + 1):
        answer = haunted.get(f"/sources/{k}")
        assert answer.status == 200
        assert judged(answer.text) == [], CORPUS[k - 1]
        assert "\u202e" not in answer.text


def test_every_click_leads_to_http_or_nowhere(store: SqliteStore, haunted: Visitor) -> None:
    for k in range(1, 2 * len(CORPUS) + 1):
        answer = haunted.get(f"/go/{k}")
        assert answer.status in (303, 404)
        if answer.status == 303:
            place = answer.header("location") or ""
            assert re.match(r"https?://[a-z0-9.]+/", place), place
            assert "\n" not in place
            assert answer.header("set-cookie") is None


def test_what_is_typed_is_escaped_too(haunted: Visitor) -> None:
    for text in ('"><script>alert(1)</script>', "' onfocus=alert(1) autofocus x='"):
        for path in ("/items?q=", "/sources?q=", "/sources?tag=", "/items?tag=", "/whatif?budget=", "/items?within="):
            assert judged(haunted.get(path + quote(text)).text) == []
        assert judged(haunted.form("/sources", {"url": text, "tags": text, "importance": text}).text) == []
