"""What goes in and out, as OpenAPI describes it. Times are Unix seconds, spans seconds, rates per second; a number that
nobody knows, or that is infinite, is null.

All of it stands in one file, which is long for that: it is one contract, read from top to bottom beside `openapi.json`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from recrawl.cluster.status import FleetStatus
from recrawl.crawl.explaining.explanation import Explanation
from recrawl.crawl_state import SourceStatus
from recrawl.store.records import ItemKind
from recrawl.web.formatting import http_link
from recrawl.web.views.latest import FoundLine

Identity = Annotated[int, Field(ge=1, le=2**63 - 1)]
Moment = Annotated[float, Field(ge=0.0, le=1e11, allow_inf_nan=False)]
Span = Annotated[str, Field(max_length=30)] | Annotated[float, Field(gt=0.0, le=1e9, allow_inf_nan=False)]


Wait = Annotated[str, Field(max_length=30)] | Annotated[float, Field(ge=0.0, le=1e9, allow_inf_nan=False)]


Several = Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=50)]


def finite(value: float | None) -> float | None:
    """The number, or None where JSON has none."""
    return value if value is not None and math.isfinite(value) else None


class Record(BaseModel):
    """Base of all: nothing that is not described is taken."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @classmethod
    def from_records(cls, *records: object, **given: Any) -> Self:
        """Each field as given by name, or from the first record that has one of that name or of that name in seconds.

        Numbers that JSON does not have become null.
        """
        found = {name: given[name] if name in given else _field(name, records) for name in cls.model_fields}
        return cls(**{name: finite(value) if isinstance(value, float) else value for name, value in found.items()})


def _field(name: str, records: tuple[object, ...]) -> Any:
    names = (name, f"{name}_s", f"{name}_per_s")
    return next(getattr(record, each) for record in records for each in names if hasattr(record, each))


class Trouble(Record):
    """What went wrong."""

    status: int
    detail: str


class Problem(Record):
    """Every answer that is no success."""

    error: Trouble


class SourceTerms(Record):
    """What can be said about a source; what is left out stays as it is, null means the settings' default."""

    importance: Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)] | None = None
    half_life: Span | None = None
    max_age: Span | None = None
    cost: Annotated[float, Field(ge=1e-9, le=1e9, allow_inf_nan=False)] | None = None
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)] | None = None
    kind: Literal["auto", "feed", "sitemap", "page"] | None = None
    select: Annotated[str, Field(max_length=500)] | None = None
    digest: Literal["text", "raw"] | None = None
    ignore: Several | None = None
    ignore_text: Several | None = None
    keep: Several | None = None
    keep_text: Several | None = None
    number: Annotated[str, Field(max_length=500)] | None = None
    when: Several | None = None
    render: Literal["auto", "browser", "never"] | None = None
    steps: Several | None = None
    ignore_noise: bool | None = None
    restless: bool | None = None
    robots: bool | None = None
    hints: bool | None = None
    interval: Span | None = None
    active_hours: Several | None = None
    notify: bool | None = None
    notify_to: Several | None = None
    follow: bool | None = None
    content: bool | None = None
    articles: bool | None = None
    index_delay: Wait | None = None
    index_batch: Wait | None = None

    def said(self) -> dict[str, Any]:
        """What was given."""
        given = self.model_dump(exclude_unset=True, exclude={"url"})
        needed = ("importance", "cost", "tags", "kind")
        return {name: value for name, value in given.items() if not (name in needed and value is None)}


class NewSource(SourceTerms):
    """A source to add."""

    url: Annotated[str, Field(min_length=1, max_length=4096)]


class SourceOut(Record):
    """A source, with what is believed and planned. Headers are never told."""

    id: int
    url: str
    title: str
    kind: str
    state: str
    health: str
    note: str
    tags: list[str]
    importance: float | None
    cost: float | None
    half_life: float | None
    max_age: float | None
    select: str
    options: dict[str, Any]
    added: float | None
    last: float | None
    due: float | None
    visits: int
    failures: int
    value: float | None
    value_low: float | None
    value_high: float | None
    rate: float | None
    pace_per_day: float | None
    index: float | None
    cadence: float | None
    captured: float | None

    @classmethod
    def of(cls, each: SourceStatus) -> Self:
        """A source as JSON."""
        tags, options = list(each.source.tags), msgspec.to_builtins(each.source.options)
        return cls.from_records(each, each.found, each.source, tags=tags, options=options)


class SourcesOut(Record):
    """One page of sources; `total` match."""

    total: int
    page: int
    pages: int
    sources: list[SourceOut]


class AddedOut(Record):
    """What became of a source given: its id, and whether it is new."""

    id: int
    new: bool


class ImportedOut(Record):
    """What became of a list; of the lines that were refused the first thousand, and how many more there were."""

    added: int
    known: int
    refused: list[str]
    refused_more: int = 0


class ItemOut(Record):
    """An item, or a change of a page; `link` is empty if it is not http or https.

    The title of a change is its page's, its `summary` the lines that are new.
    """

    id: int
    kind: ItemKind
    source: int
    source_title: str
    title: str
    link: str
    summary: str
    published: float | None
    first_seen: float | None
    worth: float | None

    @classmethod
    def of(cls, entry: FoundLine) -> Self:
        """An entry as JSON."""
        link = http_link(entry.item.link) or ""
        return cls.from_records(entry.item, entry, source_title=entry.source.title, link=link)


class ItemsOut(Record):
    """One page of items; `more` if there is another."""

    page: int
    more: bool
    items: list[ItemOut]


class ChangeOut(Record):
    """A change of a page: `added` are the lines that are new, `diff` is empty once the version was dropped."""

    id: int
    source: int
    source_url: str
    source_title: str
    at: float | None
    added: str
    diff: str

    @classmethod
    def of(cls, entry: FoundLine) -> Self:
        """An entry as JSON."""
        item, page = entry.item, entry.source
        page_fields = {"source": page.id, "source_url": page.url, "source_title": page.title}
        return cls.from_records(item, at=item.first_seen, added=item.summary, diff=entry.diff, **page_fields)


class ChangesOut(Record):
    """One page of changes; `more` if there is another."""

    page: int
    more: bool
    changes: list[ChangeOut]


class CrawlOut(Record):
    """One line of the crawl log."""

    at: float | None
    outcome: str
    status: int
    requests: int
    size: int
    elapsed: float | None
    new: int
    captured: float | None
    index: float | None
    price: float | None
    value: float | None
    value_sd: float | None
    error: str


class VersionOut(Record):
    """One state of a page; the note says why it was kept if it is no change."""

    at: float | None
    digest: str
    diff: str
    note: str = ""


class PointOut(Record):
    """What a number was from a time on."""

    at: float | None
    value: float | None


class NumbersOut(Record):
    """The history of the number that is watched on a page, oldest first: where it became another one."""

    name: str
    unit: str
    points: list[PointOut]


class HeldOut(Record):
    """What keeps a source from being fetched; null: until somebody acts."""

    until: float | None
    reason: str


class AsListOut(Record):
    """What a source is as a list of watched pages: how far what it says is believed, and what a fetch would bring."""

    trust: float | None
    right: float | None
    tells: float | None
    pages: int
    dated: int
    signals: float | None
    waiting: int
    judged_by: float | None
    news: float | None
    worth: float | None
    words: str


class NamedByOut(Record):
    """What lists and pushes have said of a source; `source` is null for the pushes of its site."""

    source: int | None
    name: str
    stated: float | None
    signalled: float | None
    signals: int
    chance: float | None
    told: float | None
    right: float | None
    words: str


class RestlessOut(Record):
    """Text of a page of which no notice is taken, because it changes at nearly every visit: what it said last."""

    text: str
    share: float | None
    changes: int
    soonest: float | None
    words: str


class PageRenderingOut(Record):
    """Of a page that a browser shows: since when, why, and what one visit takes."""

    since: float
    why: str
    seconds: float
    cpu_s: float
    plain_s: float
    measured_cost: float
    requests: int
    refused: int
    refusals: list[str]
    received: int
    memory: int
    words: str


class ExplanationOut(Record):
    """Why a source is fetched when it is."""

    id: int
    url: str
    why: str
    importance: float | None
    cost: float | None
    half_life: float | None
    max_age: float | None
    value: float | None
    value_low: float | None
    value_high: float | None
    rate: float | None
    rate_low: float | None
    rate_high: float | None
    pace: str
    pace_per_day: float | None
    last: float | None
    age: float | None
    index: float | None
    ceiling: float | None
    price: float | None
    crossing_age: float | None
    due: float | None
    held_back: list[HeldOut]
    clicks: int
    form: str
    reasons: dict[str, float | None]
    as_list: AsListOut | None = None
    named_by: NamedByOut | None = None
    restless: list[RestlessOut] = []
    rendering: PageRenderingOut | None = None
    number: str = ""
    when: list[str] = []
    last_state: str = ""

    @classmethod
    def of(cls, found: Explanation, clicks: int) -> Self:
        """An explanation as JSON."""
        held = [HeldOut.from_records(each) for each in found.held_back]
        reasons = {name: finite(number) for name, number in found.reasons.items()}
        itself = None if found.as_list is None else AsListOut.from_records(found.as_list)
        by = None if found.named_by is None else NamedByOut.from_records(found.named_by)
        more = {"as_list": itself, "named_by": by, "restless": [RestlessOut.from_records(r) for r in found.restless]}
        shown = None if found.rendering is None else PageRenderingOut.from_records(found.rendering)
        return cls.from_records(found, held_back=held, clicks=clicks, reasons=reasons, rendering=shown, **more)


class ProspectOut(Record):
    """The catalogue at rest at one budget."""

    budget: float | None
    spend: float | None
    price: float | None
    captured: float | None
    inflow: float | None
    share: float | None
    freshness: float | None
    median_delay: float | None
    unworthy: int


class MoverOut(Record):
    """A source whose cadence another budget changes."""

    id: int
    url: str
    interval_now: float | None
    interval_then: float | None
    captured_now: float | None
    captured_then: float | None


class WhatIfOut(Record):
    """The present budget and another."""

    sources: int
    known: int
    now: ProspectOut
    then: ProspectOut
    movers: list[MoverOut]


class ClickIn(Record):
    """What a search engine's own log says: an item was opened so often, at a time."""

    item: Identity
    time: Moment | None = None
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class FeedbackIn(Record):
    """Clicks, a thousand at most."""

    clicks: Annotated[list[ClickIn], Field(min_length=1, max_length=1000)]


class FeedbackOut(Record):
    """How many of the clicks counted; those on items that are not there do not."""

    counted: int


class BudgetIn(Record):
    """Another budget for whoever crawls, for as long as that run lasts."""

    budget: Annotated[str, Field(min_length=1, max_length=30, examples=["120/min"])]


class BudgetOut(Record):
    """What may be spent from now on, requests per second."""

    budget: float


class StatusOut(Record):
    """The whole at a glance."""

    version: str
    crawler: str | None
    sources: dict[str, int]
    budget: float | None
    spend: float | None
    price: float | None
    day_requests: int
    day_errors: int
    day_captured: float | None
    day_new: int
    day_changed: int
    per_fetch: float | None
    hosts_held: int


class ShardOut(Record):
    """One shard of a fleet as last heard of.

    `state` is working, joining (holds nothing yet), leaving, silent (not heard of) or waiting (`trouble` says why).
    """

    name: str
    state: str
    node: str
    pid: int
    heard_s: float | None
    rate: float | None
    spend: float | None
    demand: float | None
    own_price: float | None
    lag_s: float | None
    sources: int
    hosts: int
    buckets: int
    newcomers: int
    requests: int
    captured: float | None
    failed: int
    trouble: str


class FleetOut(Record):
    """The fleet as last written down, at `at`; `up`: it works now, `ended`: somebody ended it."""

    up: bool
    at: float | None
    since: float | None
    leader: str
    leader_epoch: int
    budget: float | None
    burst: float | None
    price: float | None
    spend: float | None
    wanted: int
    buckets: int
    held: int
    messages: int
    bytes: int
    trouble: str
    ended: bool
    shards: list[ShardOut]

    @classmethod
    def of(cls, status: FleetStatus, up: bool) -> Self:
        """A status as JSON."""
        return cls.from_records(status, up=up, shards=[ShardOut.from_records(line) for line in status.shards])
