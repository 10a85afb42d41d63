"""A world served over HTTP, on loopback unless told otherwise, with a log of every request.

One handler answers everything from bytes prepared once per (source, number of items); the log entry of a request is
made when it is read and closed when its answer is handed to the network. Hosts are told apart by port, by loopback
address (127.0.1.1, 127.0.1.2, … on one port; Linux) or by name (h0.synth.localhost, … on one port).
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import Iterable, Sequence

from aiohttp import web

from recrawl.clock import Clock, SystemClock
from recrawl.errors import ParameterError, RecrawlError
from recrawl.synthweb import documents
from recrawl.synthweb.admin import DESK, Admin
from recrawl.synthweb.faults import FAULTS, FaultRules, Rule
from recrawl.synthweb.faults.contents import FAITHFUL
from recrawl.synthweb.faults.rules import ALIASES
from recrawl.synthweb.hub import HUB, Hub
from recrawl.synthweb.ledger import ROBOTS_PATH, SeenRequest, SourceTruth
from recrawl.synthweb.prepared import Prepared, prepare, still_good
from recrawl.synthweb.site_lists import LISTING, SITEMAP, ListTruth, SiteLists
from recrawl.synthweb.sockets import LOOPBACK, HostsBy, bound_to, listen
from recrawl.synthweb.wire import ENDED, KEPT, Exchange, http_date, reset, whole
from recrawl.synthweb.world import SynthSource, Timeline, World

HTML = {"Content-Type": "text/html; charset=utf-8"}
SITEMAP_INDEX = "/sitemap_index.xml"


class SynthWeb:
    """The synthetic web, running.

    Parameters
        world: what it publishes
        hosts_by: what tells hosts apart
        speed: virtual seconds per real second
        clock: real time, by default the machine's
        port: of the first host, the others follow; 0 takes free ones
        bind: the IPv4 address of this machine to listen on; other than loopback with hosts told apart by port alone
        compress: gzip for clients that accept it
        ssl: serve https with this context
        faults: in force from the start
        hub: documents name a WebSub hub, which there is at `/hub`

    >>> async def visit():
    ...     async with SynthWeb(World.make(sources=2, hosts=1)) as web:
    ...         return len(web.urls())
    >>> asyncio.run(visit())
    2
    """

    def __init__(
        self,
        world: World,
        *,
        hosts_by: HostsBy = "port",
        speed: float = 3600.0,
        clock: Clock | None = None,
        port: int = 0,
        bind: str = LOOPBACK,
        compress: bool = True,
        ssl: tls.SSLContext | None = None,
        faults: Sequence[Rule] = (),
        hub: bool = False,
    ) -> None:
        if hosts_by not in ("port", "address", "name"):
            raise ParameterError("hosts_by", "port, address or name", repr(hosts_by))
        if not speed > 0.0:
            raise ParameterError("speed", "above 0", speed)
        self.world = world
        self.clock: Clock = clock or SystemClock()
        self.timeline = Timeline(self.clock.now(), speed)
        self.log: list[SeenRequest] = []
        self.faults = FaultRules(frozenset(FAULTS))
        self.faults.set(faults)
        self.netlocs: list[str] = []
        self._hosts_by: HostsBy = hosts_by
        self._port = port
        self._address = bound_to(bind, hosts_by)
        self._compress = compress
        self._ssl = ssl
        self._scheme = "https" if ssl else "http"
        self._numbers: dict[str, int] = {}
        self._by_path = {source.path: source for source in world.sources}
        self._prepared: dict[int, Prepared] = {}
        self._second, self._date = 0, b""
        self._lists = SiteLists(world, compress)
        self.hub = Hub(self) if hub else None
        self._topics: dict[str, int] = {}
        self._admin = Admin(self)
        self._servers: list[asyncio.Server] = []
        self._protocols: web.Server | None = None

    async def __aenter__(self) -> SynthWeb:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; virtual hour 0 is now."""
        self._protocols = web.Server(self._handle, handler_cancellation=True, access_log=None, keepalive_timeout=75.0)
        loop = asyncio.get_running_loop()
        try:
            sockets, self.netlocs = listen(self.world.hosts, self._hosts_by, self._address, self._port)
            self._numbers = {netloc: number for number, netloc in enumerate(self.netlocs)}
            for each in sockets:
                self._servers.append(await loop.create_server(self._protocols, sock=each, ssl=self._ssl, backlog=4096))
        except OSError as error:
            await self.stop()
            raise RecrawlError(f"cannot listen on {self._address}, port {self._port}: {error.strerror}") from error
        self.timeline = Timeline(self.clock.now(), self.timeline.speed)

    async def stop(self) -> None:
        """Stop listening and end all connections."""
        for server in self._servers:
            server.close()
        if self._protocols is not None:
            await self._protocols.shutdown(0.05)
        if self.hub is not None:
            await self.hub.stop()
        self._servers = []

    @property
    def bases(self) -> list[str]:
        """The URL of each host, without a slash."""
        return [f"{self._scheme}://{netloc}" for netloc in self.netlocs]

    @property
    def base(self) -> str:
        """The URL of the first host; the admin is at its `/_synthweb/` (and at every other's)."""
        return f"{self._scheme}://{self.netlocs[0]}"

    def url(self, source: SynthSource) -> str:
        """Where a source is."""
        return f"{self._scheme}://{self.netlocs[source.host]}{source.path}"

    def urls(self) -> list[str]:
        """Where all sources are, in their order."""
        return [self.url(source) for source in self.world.sources]

    def topics(self) -> dict[str, int]:
        """Sources by URL, for the hub."""
        if not self._topics:
            self._topics = {self.url(source): source.number for source in self.world.sources}
        return self._topics

    def published(self, source: int, now: float) -> int:
        """How many items a source has published by a Unix time."""
        return self.world.arrivals(source).count(self.timeline.hour(now))

    def truth(self, source: int, until: float | None = None) -> SourceTruth:
        """What a source has published so far, or until a Unix time."""
        it, line = self.world.sources[source], self.timeline
        hour = line.hour(self.clock.now() if until is None else until)
        times = self.world.events(source, -float("inf"), hour)
        return SourceTruth(
            source=source,
            url=self.url(it),
            host=self.netlocs[it.host],
            kind=it.kind,
            law=it.law.name,
            rate=it.law.rate * line.speed / 3600.0,
            interest=it.interest,
            half_life_s=line.seconds(it.half_life_h),
            window=it.window,
            forbidden=it.forbidden,
            times=[line.moment(hour) for hour in times.tolist()],
        )

    def truths(self, until: float | None = None) -> list[SourceTruth]:
        """The truth of every source."""
        return [self.truth(source.number, until) for source in self.world.sources]

    def lists(self, until: float | None = None) -> list[ListTruth]:
        """What the list of every host is, and what it has said so far, or until a Unix time."""
        when = self.clock.now() if until is None else until
        return [
            self._lists.truth(host, self.netlocs[host], self.bases[host], self.timeline, when)
            for host in self.world.lists
        ]

    def warm(self) -> None:
        """Prepare every source's answer now, so that a benchmark measures the client alone."""
        now = self.clock.now()
        for source in self.world.sources:
            self._ready(source, now)

    def view(self, source: SynthSource, now: float) -> documents.View:
        """What a source's document shows at a Unix time."""
        arrivals = self.world.arrivals(source.number)
        latest = arrivals.latest(arrivals.count(self.timeline.hour(now)), source.window)
        entries = [documents.PublishedItem(number, self.timeline.moment(hour)) for number, hour in latest]
        hub = "" if self.hub is None else self.hub.url
        return documents.View(source, self.bases[source.host], entries, hub)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = request.raw_path
        if raw.startswith(DESK):
            return await self._admin.answer(request)
        now = self.clock.now()
        headers = request.headers
        netloc = headers.get("Host", "")
        if netloc not in self._numbers:
            netloc = self._by_socket(request)
        path = raw.partition("?")[0]
        source = self._source(path, netloc)
        entry = SeenRequest(
            start=now,
            host=netloc,
            path=raw,
            agent=headers.get("User-Agent", ""),
            client=request.remote or "",
            source=None if source is None else source.number,
        )
        self.log.append(entry)
        kept = KEPT if request.keep_alive else ENDED
        try:
            struck = self.faults.strike(netloc, path) if self.faults.rules else None
            if struck is not None:
                return kept if await self._misbehave(request, entry, source, *struck) else ENDED
            if path == HUB and self.hub is not None:
                return await self._ask(self.hub, request, entry)
            sent = self._honest(request, entry, source, path)
            if request.transport is not None:
                cut = sent.index(b"\r\n") + 2
                end = len(sent) if request.method != "HEAD" else sent.index(b"\r\n\r\n") + 4
                request.transport.write(b"%b%b%b" % (sent[:cut], self._date_line(now), sent[cut:end]))
            return kept
        except ConnectionError:
            return ENDED
        finally:
            entry.end = self.clock.now()

    async def _ask(self, hub: Hub, request: web.BaseRequest, entry: SeenRequest) -> web.StreamResponse:
        """A request to the hub; a dead one may not even answer."""
        if hub.faults.dead == "refuses":
            reset(request)
            return ENDED
        answer = await hub.answer(request)
        entry.status = answer.status
        return answer

    def _date_line(self, now: float) -> bytes:
        if int(now) != self._second:
            self._second, self._date = int(now), f"Date: {http_date(now)}\r\n".encode()
        return self._date

    def _by_socket(self, request: web.BaseRequest) -> str:
        """The host of a request whose Host header is none of ours, by the address it came to."""
        if self._hosts_by == "name" or request.transport is None:
            return self.netlocs[0]
        address, port = request.transport.get_extra_info("sockname")[:2]
        return f"{address}:{port}"

    def _source(self, path: str, netloc: str) -> SynthSource | None:
        source = self._by_path.get(path)
        if source is not None:
            return source if self.netlocs[source.host] == netloc else None
        if path.startswith(ALIASES):
            return self._by_path.get(path[path.index("/", 1) :])
        return None

    async def _misbehave(
        self, request: web.BaseRequest, entry: SeenRequest, source: SynthSource | None, rule: Rule, turn: int
    ) -> bool:
        entry.fault = rule.name
        path = entry.path.partition("?")[0]

        def honest() -> bytes:
            unlogged = SeenRequest(start=entry.start, host=entry.host, path=entry.path)
            return self._honest(request, unlogged, source, path, in_full=True)

        view = None if source is None else self.view(source, entry.start)
        number = self._numbers.get(entry.host, 0)
        exchange = Exchange(
            request, entry, rule, bases=self.bases, host=number, view=view, honest=honest, turn=turn
        )  # fmt: skip
        kept = await FAULTS[rule.name](exchange)
        if source is not None and rule.name in FAITHFUL:
            entry.shown = self._ready(source, entry.start).count
        return kept

    def _honest(
        self, request: web.BaseRequest, entry: SeenRequest, source: SynthSource | None, path: str, in_full: bool = False
    ) -> bytes:
        """The bytes of a well-behaved answer, whole in any case if `in_full`; its outcome goes into the log entry."""
        ready = self._list(entry, path) if source is None else self._ready(source, entry.start)
        if ready is None:
            status, body, headers = self._fixed(path, entry)
            entry.status = status
            return whole(status, body, headers)
        if source is not None:
            entry.shown = ready.count
        if not in_full and still_good(request, ready):
            entry.status = 304
            return ready.unchanged
        entry.status = 200
        packed = not in_full and self._compress and "gzip" in request.headers.get("Accept-Encoding", "")
        return ready.packed if packed else ready.plain

    def _list(self, entry: SeenRequest, path: str) -> Prepared | None:
        number = self._numbers.get(entry.host, 0)
        return self._lists.ready(number, path, self.bases[number], self.timeline, entry.start)

    def _ready(self, source: SynthSource, now: float) -> Prepared:
        count = self.published(source.number, now)
        ready = self._prepared.get(source.number)
        if ready is None or ready.count != count or (not ready.lasting and now >= ready.latest + 1.0):
            ready = self._prepared[source.number] = self._prepare(source, count, now)
        return ready

    def _prepare(self, source: SynthSource, count: int, now: float) -> Prepared:
        view = self.view(source, now)
        return prepare(
            documents.render(view),
            {"Content-Type": documents.CONTENT_TYPES[source.kind], **documents.link_header(view)},
            now=now,
            latest=view.entries[0].published if view.entries else self.timeline.start,
            etag=f'"{source.number}-{count}"' if source.validators in ("both", "etag") else "",
            dated=source.validators in ("both", "modified"),
            compress=self._compress,
            count=count,
        )

    def _fixed(self, path: str, entry: SeenRequest) -> tuple[int, bytes, dict[str, str]]:
        """Everything that is not a source's document: robots.txt, indexes, front pages and articles."""
        number = self._numbers.get(entry.host, 0)
        if path in (ROBOTS_PATH, "/guest" + ROBOTS_PATH):
            rules = self.world.robots[number].text() + (
                f"Sitemap: {self.bases[number]}{SITEMAP}\n" if number in self.world.lists else ""
            )
            return 200, rules.encode(), {"Content-Type": "text/plain"}
        if path == SITEMAP_INDEX:
            return 200, self._index(number, entry.start).encode(), {"Content-Type": "application/xml"}
        if path == "/":
            return 200, self._front(number).encode(), HTML
        parts = path.strip("/").split("/")
        place = next((k for k, part in enumerate(parts) if part[:1] == "s" and part[1:].isdecimal()), None)
        if place is None or int(parts[place][1:]) >= len(self.world.sources):
            return 404, b"<h1>Not found</h1>", HTML
        source, rest = self.world.sources[int(parts[place][1:])], parts[place + 1 :]
        if not rest:
            return 200, documents.home(source, self.bases[source.host]).encode(), HTML
        if rest[0] == "i" and len(rest) == 2 and rest[1].isdecimal():
            return 200, documents.article(source.number, int(rest[1])).encode(), HTML
        return 404, b"<h1>Not found</h1>", HTML

    def _on(self, host: int) -> Iterable[SynthSource]:
        return (source for source in self.world.sources if source.host == host)

    def _index(self, host: int, now: float) -> str:
        maps = [s for s in self._on(host) if s.kind in ("sitemap", "news")]
        views = [self.view(s, now) for s in maps]
        dates = [v.entries[0].published if v.entries else self.timeline.start for v in views]
        return documents.sitemap_index([(self.url(s), t) for s, t in zip(maps, dates, strict=True)])

    def _front(self, host: int) -> str:
        items = "".join(f'<li><a href="{s.path}">Source {s.number}</a></li>\n' for s in self._on(host))
        latest = f'<p><a href="{LISTING}">Latest changes</a></p>\n' if host in self.world.lists else ""
        return documents.html_page(f"Host {host}", f"{latest}<ul>\n{items}</ul>")
