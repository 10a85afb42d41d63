"""A feed whose items are kept in full and held against the owner's rules, crawled over real sockets into a store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from aiohttp import web

from live import crawl, settings
from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.config.item_rules import ItemRule
from recrawl.crawl.item_rules_note import add_rule
from recrawl.crawl.reading.content import unpacked
from recrawl.store.opening import open_store
from recrawl.store.records import Source
from servers import serving
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


def test_the_page_of_a_new_item_is_fetched_once_and_kept(tmp_path: Path) -> None:
    config = settings(tmp_path / "recrawl.db", "200/s")
    words = "The harbour council voted for shore power on Tuesday, nine to two. " * 5
    article = (
        f"<html><body><nav>Menu</nav><article><h1>One</h1><p>{words}</p><script>x()</script></article></body></html>"
    )
    listed, asked = ["old"], []

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(request.path)
        if request.path == "/feed":
            items = "".join(
                f"<item><guid>{each}</guid><title>{each}</title><link>/{each}</link></item>" for each in listed
            )
            text = f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>'
            return web.Response(text=text, content_type="application/rss+xml")
        if request.path in ("/old", "/two"):
            return web.Response(text=article, content_type="text/html")
        return web.Response(status=404)

    async def crawled() -> None:
        async with serving(answer) as url:
            options = SourceOptions(articles=True, interval=0.2)
            with open_store(config.store) as store:
                store.add([Source(url=f"{url}/feed", kind="feed", options=options)])
            await crawl(config, once=True)
            listed.extend(["two", "gone"])
            await crawl(config, enough=lambda _, store: len(store.items()) == 3 and not store.articles(1e12, 9))

    asyncio.run(crawled())
    with open_store(config.store) as store:
        items = {item.title: item.id for item in store.items()}
        said = store.contents([*items.values()])
        assert [*said] == [items["two"]]
        assert "nine to two" in unpacked(said[items["two"]].record)
        assert "Menu" not in unpacked(said[items["two"]].record)
    assert [asked.count(path) for path in ("/old", "/two", "/gone")] == [0, 1, 1]


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
