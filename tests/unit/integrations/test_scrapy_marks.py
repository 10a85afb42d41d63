"""What a mark says, and requests as text."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed: pip install 'recrawl[scrapy]'")

from scrapy import FormRequest, Request, Spider

from recrawl.errors import ParameterError
from recrawl.integrations.scrapy.request_meta import FORGOTTEN, memo_of, read_mark, request_of

URL = "https://example.org/feed?b=1&a=2"


class Named(Spider):
    name = "named"

    def parse_feed(self, response: Any) -> None: ...

    def complain(self, failure: Any) -> None: ...


@pytest.fixture
def spider() -> Named:
    return Named()


def test_a_mark_says_terms() -> None:
    assert read_mark(Request("https://Example.org:443/a#top", meta={"recrawl": True})) == ("https://example.org/a", {})
    said = {"importance": 2, "half_life": "6h", "max_age": "7d", "cost": 2, "tags": ["news"]}
    assert read_mark(Request(URL, meta={"recrawl": said})) == (URL, said)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        (Request(URL, method="POST", meta={"recrawl": True}), "GET.*POST"),
        (Request(URL, body=b"x", meta={"recrawl": True}), "GET without a body"),
        (FormRequest(URL, formdata={"a": "b"}, meta={"recrawl": True}), "GET"),
        (Request(URL, meta={"recrawl": "yes"}), "True or a dictionary"),
        (Request(URL, meta={"recrawl": {"importanec": 1}}), "importanec.*did you mean .importance"),
        (Request("https://me:secret@example.org/", meta={"recrawl": True}), "password"),
        (Request("data:text/plain,x", meta={"recrawl": True}), "http"),
    ],
)
def test_what_cannot_be_a_source_is_refused_with_a_reason(request_: Request, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        read_mark(request_)


def test_a_request_survives_as_text(spider: Named) -> None:
    request = Request(
        URL + "#there",
        callback=spider.parse_feed,
        errback=spider.complain,
        headers={"X-Token": ["a", "b"], "Accept": "text/html"},
        cookies={"c": "d"},
        meta={"recrawl": {"importance": 2}, "depth": 3, "nested": {"list": [1, None, True]}},
        cb_kwargs={"page": 7},
        priority=5,
        flags=["mine"],
        encoding="latin-1",
    )
    memo = memo_of(request, URL, spider)
    again = request_of(memo, URL, spider)
    for name in ("url", "callback", "errback", "headers", "cookies", "cb_kwargs", "priority", "flags", "encoding"):
        assert getattr(again, name) == getattr(request, name), name
    assert again.meta == {"depth": 3, "nested": {"list": [1, None, True]}}
    assert memo_of(again, URL, spider) == memo


def test_a_plain_request_takes_no_room(spider: Named) -> None:
    assert memo_of(Request(URL, meta={"recrawl": True}), URL, spider) == "{}"
    assert request_of("", URL, spider).url == URL, "a source that somebody else put into the store"


@pytest.mark.parametrize(
    "more",
    [
        {"callback": lambda response: None},
        {"meta": {"spider": object()}},
        {"meta": {"when": (1, 2)}},
        {"cb_kwargs": {"raw": b"bytes"}},
    ],
)
def test_what_text_does_not_give_back_as_it_was_is_not_kept(spider: Named, more: dict[str, Any]) -> None:
    assert memo_of(Request(URL, **more), URL, spider) == FORGOTTEN


def test_a_callback_that_is_gone_is_named(spider: Named) -> None:
    with pytest.raises(ValueError, match="parse_gone"):
        request_of('{"callback":"parse_gone"}', URL, spider)


def test_requests_of_other_classes_come_back_as_such(spider: Named) -> None:
    request = FormRequest(URL, method="GET", callback=spider.parse_feed)
    assert type(request_of(memo_of(request, URL, spider), URL, spider)) is FormRequest
