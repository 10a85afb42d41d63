"""A reader's programs at a real server: what a crawler finds meanwhile, and what the store then says."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI

from reading import Program
from recrawl.clock import SystemClock
from recrawl.config import Config
from recrawl.crawl.reading.content import packed
from recrawl.store.reader_records import Stream, Wanted
from recrawl.store.records import Batch, Content, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.reader_api.credentials import new_reader
from visitor import Visitor


class Desk:
    """One reader of two papers with five items, and with a program beside the one that is looked at."""

    def __init__(self, store: SqliteStore, show: Callable[[FastAPI], str]) -> None:
        self.store, self.clock = store, SystemClock()
        self.reader, self.password = new_reader("ann", self.clock.now())
        self.reader.id = store.add_reader(self.reader)
        app = make_app(store, Config(), self.clock)
        self.address = show(app)
        self.phone = Program.of(Visitor(app, browser=False), self.reader, self.clock.now())
        sources = [Wanted(source=Source(url=f"https://s{k}.example/feed"), title=f"Paper {k}") for k in (1, 2)]
        store.subscribe(self.reader.id, sources, self.clock.now())
        self.found(1, "Harbour", "Bridge", "Theatre")
        self.found(2, "Comet", "Tide")

    def found(self, source: int, *titles: str) -> None:
        """A crawler finds items, with all they say."""
        now = self.clock.now()
        first = len(self.store.items(source=source))
        items = [
            Item(source=source, key=first + k, title=title, link=f"https://s{source}.example/{first + k}",
                 published=now - 60.0 * k, first_seen=now)
            for k, title in enumerate(titles)
        ]  # fmt: skip
        contents = {each.key: Content("Ann Author", packed(f"<p>All of {each.title}</p>")) for each in items}
        crawl, progress = Crawl(source=source, at=now, outcome="new"), Progress(source=source, last=now)
        self.store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=progress, items=items, contents=contents)]))

    def titles(self, **asked: bool) -> set[str]:
        """Of items that are read, or starred, or not."""
        items = self.store.stream(self.reader.id, Stream(limit=100, **asked))  # type: ignore[arg-type]
        return {each.item.title for each in self.store.reading(self.reader.id, items)}
