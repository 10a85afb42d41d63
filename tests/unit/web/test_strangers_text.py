"""Text, links and diffs from strangers, through a store into every view: nothing of it may become markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from hostile import CORPUS, hostile
from recrawl.store.sqlite import SqliteStore
from visitor import Visitor

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


@pytest.fixture
def haunted(store: SqliteStore, visitor: Visitor) -> Visitor:
    hostile(store)
    return visitor


def judged(text: str) -> list[str]:
    judge = Judge()
    judge.feed(text)
    return judge.found


def test_nothing_executes_in_any_list(haunted: Visitor) -> None:
    for path in VIEWS:
        answer = haunted.get(path)
        assert answer.status == 200, path
        kind = (answer.header("content-type") or "").partition(";")[0]
        if kind == "text/html":
            assert judged(answer.text) == [], path
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
