"""What readers change: subscriptions, labels, and what is read and starred.

Sources that readers bring pass the guard of addresses, as those do that are added on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from recrawl.config import SourceOptions
from recrawl.crawl.catalogue.opml import read_opml, write_opml
from recrawl.crawl.reading.findings import UnreadableError
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean
from recrawl.errors import ParameterError, StoreError
from recrawl.store.reader_records import MOST_SUBSCRIPTIONS, Reader, Stream, Subscribed, Wanted
from recrawl.store.records import Click, Source
from recrawl.web import editing
from recrawl.web.context import Context
from recrawl.web.metrics import Measures
from recrawl.web.reader_api import interest
from recrawl.web.reader_api.parameters import AskedWrongError, Parameters
from recrawl.web.reader_api.stream_ids import StreamId, item_number, label_name
from recrawl.web.reader_api.streams import known
from recrawl.web.reader_api.subscriptions import Subscriptions

MOST_MARKED = 10_000
"""Items changed in one request."""
MOST_LABELS = 100
"""Folders of one subscription."""


class Acts:
    """What one server's readers do."""

    def __init__(self, context: Context, measures: Measures) -> None:
        self._context, self._store, self._measures = context, context.store, measures

    # -- subscriptions

    def quick_add(self, reader: Reader, given: Parameters) -> dict[str, object]:
        """Subscribe to one address; what cannot be is said in the answer."""
        text = given.first("quickadd").strip()
        address = text.removeprefix("feed/")
        try:
            (source,) = self._store.subscribe(reader.id, [self._wanted(address)], self._context.now())
        except (ParameterError, AskedWrongError) as error:
            return {"numResults": 0, "query": text[:1000], "error": str(error)}
        self._context.cached.forget()
        subscription = Subscriptions(self._store, reader).feed(str(source))
        name = subscription.title if subscription is not None else address
        return {"numResults": 1, "query": text[:1000], "streamId": f"feed/{source}", "streamName": name}

    def edit(self, reader: Reader, given: Parameters) -> None:
        """Subscribe, unsubscribe, or give subscriptions titles and folders."""
        act, names = given.first("ac"), given.all("s")
        if act not in ("subscribe", "unsubscribe", "edit"):
            raise AskedWrongError("ac must be subscribe, unsubscribe or edit")
        if not names:
            raise AskedWrongError("s must name a feed")
        added, removed = (self._labels(reader, given.all(name)) for name in ("a", "r"))
        titles = dict(zip(names, given.all("t"), strict=False))
        subscriptions = Subscriptions(self._store, reader)
        if act == "subscribe":
            self._subscribe(reader, subscriptions, names, titles, added)
            return
        chosen = {name: subscriptions.feed(self._feed(reader, name)) for name in names}
        lost = [name for name, each in chosen.items() if each is None]
        if lost:
            raise AskedWrongError(f"no subscription: {lost[0][:200]!r}", 404)
        found = [(name, each) for name, each in chosen.items() if each is not None]
        if act == "unsubscribe":
            self._store.unsubscribe(reader.id, [each.source for _, each in found])
            self._context.cached.forget()
            return
        self._store.edit_subscriptions(
            reader.id, [self._edited(each, titles.get(n, ""), added, removed) for n, each in found]
        )

    def _edited(self, each: Subscribed, title: str, added: Sequence[str], removed: Sequence[str]) -> Subscribed:
        labels = tuple(dict.fromkeys((*(label for label in each.labels if label not in removed), *added)))
        if len(labels) > MOST_LABELS:
            raise AskedWrongError(f"a subscription may be in {MOST_LABELS} folders")
        each.labels = labels
        each.title = clean(title, TITLE_CHARACTERS) or each.title
        return each

    def _subscribe(
        self,
        reader: Reader,
        subscriptions: Subscriptions,
        names: Sequence[str],
        titles: dict[str, str],
        labels: Sequence[str],
    ) -> None:
        wanted = []
        for name in names:
            feed = self._feed(reader, name)
            there = subscriptions.feed(feed)
            address = feed if there is None else there.url
            each = self._wanted(address, known=there is not None)
            each.title, each.labels = clean(titles.get(name, ""), TITLE_CHARACTERS), tuple(labels[:MOST_LABELS])
            wanted.append(each)
        self._store.subscribe(reader.id, wanted, self._context.now())
        self._context.cached.forget()

    def _wanted(self, address: str, known: bool = False) -> Wanted:
        if len(address) > editing.LONGEST_ADDRESS:
            raise AskedWrongError("the address is too long")
        if "://" not in address and "." not in address:
            raise AskedWrongError(f"not the address of a feed: {address[:200]!r}")
        url = address if known else editing.allowed(address, self._context.config)
        options = SourceOptions(content=True)  # who reads here wants all of it
        return Wanted(source=Source(url=url, added=self._context.now(), options=options))

    def _feed(self, reader: Reader, name: str) -> str:
        id = known(reader, name)
        if id.kind != "feed":
            raise AskedWrongError(f"s must name a feed, not {name[:200]!r}")
        return id.name

    def _labels(self, reader: Reader, names: Sequence[str]) -> list[str]:
        found = [known(reader, name) for name in names if name]
        if any(each.kind == "feed" for each in found):
            raise AskedWrongError("a and r must name labels")
        return [each.name for each in found if each.kind == "label"]

    def rename_label(self, reader: Reader, given: Parameters) -> None:
        """A folder, and the label on items, gets another name."""
        old, text = known(reader, given.first("s")), given.first("dest")
        new = known(reader, text) if "/" in text else StreamId("label", label_name(text))
        if old.kind != "label" or new.kind != "label" or not new.name:
            raise AskedWrongError("s and dest must name labels")
        self._relabel(reader, old.name, (new.name,))

    def drop_label(self, reader: Reader, given: Parameters) -> None:
        """Folders and labels are given up; what was in them stays."""
        texts = given.all("s") or given.all("t")
        old = [known(reader, text) if "/" in text else StreamId("label", label_name(text)) for text in texts]
        if not old or any(each.kind != "label" or not each.name for each in old):
            raise AskedWrongError("s must name labels")
        for each in old[:MOST_LABELS]:
            self._relabel(reader, each.name, ())

    def _relabel(self, reader: Reader, old: str, new: tuple[str, ...]) -> None:
        subscriptions = self._store.subscribed(reader.id)
        within = [each for each in subscriptions if old in each.labels]
        self._store.edit_subscriptions(reader.id, [self._edited(each, "", new, [old]) for each in within])
        items = self._store.stream(reader.id, Stream(label=old, limit=MOST_MARKED))
        for label in new:
            self._store.label_items(reader.id, items, label, given=True)
        self._store.label_items(reader.id, items, old, given=False)

    def take_list(self, reader: Reader, body: bytes) -> int:
        """Subscribe to all of an OPML list, its folders as labels; how many there are in it."""
        try:
            found = read_opml(body)
        except UnreadableError as error:
            raise AskedWrongError(str(error)) from error
        if found.cut:
            raise AskedWrongError("the list ends before its end, and nothing of it was taken")
        if len(found) > MOST_SUBSCRIPTIONS:
            raise AskedWrongError(f"the list has more than {MOST_SUBSCRIPTIONS:,} entries")
        wanted = []
        for entry in found:
            with suppress(ParameterError, AskedWrongError):
                each = self._wanted(entry.url)
                labels = tuple(filter(None, map(label_name, entry.tags)))
                each.title, each.labels = entry.title, labels
                wanted.append(each)
        self._store.subscribe(reader.id, wanted, self._context.now())
        self._context.cached.forget()
        return len(wanted)

    def written_list(self, reader: Reader) -> bytes:
        """What somebody reads, as OPML."""
        lines = self._store.subscribed(reader.id)
        sources = (Source(url=each.url, kind="feed", title=each.title, tags=each.labels) for each in lines)
        return write_opml(sources, title=f"Subscriptions of {reader.name}")

    # -- items

    def edit_tags(self, reader: Reader, given: Parameters) -> None:
        """Items are read, unread, starred, labelled, or not any more."""
        items = item_numbers(given.all("i"), MOST_MARKED)
        added, removed = ([known(reader, each) for each in given.all(name) if each] for name in ("a", "r"))
        if not (added or removed) or not (items or all(each.kind == "label" for each in (*added, *removed))):
            raise AskedWrongError("i must name items, and a or r what they get or lose")
        if not items:  # a program that makes an empty folder beforehand: it is there as soon as something is in it
            return
        states = {each.name for each in added if each.kind == "state"}
        lost = {each.name for each in removed if each.kind == "state"}
        if "read" in states:
            self._learn(interest.opened(reader, self._store.mark_read(reader.id, items, True), self._context.now()))
        elif "read" in lost or "kept-unread" in states:
            self._store.mark_read(reader.id, items, False)
        if "starred" in states:
            starred = self._store.star(reader.id, items, self._context.now())
            self._learn(interest.starred(reader, starred, self._context.now()))
        elif "starred" in lost:
            self._store.star(reader.id, items, None)
        for ids, on in ((added, True), (removed, False)):
            for each in ids:
                if each.kind == "label":
                    self._store.label_items(reader.id, items, each.name, given=on)

    def mark_all(self, reader: Reader, given: Parameters) -> None:
        """Everything in streams is read, as far as it was found by `ts`; nobody's interest is learned from that."""
        until = given.time("ts")
        until = self._context.now() if until is None else until + 1e-6  # millionths are cut off
        names = given.all("s")
        if not names:
            raise AskedWrongError("s must name a stream")
        subscriptions = Subscriptions(self._store, reader)
        for name in names:
            self._mark_stream(reader, subscriptions, known(reader, name), until)

    def _mark_stream(self, reader: Reader, subscriptions: Subscriptions, id: StreamId, until: float) -> None:
        within: list[int] | None = None
        items = Stream(read=False, until=until, limit=MOST_MARKED)
        if id.kind == "feed":
            feed = subscriptions.feed(id.name)
            within = [feed.source] if feed is not None else []
        elif id.kind == "label":
            within, items.label = subscriptions.in_label(id.name), id.name
        elif id.name == "starred":
            within, items.starred = [], True
        elif id.name != "reading-list":
            return
        if within is None or within:
            self._store.mark_all_read(reader.id, within, until)
        if items.label or items.starred:
            self._store.mark_read(reader.id, self._store.stream(reader.id, items), True)

    def _learn(self, clicks: list[Click]) -> None:
        # Whoever reads should not be kept by a store that cannot take in clicks.
        with suppress(StoreError):
            self._measures.clicks.inc(self._store.record_clicks(clicks))


def item_numbers(texts: Sequence[str], most: int) -> list[int]:
    """Items, each once; those that nobody could have are refused."""
    if len(texts) > most:
        raise AskedWrongError(f"i must name at most {most:,} items", 413)
    numbers = [item_number(each.strip()) for each in texts]
    if None in numbers:
        raise AskedWrongError(f"no item: {texts[numbers.index(None)][:100]!r}")
    return list(dict.fromkeys(number for number in numbers if number is not None))
