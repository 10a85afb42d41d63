"""The contract of stores, a protocol per role. The battery in `tests/contracts` holds every store to it.

Whoever needs one role asks for that; :class:`Store` is all of them. Calls are synchronous and thread-safe; the pipeline
makes them from one thread of its own. One program writes crawls at a time (`claim`); any number of programs may read,
and edit the catalogue, meanwhile. Errors are :class:`recrawl.errors.StoreError` with a message a person can act on.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, Unpack

from recrawl.store.reader_records import Reader, Reading, Stream, Subscribed, Unread, Wanted
from recrawl.store.records import (
    Added,
    Batch,
    Believed,
    Click,
    ClickTotals,
    Content,
    Crawl,
    Event,
    Hold,
    Item,
    ItemChoice,
    Keep,
    Lease,
    Price,
    Progress,
    Robots,
    Signal,
    Source,
    SourceChoice,
    SourceState,
    Subscription,
    Totals,
    Vacuumed,
    Version,
)


class Catalogue(Protocol):
    """The sources. Every edit of one has a revision, so that whoever follows the catalogue finds what changed."""

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        ...

    def source(self, target: int | str) -> Source | None:
        """By id or by exact URL."""
        ...

    def numbers(self, urls: Sequence[str]) -> dict[str, int]:
        """The ids of those that are there, by exact URL."""
        ...

    def sources(self, **choice: Unpack[SourceChoice]) -> list[Source]:
        """Those that match, by id unless another order is given."""
        ...

    def ids_in_order(
        self, order: str, *, state: SourceState | None = None, tag: str | None = None, text: str | None = None
    ) -> array[int]:
        """The ids of all that match, in an order: for whoever shows pages that are far from its beginning."""
        ...

    def with_progress(self, ids: Sequence[int]) -> list[tuple[Source, Progress]]:
        """Those of these that are there, each with what crawling it has led to, in any order."""
        ...

    def every_source(self) -> Iterator[Source]:
        """All, by id, a few thousand read at a time: one that is removed and added again meanwhile may come twice,
        under two ids, and what `removed` says after the revision before tells which is gone."""
        ...

    def count(
        self,
        *,
        state: SourceState | None = None,
        tag: str | None = None,
        text: str | None = None,
        never_fetched: bool = False,
    ) -> int:
        """How many match; with `never_fetched`, of those that have not answered so far."""
        ...

    def edit(self, sources: Sequence[Source]) -> None:
        """Replace lines of the catalogue (by id), giving each a new revision."""
        ...

    def remove(self, ids: Sequence[int]) -> int:
        """Forget sources and all that was found in them; how many there were."""
        ...

    def revision(self) -> int:
        """The largest revision given so far, removals included: unchanged means nothing was edited."""
        ...

    def removed(self, since_revision: int) -> list[int]:
        """Ids of the sources removed after a revision."""
        ...

    def tags(self, limit: int = 100) -> list[tuple[str, int]]:
        """Tags and how many sources have each, the most common first."""
        ...

    def believed(self) -> Believed:
        """What is believed of every active source."""
        ...


class CrawlLog(Protocol):
    """What crawling has led to. One program writes it at a time."""

    def claim(self, owner: str, now: float) -> None:
        """Become the one that crawls; StoreError naming the other if one is alive. Ended by `release` or by death."""
        ...

    def claimed(self) -> str | None:
        """Who is crawling now, in words; None if nobody is."""
        ...

    def release(self) -> None:
        """Give up the claim."""
        ...

    def progress(self, ids: Sequence[int] | None = None) -> Iterator[Progress]:
        """Of these sources, or of all, by id. Every source has one, from the moment it is added."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write it all, or nothing; durable against the death of the process when it returns.

        What belongs to a source that was removed meanwhile is left out. Of an update's `source`, only what a crawl
        can find out is written (kind, title, note, that it is retired, where it moved to unless its owner edited it
        since), so that its owner's edits stay. StoreFullError when there is no space left.
        """
        ...

    def shared(self) -> bytes | None:
        """The learner's record of the whole catalogue."""
        ...

    def holds(self, now: float) -> list[Hold]:
        """Those that still stand."""
        ...

    def robots(self, origin: str) -> Robots | None:
        """What is cached for an origin."""
        ...

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first."""
        ...

    def prices(self, since: float, limit: int = 2000) -> list[Price]:
        """Oldest first; the latest `limit` of them."""
        ...

    def totals(self, since: float) -> Totals:
        """Sums over the crawl log; refused crawls count as failed."""
        ...


class Items(Protocol):
    """What was found: items, and the versions of pages."""

    def items(self, **choice: Unpack[ItemChoice]) -> list[Item]:
        """Those that match, found last first unless another order is given."""
        ...

    def item(self, id: int) -> Item | None:
        """By id."""
        ...

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have."""
        ...

    def versions(self, source: int, limit: int = 20) -> list[Version]:
        """Latest first."""
        ...

    def watched_number(self, source: int) -> bytes | None:
        """The history of the number that is watched on its page; None if there is none."""
        ...

    def restless(self, source: int) -> bytes | None:
        """What is known of text on its page that changes at nearly every visit; None if nothing is."""
        ...

    def contents(self, items: Sequence[int]) -> dict[int, Content]:
        """What these items say in full, by number; of those of which it is kept."""
        ...

    def rendering(self, source: int) -> bytes | None:
        """What is known of its page in a browser; None if nothing is."""
        ...

    def screenshots(self, source: int) -> bytes | None:
        """How its page looked in its last two states; None if nobody knows."""
        ...

    def ask_for_article(self, item: int, at: float) -> None:
        """The page of an item is to be fetched for what it says in full."""
        ...

    def articles(self, now: float, limit: int) -> list[tuple[int, int]]:
        """Items whose pages are to be fetched now, the latest first, and how often that was tried."""
        ...

    def put_off_article(self, item: int, due: float) -> None:
        """It was tried in vain, and is to be tried again then."""
        ...

    def write_article(self, item: int, content: Content | None) -> None:
        """It was fetched: what it says takes the place of what was kept, unless it says nothing; it waits no more."""
        ...

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes; those whose version was dropped are left out."""
        ...


class Events(Protocol):
    """What outlets deliver, and how far each has got."""

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        """Those with a larger `seq`, in order."""
        ...

    def cursor(self, outlet: str) -> int:
        """The last `seq` an outlet has delivered; one never heard of is remembered from the last there is now."""
        ...

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        ...


class Clicks(Protocol):
    """What readers opened."""

    def record_clicks(self, clicks: Sequence[Click]) -> int:
        """Take in clicks; how many counted. Of one client on one item only `CLICKS_PER_CLIENT` do, and those on items
        that are gone do not."""
        ...

    def clicks(self, since_id: int = 0, limit: int = 1000) -> list[Click]:
        """Those with a larger id, in order."""
        ...

    def click_totals(self, source: int) -> ClickTotals:
        """Over all items of a source."""
        ...


class Signals(Protocol):
    """What others say has changed. Any program records it; the crawler learns from it, and `commit` takes it away."""

    def record_signals(self, signals: Sequence[Signal]) -> int:
        """Take in signals; how many counted: those of sources that are gone do not, and of those that wait for a
        proof no more than `UNPROVEN` and `PROOFS` allow. Of one source one waits per sender and proof, the latest."""
        ...

    def signals(self, limit: int = 1000, proof: str = "") -> list[Signal]:
        """Those that wait, oldest first; of those that need a proof, the ones with this."""
        ...

    def proofs(self, limit: int = 100) -> list[str]:
        """What signals wait for that need a proof."""
        ...

    def drop_unproven(self, before: float) -> None:
        """Let go of signals that came before a time and still need a proof."""
        ...


class Subscriptions(Protocol):
    """Who tells us of changes, and how far we have got with it. The crawler writes; the web page hears the answers."""

    def subscription(self, token: str) -> Subscription | None:
        """By its token."""
        ...

    def subscriptions(
        self, *, sources: Sequence[int] | None = None, due: float | None = None, limit: int | None = None
    ) -> list[Subscription]:
        """Those of some sources, or those due by a time, the longest due first; all if neither is given."""
        ...

    def write_subscriptions(self, subscriptions: Sequence[Subscription]) -> None:
        """New ones, or what the crawler knows better of old ones: all but `confirmed`, `until` and `delivered`."""
        ...

    def confirm_subscription(self, token: str, confirmed: float, until: float, due: float) -> None:
        """The hub has verified that it is meant."""
        ...

    def refuse_subscription(self, token: str, due: float, note: str) -> None:
        """The hub does not want to, and why."""
        ...

    def note_delivery(self, token: str, at: float) -> None:
        """Something signed came."""
        ...

    def forget_subscriptions(self, tokens: Sequence[str]) -> None:
        """They are over."""
        ...


class Readers(Protocol):
    """Who reads with programs of their own, what, and how far each has got. Nothing of one is seen by another."""

    def add_reader(self, reader: Reader) -> int:
        """Take in somebody; the id given. StoreError if the name is taken, or there are `MOST_READERS`."""
        ...

    def reader(self, name: str) -> Reader | None:
        """By name."""
        ...

    def readers(self) -> list[Reader]:
        """All, by name."""
        ...

    def change_password(self, reader: int, password: str, key: str) -> None:
        """Another password's hash, and another key: tokens given so far are worth nothing."""
        ...

    def remove_reader(self, reader: int) -> None:
        """Forget somebody and all they did; sources nobody else has go as with `unsubscribe`."""
        ...

    def subscribed(self, reader: int, sources: Sequence[int] | None = None) -> list[Subscribed]:
        """What somebody reads, by source; of these alone, if any are given."""
        ...

    def subscribe(self, reader: int, wanted: Sequence[Wanted], at: float) -> list[int]:
        """Subscribe, adding sources that are not there; the source of each. One that was subscribed to stays as it is,
        but for a title or labels that are given. StoreError, and nothing is done, past `MOST_SUBSCRIPTIONS`."""
        ...

    def edit_subscriptions(self, reader: int, changed: Sequence[Subscribed]) -> None:
        """Other titles and labels for subscriptions that are there."""
        ...

    def unsubscribe(self, reader: int, sources: Sequence[int]) -> None:
        """Give up sources. What a reader brought and nobody else has leaves the catalogue, or is paused if somebody has
        starred or labelled an item of it."""
        ...

    def stream(self, reader: int, wanted: Stream) -> list[int]:
        """Numbers of items, the largest first unless told otherwise: never one twice, whatever is found meanwhile."""
        ...

    def reading(self, reader: int, items: Sequence[int]) -> list[Reading]:
        """Those of these items somebody may see, by number: of their subscriptions, or starred or labelled by them."""
        ...

    def unread(self, reader: int) -> list[Unread]:
        """Of every subscription, by source."""
        ...

    def mark_read(self, reader: int, items: Sequence[int], read: bool) -> list[tuple[int, int]]:
        """Items of subscriptions are read, or unread again: (item, source) of those."""
        ...

    def mark_all_read(self, reader: int, sources: Sequence[int] | None, until: float) -> None:
        """Whatever was found by then in these subscriptions, or in all, is read."""
        ...

    def star(self, reader: int, items: Sequence[int], at: float | None) -> list[tuple[int, int]]:
        """Items are starred at a time, or not any more (None): (item, source). StoreError past `MOST_KEPT`."""
        ...

    def label_items(self, reader: int, items: Sequence[int], label: str, given: bool) -> None:
        """Items get a label, or lose it. StoreError past `MOST_KEPT` or `MOST_LABELS`."""
        ...

    def item_labels(self, reader: int) -> list[str]:
        """The labels somebody has on items, by name."""
        ...


class Notes(Protocol):
    """Small things that programs keep under a name."""

    def note(self, name: str) -> bytes | None:
        """What a program keeps under a name."""
        ...

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something small under a name, in place of what was there; None forgets it."""
        ...


class Store(Catalogue, CrawlLog, Items, Events, Clicks, Signals, Subscriptions, Readers, Notes, Protocol):
    """All of it."""

    def vacuum(self, keep: Keep, now: float, stop: Callable[[], bool] = ...) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known.

        Others may write meanwhile. `stop` is asked now and then whether to leave it at that.
        """
        ...

    def close(self) -> None:
        """Done with it."""
        ...


class Leases(Protocol):
    """Who may write for a part of a store. Every scope has an epoch, which grows when its owner changes."""

    def lease(self, scopes: Iterable[str], owner: str, seconds: float) -> Mapping[str, int]:
        """Become the owner of those scopes nobody owns now, for a time by the store's clock: their epochs.

        StoreError while the whole store is claimed.
        """
        ...

    def renew(self, epochs: Mapping[str, int], seconds: float) -> set[str]:
        """Stay the owner for so long from now: the scopes that did not pass to another meanwhile."""
        ...

    def let_go(self, epochs: Mapping[str, int]) -> None:
        """Give up leases before their time."""
        ...

    def leases(self, prefix: str) -> Sequence[Lease]:
        """Who owns scopes that begin so, or did last."""
        ...


class Buckets(Protocol):
    """The parts of the catalogue that writers share out among themselves."""

    def unplaced(self, limit: int) -> list[tuple[int, str]]:
        """Sources without a bucket: (id, URL), by id."""
        ...

    def place(self, placed: Sequence[tuple[int, str, int]]) -> None:
        """Give each (id, URL, bucket) its bucket and a new revision.

        One that has a bucket, or another URL by now than the bucket was found from, is left as it is.
        """
        ...
