"""The admin of the synthetic web, at `/_synthweb/` of every host: what it knows, and how to make it misbehave.

============  ========================================================================================================
`truth`       JSON list of :class:`~recrawl.synthweb.ledger.SourceTruth`; `?events=0` without times, `?until=UNIX`
`log`         JSON lines of :class:`~recrawl.synthweb.ledger.SeenRequest`; `?since=UNIX`, `?from=ROW`; DELETE: forget
`opml`        all feeds, a folder per host
`text`        all URLs, one per line
`csv`         all sources: url, kind, importance, half_life; then the sitemap of each site that has one
`lists`       JSON list of :class:`~recrawl.synthweb.site_lists.ListTruth`; `?events=0` without signals, `?until=UNIX`
`hub`         :class:`~recrawl.synthweb.hub.HubTruth`; POST :class:`~recrawl.synthweb.hub.HubFaults` to misbehave;
              DELETE: it loses all subscriptions
`faults`      GET the rules in force; POST one rule adds it, POST a list replaces all; DELETE ends all
`clock`       start, now, speed, virtual hour
`robots`      GET host → rules; POST {host: rules} changes them
============  ========================================================================================================

Requests to the admin are not logged and meet no faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from recrawl.errors import ParameterError
from recrawl.synthweb import documents
from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.hub import Hub, HubFaults
from recrawl.synthweb.site_lists import SITEMAP
from recrawl.synthweb.world import FEEDS, Robots

if TYPE_CHECKING:
    from recrawl.synthweb.server import SynthWeb

DESK = "/_synthweb/"
JSON, LINES = "application/json", "application/jsonl"


class Admin:
    """Answers questions about the web it belongs to."""

    def __init__(self, synthweb: SynthWeb) -> None:
        self._web = synthweb

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request to the admin."""
        name = request.path.removeprefix(DESK)
        body = await request.read() if request.method == "POST" else b""
        try:
            match name, request.method:
                case "truth", "GET":
                    return _reply(self._truth(request), JSON)
                case "log", "GET":
                    return _reply(self._log(request), LINES)
                case "log", "DELETE":
                    self._web.log.clear()
                    return _reply(b"{}", JSON)
                case "lists", "GET":
                    return _reply(self._lists(request), JSON)
                case "opml", "GET":
                    return _reply(self._opml(), "text/x-opml")
                case "text", "GET":
                    return _reply("".join(url + "\n" for url in self._web.urls()).encode(), "text/plain")
                case "csv", "GET":
                    return _reply(self._csv(), "text/csv")
                case "clock", "GET":
                    return _reply(self._clock(), JSON)
                case "faults", _:
                    return _reply(self._faults(request.method, body), JSON)
                case "hub", _ if self._web.hub is not None:
                    return _reply(self._hub(self._web.hub, request.method, body), JSON)
                case "robots", _:
                    return _reply(self._robots(body), JSON)
        except (ValueError, ParameterError, msgspec.ValidationError) as error:
            return web.Response(status=400, text=f"{error}\n")
        return web.Response(status=404, text="no such page at the admin\n")

    def _truth(self, request: web.BaseRequest) -> bytes:
        until = request.query.get("until")
        if request.query.get("events") == "0":
            # Asking for a moment before everything draws no times.
            truths = [self._web.truth(s.number, until=-1e18) for s in self._web.world.sources]
        else:
            truths = self._web.truths(None if until is None else float(until))
        return msgspec.json.encode(truths)

    def _lists(self, request: web.BaseRequest) -> bytes:
        until = request.query.get("until")
        # Before everything nothing had been said.
        when = -1e18 if request.query.get("events") == "0" else None if until is None else float(until)
        return msgspec.json.encode(self._web.lists(when))

    def _log(self, request: web.BaseRequest) -> bytes:
        since, first = float(request.query.get("since", "-inf")), int(request.query.get("from", "0"))
        return msgspec.json.Encoder().encode_lines([a for a in self._web.log[first:] if a.start >= since])

    def _opml(self) -> bytes:
        it = self._web
        feeds = [(it.netlocs[s.host], f"Source {s.number}", it.url(s)) for s in it.world.sources if s.kind in FEEDS]
        return documents.opml(feeds).encode()

    def _csv(self) -> bytes:
        it = self._web
        kinds = {"sitemap": "sitemap", "news": "sitemap", "page": "page"}
        rows = [
            f"{it.url(s)},{kinds.get(s.kind, 'feed')},{s.interest:.6g},{_plain(it.timeline.seconds(s.half_life_h))}s"
            for s in it.world.sources
        ]
        rows += [f"{it.bases[host]}{SITEMAP},sitemap,1," for host in it.world.lists]
        return ("url,kind,importance,half_life\n" + "\n".join(rows) + "\n").encode()

    def _clock(self) -> bytes:
        line, now = self._web.timeline, self._web.clock.now()
        return msgspec.json.encode({"start": line.start, "now": now, "speed": line.speed, "hour": line.hour(now)})

    def _faults(self, method: str, body: bytes) -> bytes:
        fault_rules = self._web.faults
        if method == "POST":
            asked = msgspec.json.decode(body, type=Rule | list[Rule])
            fault_rules.set(asked) if isinstance(asked, list) else fault_rules.add(asked)
        elif method == "DELETE":
            fault_rules.set([])
        return msgspec.json.encode(fault_rules.rules)

    def _hub(self, hub: Hub, method: str, body: bytes) -> bytes:
        if method == "POST":
            hub.misbehave(msgspec.json.decode(body, type=HubFaults))
        elif method == "DELETE":
            hub.forget()
        return msgspec.json.encode(hub.truth())

    def _robots(self, body: bytes) -> bytes:
        it = self._web
        if body:
            for host, rules in msgspec.json.decode(body, type=dict[str, Robots]).items():
                if host not in it.netlocs:
                    raise ParameterError("host", "one of this web's, with its port", repr(host))
                it.world.robots[it.netlocs.index(host)] = rules
        return msgspec.json.encode(dict(zip(it.netlocs, it.world.robots, strict=True)))


def _plain(number: float) -> str:
    """Without an exponent, as times are written."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def _reply(body: bytes, content_type: str) -> web.Response:
    return web.Response(body=body, content_type=content_type, charset="utf-8")
