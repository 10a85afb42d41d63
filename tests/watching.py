"""Pages on loopback that are crawled, changed, and crawled again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from live import crawl, settings
from recrawl.store.opening import open_store
from recrawl.store.records import Event, Source, Version
from servers import serving

Answer = Callable[[], web.Response]
Edits = Mapping[str, Any]


def html(body: str) -> Answer:
    """An answer that is a page with this body."""
    return lambda: web.Response(
        text=f"<!doctype html><html><head><title>A page</title></head><body>{body}</body></html>",
        content_type="text/html",
    )


class Watched:
    """Pages that say one thing after the other, each visit crawling all of them once.

    Parameters
        overrides: of the settings
    """

    def __init__(self, folder: Path, overrides: Mapping[str, object] | None = None) -> None:
        # One round follows the other at once: what failed must not be held any more.
        self.config = settings(folder / "recrawl.db", "200/s", {"politeness.backoff": "1ms", **(overrides or {})})
        self.asked: list[web.BaseRequest] = []
        self._answers: dict[str, Answer] = {}

    async def visit(self, *rounds: Mapping[str, Answer], told: Sequence[Mapping[str, Edits]] = ()) -> None:
        """Crawl once for each round of answers, by name of the page.

        Parameters
            told: what is edited of sources before each round, by name of the page
        """
        async with serving(self._answer) as url:
            for number, answers in enumerate(rounds):
                self._answers = dict(answers)
                sources = [Source(url=f"{url}/{name}", kind="page", added=time.time()) for name in answers]
                with open_store(self.config.store) as store:
                    store.add([] if number else sources)
                    for edits in told[number : number + 1]:
                        store.edit([_edited(source, edits) for source in store.sources()])
                await crawl(self.config, once=True)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append(request)
        answer = self._answers.get(request.path.strip("/"))
        return web.Response(status=404) if answer is None else answer()

    def outcomes(self) -> dict[str, list[str]]:
        """Of the visits to each page, in order."""
        found: dict[str, list[str]] = {}
        with open_store(self.config.store) as store:
            names = {source.id: source.url.rpartition("/")[2] for source in store.sources()}
            for visit in reversed(store.crawls(limit=1000)):
                found.setdefault(names[visit.source], []).append(visit.outcome)
        return found

    def versions(self, name: str) -> list[Version]:
        """The states kept of a page, the latest first."""
        with open_store(self.config.store) as store:
            (source,) = (each for each in store.sources() if each.url.endswith(f"/{name}"))
            return store.versions(source.id)

    def changes(self) -> list[dict[str, object]]:
        """The events that say a page changed."""
        with open_store(self.config.store) as store:
            events: list[Event] = store.events(0)
        told = [msgspec.json.decode(event.body) for event in events]
        return [each for each in told if each["type"] == "change"]


def _edited(source: Source, edits: Mapping[str, Edits]) -> Source:
    return msgspec.structs.replace(source, **edits.get(source.url.rpartition("/")[2], {}))
