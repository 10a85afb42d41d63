"""What a store keeps, and the contract every store fulfils. The battery in `tests/contracts` holds each one to it.

Calls are synchronous and thread-safe; the pipeline makes them from one thread of its own. One program writes crawls at
a time (`claim`); any number of programs may read, and edit the catalogue, meanwhile.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from recrawl.config import Discovery, Retention, SourceOptions

SourceKind = Literal["auto", "feed", "sitemap", "page", "key"]
SourceState = Literal["active", "paused", "retired"]
ItemKind = Literal["item", "change"]
Outcome = Literal["new", "changed", "unchanged", "first", "failed", "refused"]
"""Of a crawl: brought new items, a page changed, nothing new, the baseline of a source, no usable answer, robots."""


class Source(msgspec.Struct, kw_only=True):
    """One line of the catalogue: what its owner said about it. Times in seconds; None means the settings' default.

    Parameters
        id: given by the store, from 1, never used again
        url: normalised; unique. For sources of one's own fetcher (kind "key"), any text
        headers: sent to the source's own origin only
        select: CSS selector of what is compared on a page
        state: active; paused by its owner; retired because it is gone
        note: what happened to it that its owner should know ("gone since …", "moved from …", "advertises a feed: …")
        added: Unix seconds
        wanted: when its owner last asked for a crawl at once, Unix seconds; 0 for never
        memo: what a fetcher of one's own (kind "key") wants to remember about it, in its own words
        options: what else its owner said of it
        found_on: the site (registrable domain) in whose sitemap index it was found; empty if somebody added it
        revision: grows with every edit of the catalogue, so that a running crawler finds what changed
    """

    id: int = 0
    url: str
    kind: SourceKind = "auto"
    title: str = ""
    importance: float = 1.0
    half_life: float | None = None
    max_age: float | None = None
    cost: float = 1.0
    tags: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    select: str = ""
    state: SourceState = "active"
    note: str = ""
    added: float = 0.0
    wanted: float = 0.0
    memo: str = ""
    found_on: str = ""
    options: SourceOptions = SourceOptions()
    revision: int = 0


class Progress(msgspec.Struct, kw_only=True):
    """What crawling a source has led to: all that is needed to go on with it after a restart.

    Parameters
        last: Unix seconds of the last crawl that brought an answer; None before the first
        visits: how many such crawls
        failures: failed crawls in a row
        held_until, held_by: not before, and why, in words; 0 if nothing holds it
        held_cause, held_under: the same in a word, and a fingerprint of the settings that rests on (`crawl.causes`)
        etag, modified: what the server said, for conditional requests
        digest: of a page
        listing: the items listed last time, eight bytes each (`item_key`)
        moved_to, moved_seen: where permanent redirects point, and how often in a row
        value, value_sd, rate, rate_sd: beliefs in interest and per second, importance not included; NaN before any
        due: when its index meets the price, Unix seconds; inf for never at this price
        captured: interest captured so far
        belief: the learner's own record of it
    """

    source: int
    last: float | None = None
    visits: int = 0
    failures: int = 0
    held_until: float = 0.0
    held_by: str = ""
    etag: str = ""
    modified: str = ""
    digest: str = ""
    listing: bytes = b""
    moved_to: str = ""
    moved_seen: int = 0
    value: float = float("nan")
    value_sd: float = float("nan")
    rate: float = float("nan")
    rate_sd: float = float("nan")
    due: float = float("nan")
    captured: float = 0.0
    belief: bytes = b""
    held_cause: str = ""
    held_under: str = ""


class Crawl(msgspec.Struct, kw_only=True):
    """One line of the crawl log.

    Parameters
        requests: every request sent for it, robots.txt and redirects included
        new: items not seen before
        censored: items that came and went between two crawls are suspected: nothing listed was known from last time
        captured: interest captured, 0 on a first visit
        index, price: when it was chosen
        value, value_sd, rate, rate_sd: what was believed after it, as in `Progress`
        error: why it failed or was refused, in words
    """

    source: int
    at: float
    outcome: Outcome
    status: int = 0
    requests: int = 1
    size: int = 0
    elapsed_s: float = 0.0
    new: int = 0
    censored: bool = False
    captured: float = 0.0
    index: float = float("nan")
    price: float = float("nan")
    value: float = float("nan")
    value_sd: float = float("nan")
    rate: float = float("nan")
    rate_sd: float = float("nan")
    error: str = ""


class Item(msgspec.Struct, kw_only=True):
    """Something found: an item of a feed, an URL of a sitemap, or a change of a page.

    Parameters
        id: given by the store; grows in the order in which things were found
        key: eight bytes as an integer (`item_key`); (source, key) is unique
        summary: of a change, the lines that are new; what else differs is told by the version of that moment (`diffs`)
        published: None where the publisher does not say
    """

    id: int = 0
    source: int
    key: int
    title: str = ""
    link: str = ""
    summary: str = ""
    published: float | None = None
    first_seen: float = 0.0
    kind: ItemKind = "item"


class Version(msgspec.Struct, kw_only=True):
    """One state of a page: its text and a unified diff from the one before (empty for the first).

    `note` says, of a state that is no change, why it was kept: what is compared was changed by the page's owner.
    """

    id: int = 0
    source: int
    at: float
    digest: str
    text: str = ""
    diff: str = ""
    note: str = ""


class Hold(msgspec.Struct, kw_only=True):
    """A host (or URL, or domain: the scope) that is not to be visited before a time, and why.

    Parameters
        reason: in words
        cause, under: in a word, and a fingerprint of the settings that rests on (`crawl.causes`)
    """

    host: str
    until: float
    reason: str = ""
    failures: int = 0
    cause: str = ""
    under: str = ""


class Robots(msgspec.Struct, kw_only=True):
    """A robots.txt as last seen. `good` is the last usable text, kept for when the server fails."""

    origin: str
    fetched: float
    status: int
    body: str = ""
    expires: float = 0.0
    good: str | None = None


class Price(msgspec.Struct, kw_only=True):
    """The economy of one stretch of time ending at `at`: price, what could be and was spent, and what it brought."""

    at: float
    price: float
    budget: float
    requests: int
    captured: float
    errors: int = 0


class Event(msgspec.Struct, kw_only=True):
    """Something to hand on, in the order committed; `seq` is given by the store, `body` is a JSON object."""

    seq: int = 0
    at: float
    body: bytes


CLICKS_PER_CLIENT = 1
"""Clicks of one client on one item that count."""


class Click(msgspec.Struct, kw_only=True):
    """Somebody opened an item.

    Parameters
        id, source: given by the store
        at: Unix seconds
        client: a name that says nothing of who it was; empty for counts somebody else vouches for, which have no cap
        count: how often
    """

    id: int = 0
    item: int
    source: int = 0
    at: float
    client: str = ""
    count: int = 1


class ClickTotals(msgspec.Struct, kw_only=True):
    """Clicks on the items of a source: how many, on how many items, and the latest, Unix seconds."""

    clicks: int = 0
    items: int = 0
    last: float | None = None


class Believed(msgspec.Struct, kw_only=True, eq=False):
    """What is believed of every active source, as arrays by id; NaN where nothing is known or was given."""

    ids: array[int]
    importance: array[float]
    cost: array[float]
    half_life: array[float]
    max_age: array[float]
    value: array[float]
    rate: array[float]
    last: array[float]


class Settlement(msgspec.Struct, kw_only=True):
    """Everything one crawl leads to. Committed whole or not at all."""

    crawl: Crawl
    progress: Progress
    items: list[Item] = []
    version: Version | None = None
    source: Source | None = None
    """The catalogue's line where the crawl changes it: kind detected, title, moved, retired, note."""
    children: list[Source] = []
    """Sources it led to: the sitemaps of an index. Those that would be over a bound of the batch are left out."""
    events: list[Event] = []


class Batch(msgspec.Struct, kw_only=True):
    """What is written in one transaction."""

    settlements: list[Settlement] = []
    items: list[Item] = []
    events: list[Event] = []
    """Found by a crawl with very many items, ahead of its settlement; one event per item. Those of sources that were
    removed meanwhile are left out."""
    progress: list[Progress] = []
    """Of sources not crawled now: a new due time, a hold."""
    holds: list[Hold] = []
    robots: list[Robots] = []
    price: Price | None = None
    shared: bytes | None = None
    """The learner's record of the whole catalogue (priors, pooled profiles)."""
    discovery: Discovery = Discovery()
    """How many sources may be found."""


class Added(msgspec.Struct, frozen=True):
    """What became of one line given to `add`: the id it has, and whether it was there already."""

    id: int
    new: bool


class Totals(msgspec.Struct, kw_only=True):
    """Sums over the crawl log since a time: new items, changes of pages, crawls without a usable answer."""

    crawls: int = 0
    requests: int = 0
    new: int = 0
    changed: int = 0
    failed: int = 0
    captured: float = 0.0


class Vacuumed(msgspec.Struct, kw_only=True):
    """What retention removed, in rows, and the size of the store before and after, in bytes."""

    items: int = 0
    crawls: int = 0
    prices: int = 0
    versions: int = 0
    events: int = 0
    before: int = 0
    after: int = 0


class Keep(msgspec.Struct, kw_only=True):
    """How much to keep: ages in seconds, versions per page, bytes of the whole store (0: no bound)."""

    items: float
    crawls: float
    prices: float
    versions: int
    size: int = 0

    @classmethod
    def of(cls, retention: Retention) -> Keep:
        """As the settings say."""
        return cls(
            items=retention.items_s,
            crawls=retention.crawls_s,
            prices=retention.prices_s,
            versions=retention.versions,
            size=retention.size_bytes,
        )


class Store(Protocol):
    """The contract. Errors are :class:`recrawl.errors.StoreError` with a message a person can act on."""

    # -- the catalogue

    def add(self, sources: Sequence[Source]) -> list[Added]:
        """Take in sources by URL; one that is there already is left as it is."""
        ...

    def source(self, target: int | str) -> Source | None:
        """By id or by exact URL."""
        ...

    def sources(
        self,
        *,
        ids: Sequence[int] | None = None,
        state: SourceState | None = None,
        tag: str | None = None,
        text: str | None = None,
        since_revision: int = 0,
        order: str = "id",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Source]:
        """Those that match all that is given; `text` is looked for in URL and title; `order` is one of
        id, url, title, importance, added, last, due, value, failures, with a leading `-` for descending; what is not
        known comes last either way."""
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

    # -- crawling

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

    def unseen(self, listed: Sequence[tuple[int, Sequence[int]]]) -> list[set[int]]:
        """Per (source, item keys): those keys the store does not have."""
        ...

    def commit(self, batch: Batch) -> None:
        """Write it all, or nothing; durable against the death of the process when it returns.

        What belongs to a source that was removed meanwhile is left out. Of a settlement's `source`, only what a crawl
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

    # -- looking

    def items(
        self,
        *,
        source: int | None = None,
        tag: str | None = None,
        since: float | None = None,
        until: float | None = None,
        kind: ItemKind | None = None,
        text: str | None = None,
        order: Literal["newest", "relevance", "found"] = "found",
        limit: int = 100,
        offset: int = 0,
    ) -> list[Item]:
        """Newest first by first sight ("found"; what was written last first where that is the same) or publication
        ("newest", first sight where it is not known), seen in [since, until). `text` is a full-text search in which
        every word must occur (`word*`: as a beginning) and no input is a syntax error: found last first, or by
        relevance among the thousands found last."""
        ...

    def item(self, id: int) -> Item | None:
        """By id."""
        ...

    def crawls(self, *, source: int | None = None, since: float | None = None, limit: int = 100) -> list[Crawl]:
        """Latest first."""
        ...

    def versions(self, source: int, limit: int = 20) -> list[Version]:
        """Latest first."""
        ...

    def diffs(self, changes: Sequence[Item]) -> dict[int, str]:
        """What differed, by the id of each of these changes; those whose version was dropped are left out."""
        ...

    def prices(self, since: float, limit: int = 2000) -> list[Price]:
        """Oldest first; the latest `limit` of them."""
        ...

    def totals(self, since: float) -> Totals:
        """Sums over the crawl log; refused crawls count as failed."""
        ...

    def tags(self, limit: int = 100) -> list[tuple[str, int]]:
        """Tags and how many sources have each, the most common first."""
        ...

    def believed(self) -> Believed:
        """What is believed of every active source."""
        ...

    # -- feedback

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

    # -- handing on

    def events(self, after: int, limit: int = 1000) -> list[Event]:
        """Those with a larger `seq`, in order."""
        ...

    def cursor(self, outlet: str) -> int:
        """The last `seq` an outlet has delivered; one never heard of is remembered from the last there is now."""
        ...

    def advance(self, outlet: str, seq: int) -> None:
        """An outlet has delivered everything up to here."""
        ...

    # -- keeping house

    def note(self, name: str) -> bytes | None:
        """What a program keeps under a name."""
        ...

    def write_note(self, name: str, text: bytes | None) -> None:
        """Keep something small under a name, in place of what was there; None forgets it."""
        ...

    def vacuum(self, keep: Keep, now: float) -> Vacuumed:
        """Drop what is past its time, and give the space back. Items of the last listing of a source stay known."""
        ...

    def close(self) -> None:
        """Done with it."""
        ...


FLEET_RECORDS = "fleet/shared/"
"""Names of the notes that hold each writer's record of its part of the catalogue, where there are several."""


def item_key(key: str) -> int:
    """Eight bytes of a digest of an item's key, as a signed integer: what stores and listings compare.

    >>> item_key("https://a.example/1") == item_key("https://a.example/1") != item_key("https://a.example/2")
    True
    """
    from hashlib import blake2b

    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def packed(keys: Iterable[int]) -> bytes:
    """Item keys as the `listing` of a `Progress`: eight bytes each, most significant first.

    >>> keys_in(packed([3, -1])) == [3, -1]
    True
    """
    return _swapped(array("q", keys)).tobytes()


def keys_in(listing: bytes) -> list[int]:
    """The item keys in a listing; a broken last one is left out."""
    return _swapped(array("q", listing[: len(listing) // 8 * 8])).tolist()


def _swapped(keys: array[int]) -> array[int]:
    """Between this machine's order of bytes and the stored one."""
    if sys.byteorder == "little":
        keys.byteswap()
    return keys
