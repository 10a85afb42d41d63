"""A feed whose items are kept in full and held against the owner's rules, crawled over real sockets into a store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from aiohttp import web

from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.item_rules_note import add_rule
from recrawl.crawl.reading.content import unpacked
from recrawl.store.opening import open_store
from watching import Answer, Watched

FEED = {"kind": "feed"}


def feed(*titles: str) -> Answer:
    items = "".join(
        f"<item><guid>{title}</guid><title>{title}</title><author>ann</author>"
        f"<description>&lt;p onclick=x()&gt;All of &lt;b&gt;{title}&lt;/b&gt;"
        "&lt;script&gt;x()&lt;/script&gt;</description></item>"
        for title in titles
    )
    body = f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'
    return lambda: web.Response(text=body, content_type="application/rss+xml")


def test_content_is_kept_of_those_sources_alone_of_which_it_is_asked_for(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    rounds = [{"full": feed("one"), "short": feed("one")}, {"full": feed("one", "two"), "short": feed("one", "two")}]
    asyncio.run(pages.visit(*rounds, told=[{"full": FEED | {"options": SourceOptions(content=True)}, "short": FEED}]))
    with open_store(pages.config.store) as store:
        items = {item.id: item for item in store.items()}
        said = store.contents([*items])
        source = {source.id: source.options.content for source in store.sources()}
        assert {source[items[id].source] for id in said} == {True}
        assert sorted((each.author, unpacked(each.record)) for each in said.values()) == [
            ("ann", "<p>All of <b>one</b></p>"),
            ("ann", "<p>All of <b>two</b></p>"),
        ]


def test_what_a_rule_blocks_is_not_kept_and_does_not_come_back(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    with open_store(pages.config.store) as store:
        add_rule(store, ItemRule(act="block", words="/^sale/", field="title"))
        add_rule(store, ItemRule(act="keep", words="boat"))
    listed = feed("sale of shoes", "sale of boats", "news")
    rounds = [{"feed": listed}, {"feed": listed}, {"feed": feed("sale again", "sale of shoes", "more")}]
    asyncio.run(pages.visit(*rounds, told=[{"feed": FEED}]))
    with open_store(pages.config.store) as store:
        assert sorted(item.title for item in store.items()) == ["more", "news", "sale of boats"]
        assert sum(crawl.new for crawl in store.crawls()) == 3


def test_a_rule_without_end_costs_its_sources_alone_and_they_say_why(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    with open_store(pages.config.store) as store:
        add_rule(store, ItemRule(act="block", words="/(x+x+)+y/", tag="slow"))
    slow, quick = feed("x" * 60), feed("x" * 60 + " other")
    asyncio.run(pages.visit({"slow": slow, "quick": quick}, told=[{"slow": FEED | {"tags": ("slow",)}, "quick": FEED}]))
    with open_store(pages.config.store) as store:
        crawls = {store.source(crawl.source).url.rsplit("/", 1)[-1]: crawl for crawl in store.crawls()}  # type: ignore[union-attr]
    assert crawls["quick"].new == 1
    assert "perhaps for the pattern of a rule" in crawls["slow"].error


def test_a_rule_is_tried_on_history_before_it_is_saved(tmp_path: Path, capsys) -> None:
    pages = Watched(tmp_path)
    asyncio.run(pages.visit({"feed": feed("sale of shoes", "sale of boats", "news")}, told=[{"feed": FEED}]))
    store = ["--store", str(pages.config.store)]
    assert run(["rules", "add", "block", "sale", "--try", *store]) == 0
    assert "would have blocked 2 of the last 3" in capsys.readouterr().out
    assert run(["rules", "list", "--json", *store]) == 0
    assert msgspec.json.decode(capsys.readouterr().out) == []
    assert run(["rules", "add", "block", "/^sale/", "--in", "title", *store]) == 0
    assert "rule 1: would have blocked 2 of the last 3" in capsys.readouterr().out
    assert run(["rules", "remove", "1", *store]) == 0
    assert run(["rules", "add", "block", "/(/", *store]) == 2
    assert "regular expression" in capsys.readouterr().err
