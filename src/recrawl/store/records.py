"""What a store keeps, and what it answers with.

Longer than other modules: all records stand together, as their tables do in the schema, and most lines say what a
field means.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal, TypedDict

import msgspec

from recrawl.config import Discovery, Retention, SourceOptions
from recrawl.store.source_terms import Defaults, EffectiveOptions

SourceKind = Literal["auto", "feed", "sitemap", "page", "key"]
SourceState = Literal["active", "paused", "retired"]
ItemKind = Literal["item", "change"]
ItemOrder = Literal["newest", "relevance", "found"]
Outcome = Literal["new", "changed", "unchanged", "first", "failed", "refused"]
"""Of a crawl: brought new items, a page changed, nothing new, the baseline of a source, no usable answer, robots."""


class SourceChoice(TypedDict, total=False):
    """Which sources are asked for: those that match all that is given.

    Parameters
        text: looked for in URL and title
        since_revision: edited after it
        order: id, url, title, importance, added, last, due, value or failures, with a leading `-` for descending;
            what is not known comes last either way
    """

    ids: Sequence[int] | None
    state: SourceState | None
    tag: str | None
    text: str | None
    since_revision: int
    order: str
    limit: int | None
    offset: int


class ItemChoice(TypedDict, total=False):
    """Which items are asked for: those that match all that is given, 100 unless told.

    Parameters
        since, until: seen in [since, until), Unix seconds
        text: a full-text search in which every word must occur (`word*`: as a beginning); no input is a syntax error
        order: "found", by first sight (what was written last first where that is the same); "newest", by publication,
            first sight where that is not known; with `text` also "relevance", among the thousands found last
    """

    source: int | None
    tag: str | None
    since: float | None
    until: float | None
    kind: ItemKind | None
    text: str | None
    order: ItemOrder
    limit: int
    offset: int


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
        found_on: its site (registrable domain) if it was found in a list (an index, or one that is followed); empty if
            somebody added it
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

    def terms(self, defaults: Defaults) -> EffectiveOptions:
        """What counts for it: its own words, else its tags', else the settings'."""
        return defaults.terms(self)


class Progress(msgspec.Struct, kw_only=True):
    """What crawling a source has led to: all that is needed to go on with it after a restart.

    Parameters
        last: Unix seconds of the last crawl that brought an answer; None before the first
        visits: how many such crawls
        failures: failed crawls in a row
        held_until, held_by: not before, and why, in words; 0 if nothing holds it
        held_cause, held_under: the same in a word, and a fingerprint of the settings that rests on (`hold_causes`)
        etag, modified: what the server said, for conditional requests
        digest: of a page
        listing: the items listed last time, eight bytes each (`item_key`); of a page, the watched pages that it linked
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

    @property
    def is_tried(self) -> bool:
        """Whether it was crawled, or that was tried."""
        return bool(self.visits or self.failures)

    def is_held(self, now: float) -> bool:
        """Whether what its last visit led to keeps it from being fetched."""
        return self.held_until > now

    def clear_hold(self) -> None:
        """Nothing holds it: neither a time nor a reason is left."""
        self.held_until, self.held_by, self.held_cause, self.held_under = 0.0, "", "", ""

    def end_hold(self, now: float) -> None:
        """A hold is over, and its failures are forgotten; if it was due when the hold ended, it is due now."""
        if self.due <= self.held_until:
            self.due = now
        self.clear_hold()
        self.failures = 0


class Crawl(msgspec.Struct, kw_only=True, gc=False):
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


class Item(msgspec.Struct, kw_only=True, gc=False):
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


class Content(msgspec.Struct):
    """Who wrote an item, and what it says in full: sanitised HTML, compressed (`crawl.reading.content`)."""

    author: str = ""
    record: bytes = b""


class Mark(msgspec.Struct):
    """What a rule of the owner's puts on a new item, by its key, for everybody who reads its source."""

    key: int
    starred: bool = False
    labels: tuple[str, ...] = ()


class Version(msgspec.Struct, kw_only=True):
    """One state of a page: its text and a unified diff from the one before (empty for the first).

    `note` says, of a state that is no change, why it was kept: what is compared was changed by the page's owner, or all
    that differs changes at nearly every visit.
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
        cause, under: in a word, and a fingerprint of the settings that rests on (`crawl.hold_causes`)
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


class Event(msgspec.Struct, kw_only=True, gc=False):
    """Something to deliver, in the order committed; `seq` is given by the store, `body` is a JSON object."""

    seq: int = 0
    at: float
    body: bytes


CLICKS_PER_CLIENT = 1
"""Clicks of one client on one item that count."""


SEARCHER = "search:"


class Click(msgspec.Struct, kw_only=True):
    """Somebody opened an item.

    Parameters
        id, source: given by the store
        at: Unix seconds
        client: a name that says nothing of who it was; empty for counts somebody else vouches for, which have no cap.
            One that begins with `SEARCHER` did not open the item, but was shown it by a search
        count: how often
    """

    id: int = 0
    item: int
    source: int = 0
    at: float
    client: str = ""
    count: int = 1


class ClickTotals(msgspec.Struct, kw_only=True):
    """Clicks on the items of a source: how many, on how many items, and the latest, Unix seconds.

    `searches` is how often searches showed one of its items among the first.
    """

    clicks: int = 0
    items: int = 0
    last: float | None = None
    searches: int = 0


SignalSource = Literal["websub", "indexnow", "told"]
"""Who says that a source has changed: a hub, its own site, or a program of the owner's."""
UNPROVEN, UNPROVEN_PER_SITE = 100_000, 20_000
"""Signals that may wait for a proof, in all and of one site."""
PROOFS, PROOFS_PER_SITE = 100, 8
"""What they may wait for, in all and of one site."""


class Signal(msgspec.Struct, kw_only=True):
    """Somebody says that a source has changed. It waits until the crawler has learned from it.

    Parameters
        id: given by the store
        at: when the change is said to have happened, Unix seconds
        came: when that was heard
        proof: the file that has to be seen first (`recrawl.crawl.push.index_now`); empty for none
    """

    id: int = 0
    source: int
    at: float
    came: float
    by: SignalSource = "told"
    proof: str = ""


class Subscription(msgspec.Struct, kw_only=True):
    """One source's subscription at a hub. Times in Unix seconds, 0 for never.

    The crawler asks (`write_subscriptions`); the web page hears what the hub answers (`confirm_subscription`).

    Parameters
        token: by which the hub calls us; nobody else knows it
        secret: with which the hub signs what it sends
        mode: what is wanted of the hub
        asked: when it was asked last, and how often since its last answer (`tries`)
        confirmed: when the hub last verified that it is meant
        until: when the lease ends
        due: when to ask the hub again
        delivered: when something signed came last
        note: what went wrong last, in words
    """

    token: str
    source: int
    hub: str
    topic: str
    secret: str
    mode: Literal["subscribe", "unsubscribe"] = "subscribe"
    asked: float = 0.0
    tries: int = 0
    confirmed: float = 0.0
    until: float = 0.0
    due: float = 0.0
    delivered: float = 0.0
    note: str = ""


class Lease(msgspec.Struct):
    """Who owns a scope, or did last, under which epoch, and for how many seconds more; none or less: it has run out."""

    scope: str
    epoch: int
    owner: str
    left_s: float


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


class VisitUpdate(msgspec.Struct, kw_only=True):
    """Everything one crawl leads to. Committed whole or not at all."""

    crawl: Crawl
    progress: Progress
    items: list[Item] = []
    version: Version | None = None
    restless: bytes | None = None
    """What is known now of text on its page that changes at nearly every visit; None: nothing was learned."""
    numbers: bytes | None = None
    """The history of the number that is watched on its page; None: it has not changed."""
    contents: dict[int, Content] = {}
    """What new items say in full, by their keys; not those whose content nobody wants."""
    marks: list[Mark] = []
    articles: list[int] = []
    """Keys of new items whose pages are to be fetched for what they say in full."""
    blocked: list[int] = []
    """Keys of items that the owner does not want: they count as known while they are listed."""
    rendering: bytes | None = None
    """What is known now of its page in a browser; None: nothing was learned."""
    screenshots: bytes | None = None
    """How its page looked in its last two states; None: that is as it was."""
    source: Source | None = None
    """The catalogue's line where the crawl changes it: kind detected, title, moved, retired, note."""
    children: list[Source] = []
    """Sources it led to: the sitemaps of an index, the pages of a list that is followed. Those that would be over a
    bound of the batch are left out."""
    events: list[Event] = []


class Batch(msgspec.Struct, kw_only=True):
    """What is written in one transaction."""

    updates: list[VisitUpdate] = []
    items: list[Item] = []
    events: list[Event] = []
    """Found by a crawl with very many items, ahead of its update; one event per item. Those of sources that were
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
    heard: list[Signal] = []
    """Signals that were learned from: they wait no longer."""


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
    contents: int = 0
    before: int = 0
    after: int = 0


class Keep(msgspec.Struct, kw_only=True):
    """How much to keep: ages in seconds, versions per page, bytes of the whole store, bytes of what items say in full;
    0 bytes for no bound."""

    items: float
    crawls: float
    prices: float
    versions: int
    size: int = 0
    content: int = 0

    @classmethod
    def of(cls, retention: Retention) -> Keep:
        """As the settings say."""
        return cls(
            items=retention.items_s,
            crawls=retention.crawls_s,
            prices=retention.prices_s,
            versions=retention.versions,
            size=retention.size_bytes,
            content=retention.content_bytes,
        )


FLEET_RECORDS = "fleet/shared/"
"""Names of the notes that hold each writer's record of its part of the catalogue, where there are several."""


_EIGHT_BYTES = blake2b(digest_size=8)
"""Copied for each key, which takes half as long as a new one."""


def item_key(key: str) -> int:
    """Eight bytes of a digest of an item's key, as a signed integer: what stores and listings compare.

    >>> item_key("https://a.example/1") == item_key("https://a.example/1") != item_key("https://a.example/2")
    True
    """
    return item_keys((key,))[0]


def item_keys(keys: Iterable[str]) -> list[int]:
    """`item_key` of each."""
    new, digests = _EIGHT_BYTES.copy, []
    for key in keys:
        digest = new()
        digest.update(key.encode("utf-8", "replace"))
        digests.append(digest.digest())
    return keys_in(b"".join(digests))


def packed(keys: Iterable[int]) -> bytes:
    """Item keys as the `listing` of a `Progress`: eight bytes each, most significant first.

    >>> keys_in(packed([3, -1])) == [3, -1]
    True
    """
    given = [*keys]
    return struct.pack(f">{len(given)}q", *given)


def keys_in(listing: bytes) -> list[int]:
    """The item keys in a listing; a broken last one is left out."""
    return [*struct.unpack_from(f">{len(listing) // 8}q", listing)]
