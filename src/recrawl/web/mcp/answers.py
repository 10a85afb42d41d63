"""What each tool answers: plain questions to the store, bounded, with the text of strangers marked.

Nothing here knows the protocol, and nothing writes but `add`, which opens the store for writing only then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import msgspec

from recrawl.crawl.reading.diffs import without_noise
from recrawl.errors import ParameterError
from recrawl.store.records import Item, Source
from recrawl.units import parse_duration, parse_rate
from recrawl.web import editing
from recrawl.web.context import Context
from recrawl.web.mcp.untrusted import UNTRUSTED, answer, apart, texts, when
from recrawl.web.views.prospects import Mover, what_if

MOST = 50
"""Items in one answer."""
DIFF = 3000
"""Characters of what changed on a page, per change."""
CRAWLS = 5
HOUR_S = 3600.0


@dataclass(frozen=True)
class Answers:
    """Over a store.

    Parameters
        context: the store, which may be open for reading only
        writing: the same store, open for writing as long as it is needed
    """

    context: Context
    writing: Callable[[], AbstractContextManager[Context]]

    def whats_new(self, since: str, tag: str, limit: int) -> dict[str, Any]:
        """What was found last."""
        found = self._items(tag=tag, since=since, limit=limit)
        return answer(items=self._listed(found), more=len(found) == limit)

    def search(self, query: str, since: str, tag: str, limit: int) -> dict[str, Any]:
        """What has all of these words, the best first."""
        found = self._items(tag=tag, since=since, limit=limit, text=query, order="relevance")
        return answer(items=self._listed(found), more=len(found) == limit)

    def changes(self, source: str, since: str, tag: str, limit: int) -> dict[str, Any]:
        """What changed on pages, and how."""
        meant: dict[str, Any] = {}
        if source:
            fitting = self._meant(source)
            if len(fitting) != 1:
                return self._which(fitting)
            meant = {"source": fitting[0].id}
        found = self._items(tag=tag, since=since, limit=limit, kind="change", **meant)
        diffs = self.context.store.diffs(found) if found else {}
        rows = self._listed(found)
        for row in rows:
            row[UNTRUSTED] |= texts(DIFF, diff=without_noise(diffs.get(row["id"], "")))
        return answer(changes=rows, more=len(found) == limit)

    def why(self, source: str) -> dict[str, Any]:
        """When a source is fetched next, and why then."""
        fitting = self._meant(source)
        if len(fitting) != 1:
            return self._which(fitting)
        now = self.context.now()
        progress = next(iter(self.context.store.progress([fitting[0].id])), None)
        if progress is None:
            return self._which([])
        found = self.context.state().explained(fitting[0], progress, now)
        found = msgspec.structs.replace(found, crawls=found.crawls[:CRAWLS])
        told = apart(msgspec.to_builtins(found, builtin_types=(float,)))
        return answer(now=when(now), due_at=when(found.due), last_fetched=when(found.last), **told)

    def whatif(self, budget: str) -> dict[str, Any]:
        """What another budget would bring."""
        found = what_if(self.context, parse_rate("budget", budget))
        both = {"now": (found.present, found.fresh_now), "then": (found.chosen, found.fresh_then)}
        budgets = {
            name: {
                "budget_per_hour": each.budget * HOUR_S,
                "spend_per_hour": each.spend * HOUR_S,
                "price": each.price,
                "captured_per_hour": each.captured * HOUR_S if found.interest else None,
                "share_of_time_up_to_date": fresh,
                "median_delay_s": each.delay,
                "sources_never_worth_a_fetch": each.unworthy,
            }
            for name, (each, fresh) in both.items()
        }
        counts = {"sources": found.sources, "known": found.known, "never_fetched": found.never_fetched}
        return answer(policy=found.policy, **counts, **apart(budgets), movers=[_mover(each) for each in found.movers])

    def refusal(self, url: str) -> str:
        """The one spelling of an address that may be added; ParameterError for any other."""
        return editing.allowed(url[: editing.LONGEST_ADDRESS], self.context.config)

    def add(self, url: str, given: dict[str, Any]) -> dict[str, Any]:
        """Take in a source."""
        with self.writing() as context:
            added = editing.add(context, url, given)
        self.context.cached.forget()
        return answer(added=added.new, known_already=not added.new, id=added.id)

    def _items(self, *, tag: str, since: str, limit: int, **which: Any) -> list[Item]:
        start = self.context.now() - parse_duration("since", since) if since else None
        name = " ".join(tag.split()) or None
        if name is not None and not self.context.store.count(tag=name):
            raise ParameterError("tag", "a tag of a source", repr(name))
        return self.context.store.items(tag=name, since=start, limit=min(limit, MOST), **which)

    def _listed(self, found: Sequence[Item]) -> list[dict[str, Any]]:
        ids = sorted({item.source for item in found})
        sources = {each.id: each for each in self.context.store.sources(ids=ids)} if ids else {}
        return [_item(item, sources.get(item.source)) for item in found]

    def _meant(self, text: str) -> list[Source]:
        """The one source that a text names by id or address; else all, but no more than a few, that it fits."""
        name = text.strip()
        number = name.removeprefix("#")
        if number.isascii() and number.isdigit():
            exact = self.context.store.source(int(number)) if len(number) < 19 else None
        else:
            exact = self.context.store.source(name)
        if exact is not None or number.isdigit():
            return [exact] if exact is not None else []
        return self.context.store.sources(text=name, limit=9) if name else []

    def _which(self, fitting: Sequence[Source]) -> dict[str, Any]:
        if not fitting:
            return answer(problem="no source fits; name it by id, by address, or by a part of its address or title")
        rows = [{"id": each.id, UNTRUSTED: texts(url=each.url, title=each.title)} for each in fitting]
        return answer(problem="this could be several sources; ask again with the id of one", sources=rows)


def _item(item: Item, source: Source | None) -> dict[str, Any]:
    written = texts(title=item.title, link=item.link, summary=item.summary)
    if source is not None:
        written |= texts(source_title=source.title, source_url=source.url)
    return {
        "id": item.id,
        "kind": item.kind,
        "source": item.source,
        "found": when(item.first_seen),
        "published": when(item.published),
        UNTRUSTED: written,
    }


def _mover(each: Mover) -> dict[str, Any]:
    numbers = {
        "interval_now_s": each.interval_before,
        "interval_then_s": each.interval_after,
        "captured_now_per_hour": each.captured_before * HOUR_S,
        "captured_then_per_hour": each.captured_after * HOUR_S,
    }
    return {"source": each.source.id, **apart(numbers), UNTRUSTED: texts(url=each.source.url, title=each.source.title)}
