"""`/metrics` for Prometheus. Names and labels are documented in docs/api.md.

Labels are bounded: states, statuses, routes of our own, names of shards. Nothing from the web becomes one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recrawl.cluster.status import FleetStatus
from recrawl.web.context import Context
from recrawl.web.views.overview import Overview, overview

STATES = ("working", "joining", "leaving", "silent", "waiting")
OF_SHARD = (
    ("recrawl_fleet_shard_rate_requests_per_second", "Requests per second granted to a shard", "rate"),
    ("recrawl_fleet_shard_spend_requests_per_second", "Requests per second it sent over the last seconds", "spend"),
    ("recrawl_fleet_shard_lag_seconds", "Time it needs for what is due at the fleet's price", "lag_s"),
    ("recrawl_fleet_shard_sources", "Sources it has", "sources"),
    ("recrawl_fleet_shard_heard_seconds", "Time since it was heard of", "heard_s"),
)
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)


class Measures:
    """The numbers of one server."""

    def __init__(self, context: Context) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(StoreCollector(context))
        self.registry.register(FleetCollector(context))
        self.seconds = Histogram(
            "recrawl_http_request_seconds",
            "Time to answer a request, until its last byte",
            ["route"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.answers = Counter("recrawl_http_responses", "Answers by status", ["status"], registry=self.registry)
        self.clicks = Counter("recrawl_clicks", "Clicks that counted", registry=self.registry)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)


class StoreCollector(Collector):
    """What the store says, asked when somebody asks."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: the store is asked only on a scrape."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Gauges of the overview."""
        view = overview(self._context)
        sources = GaugeMetricFamily("recrawl_sources", "Sources in the catalogue", labels=["state"])
        for state in ("active", "paused", "retired"):
            sources.add_metric([state], float(getattr(view, state)))
        yield sources
        yield from (_gauge(name, words, value) for name, words, value in _gauges(view) if math.isfinite(value))


class FleetCollector(StoreCollector):
    """What the fleet says of itself; nothing where there never was one, and only that it is down when it is."""

    def collect(self) -> Iterable[Metric]:
        """Gauges of the status; shards are labels by the names they keep over restarts."""
        status, alive = self._context.fleet_status(), self._context.fleet()
        if status is None:
            return
        yield _gauge(
            "recrawl_fleet_up", "1 if the fleet's coordinator was alive a moment ago", float(alive is not None)
        )
        if alive is None:
            return
        yield from (_gauge(name, words, value) for name, words, value in _of_fleet(alive) if math.isfinite(value))
        states = GaugeMetricFamily("recrawl_fleet_shards", "Shards by state", labels=["state"])
        for state in STATES:
            states.add_metric([state], float(sum(line.state == state for line in alive.shards)))
        yield states
        for name, words, field in OF_SHARD:
            family = GaugeMetricFamily(name, words, labels=["shard"])
            for line in alive.shards:
                value = getattr(line, field)
                if value is not None and math.isfinite(value):
                    family.add_metric([line.name], float(value))
            yield family


def _of_fleet(status: FleetStatus) -> list[tuple[str, str, float]]:
    return [
        ("recrawl_fleet_price", "The price all shards share", math.nan if status.price is None else status.price),
        ("recrawl_fleet_budget_requests_per_second", "Requests per second the fleet may send", status.budget),
        ("recrawl_fleet_spend_requests_per_second", "Requests per second sent over the last seconds", status.spend),
        ("recrawl_fleet_shards_wanted", "Shards asked for", float(status.wanted)),
        ("recrawl_fleet_buckets_held", "Buckets some shard holds", float(status.held)),
        ("recrawl_fleet_buckets", "Buckets there are", float(status.buckets)),
        ("recrawl_fleet_leader_epoch", "Grows with every new coordinator", float(status.leader_epoch)),
    ]


def _gauges(view: Overview) -> list[tuple[str, str, float]]:
    return [
        (
            "recrawl_crawler_running",
            "1 if a crawler or a fleet is at work on the store",
            float(view.crawler is not None),
        ),
        ("recrawl_budget_requests_per_second", "Requests per second that may be sent", view.budget),
        ("recrawl_spend_requests_per_second", "Requests per second sent over the last minutes", view.spend),
        ("recrawl_price", "Index of the last source chosen", view.price),
        ("recrawl_day_requests", "Requests sent over the last day", float(view.day.requests)),
        ("recrawl_day_failed_crawls", "Crawls that failed over the last day", float(view.day.failed)),
        ("recrawl_day_captured_interest", "Interest captured over the last day", view.day.captured),
        ("recrawl_hosts_held", "Hosts not to be visited now", float(view.held)),
    ]


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


class Stopwatch:
    """ASGI middleware that times requests by route."""

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self._app, self._measures = app, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and count."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            if route != "/api/v1/stream":
                self._measures.seconds.labels(route).observe(time.perf_counter() - begun)
            self._measures.answers.labels(str(status)).inc()
