"""Judging a crawler by what the web saw: value captured, and the rules of politeness.

Value captured is the sum, over the items a crawl shows for the first time, of interest · 2^(−age/half-life) at the
moment of the crawl. What the first crawl of a source shows is its backlog and counts nothing; an item that left the
document between two crawls is lost. Of a page only the latest version shows: its window is 1.

Everything here is a pure function of a truth and an access log, and counts every request, robots.txt included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from recrawl.errors import ParameterError
from recrawl.kernels.worth import remaining
from recrawl.synthweb.world import Robots

ROBOTS_PATH = "/robots.txt"
ALLOWING_FAULTS = frozenset({"robots_html", "robots_redirect", "robots_garbage"})


class SeenRequest(msgspec.Struct, kw_only=True, gc=False):
    """One request as the web saw it.

    Parameters
        start: Unix seconds at which it was read; what the answer shows is the state at this moment
        end: when its answer was handed to the network or the connection ended; None while in flight
        host: as in its URL, with the port
        path: with the query
        agent: its User-Agent
        client: the address it came from
        status: of the answer; 0 if none was sent
        source: the source whose document was asked for, or None
        fault: the name of the fault it met, or nothing
        shown: how many items the source had published when its document was truly delivered (200 or 304), else None
        retry_after_s: what the answer asked for in its Retry-After, if it was understandable
    """

    start: float
    host: str
    path: str
    agent: str = ""
    client: str = ""
    end: float | None = None
    status: int = 0
    source: int | None = None
    fault: str = ""
    shown: int | None = None
    retry_after_s: float | None = None


class SourceTruth(msgspec.Struct, frozen=True, kw_only=True):
    """What there was to find at one source, in real time: Unix seconds and per real second.

    Parameters
        rate: items per second in the long run
        times: of everything published so far, the backlog included, in order
    """

    source: int
    url: str
    host: str
    kind: str
    law: str
    rate: float
    interest: float
    half_life_s: float
    window: int
    forbidden: bool
    times: list[float]


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """How one source, or all together, came out.

    Parameters
        offered: interest of all items published between the first crawl and `until`
        found: items a crawl after the first showed for the first time
        lost: items that had left the document before a crawl could show them
    """

    crawls: int = 0
    offered: float = 0.0
    captured: float = 0.0
    found: int = 0
    lost: int = 0

    def __add__(self, other: Capture) -> Capture:
        return Capture(
            crawls=self.crawls + other.crawls,
            offered=self.offered + other.offered,
            captured=self.captured + other.captured,
            found=self.found + other.found,
            lost=self.lost + other.lost,
        )


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """Value captured per source and in total; `fetches` counts every request, also those that brought nothing."""

    total: Capture
    sources: dict[int, Capture]
    fetches: int

    @property
    def per_fetch(self) -> float:
        """Value captured per request sent."""
        return self.total.captured / self.fetches if self.fetches else 0.0


def capture_of(truth: SourceTruth, crawls: npt.ArrayLike, until: float | None = None) -> Capture:
    """What crawls of one source at these Unix times captured."""
    moments = np.sort(np.asarray(crawls, dtype=np.float64))
    if not len(moments):
        return Capture()
    times = np.asarray(truth.times, dtype=np.float64)
    out = np.searchsorted(times, moments, side="right")
    end = len(times) if until is None else int(np.searchsorted(times, until, side="right"))
    captured, found, lost = 0.0, 0, 0
    for before, after, moment in zip(out[:-1].tolist(), out[1:].tolist(), moments[1:].tolist(), strict=True):
        first = max(before, after - truth.window)
        ages = moment - times[first:after]
        captured += truth.interest * float(remaining(ages, truth.half_life_s).sum())
        found += after - first
        lost += first - before
    offered = truth.interest * max(end - int(out[0]), 0)
    return Capture(crawls=len(moments), offered=offered, captured=captured, found=found, lost=lost)


def score(
    truths: Iterable[SourceTruth],
    crawls: Iterable[tuple[int, float]],
    fetches: int | None = None,
    until: float | None = None,
) -> Score:
    """What crawls, as (source, Unix time), captured. `fetches` is what was spent, if more than these."""
    moments: dict[int, list[float]] = {}
    for source, moment in crawls:
        moments.setdefault(source, []).append(moment)
    captures = {t.source: capture_of(t, moments.get(t.source, []), until) for t in truths}
    spent = sum(map(len, moments.values())) if fetches is None else fetches
    return Score(total=sum(captures.values(), Capture()), sources=captures, fetches=spent)


def crawls_in(log: Iterable[SeenRequest]) -> list[tuple[int, float]]:
    """The requests that showed a source as it was, as (source, Unix time)."""
    return [(a.source, a.start) for a in log if a.source is not None and a.shown is not None]


def score_log(truths: Iterable[SourceTruth], log: Sequence[SeenRequest], until: float | None = None) -> Score:
    """What a crawler captured by the web's own account, every request counted as a fetch."""
    return score(truths, crawls_in(log), fetches=len(log), until=until)


def budget_violations(
    log: Iterable[SeenRequest], per_second: float, burst: float, tolerance: float = 0.0
) -> list[SeenRequest]:
    """Requests beyond the budget: those that make more than burst + per_second · t in some window of length t.

    `tolerance` is added to the burst: the web sees requests a little later than they were sent, and not all by the
    same little.
    """
    if per_second <= 0.0:
        raise ParameterError("per_second", "above 0", per_second)
    level, last, found = burst + tolerance, None, []
    for access in sorted(log, key=lambda a: a.start):
        if last is not None:
            level = min(level + (access.start - last) * per_second, burst + tolerance)
        last = access.start
        level -= 1.0
        if level < -1e-6:
            found.append(access)
            level = max(level, 0.0)
    return found


def delay_violations(
    log: Iterable[SeenRequest], delay_s: float | Mapping[str, float], tolerance_s: float = 0.0
) -> list[tuple[SeenRequest, SeenRequest]]:
    """Pairs of consecutive requests of one host that began closer together than its delay."""
    found = []
    for host, accesses in by_host(log).items():
        least = (delay_s if isinstance(delay_s, (int, float)) else delay_s.get(host, 0.0)) - tolerance_s
        found += [(a, b) for a, b in pairwise(accesses) if b.start - a.start < least]
    return found


def overlaps(log: Iterable[SeenRequest], parallel: int = 1) -> list[SeenRequest]:
    """Requests that began while `parallel` others of their host were still being answered."""
    found = []
    for accesses in by_host(log).values():
        open_until: list[float] = []
        for access in accesses:
            open_until = [end for end in open_until if end > access.start]
            if len(open_until) >= parallel:
                found.append(access)
            open_until.append(float("inf") if access.end is None else access.end)
    return found


def hold_violations(
    log: Iterable[SeenRequest], at_most_s: float = float("inf"), tolerance_s: float = 0.0
) -> list[SeenRequest]:
    """Requests to a host before the time its last refusal (429, 503, 403) asked for, capped at `at_most_s`."""
    found = []
    for accesses in by_host(log).values():
        held = -float("inf")
        for access in accesses:
            if access.start < held - tolerance_s:
                found.append(access)
            if access.status in (403, 429, 503) and access.retry_after_s is not None:
                held = max(held, access.start + min(access.retry_after_s, at_most_s))
    return found


def robots_violations(log: Iterable[SeenRequest], robots: Mapping[str, Robots]) -> list[tuple[SeenRequest, str]]:
    """Requests that robots.txt forbade, with why.

    A host's robots.txt must have been answered before anything else is asked of it; a 4xx allows everything; a 5xx or
    no answer forbids everything, unless an earlier copy is there to go by.
    """
    found = []
    for host, accesses in by_host(log).items():
        copies = [a for a in accesses if _is_robots(a) and a.end is not None]
        copies.sort(key=lambda a: a.end or 0.0)
        answered, good = 0, None
        for access in accesses:
            while answered < len(copies) and (copies[answered].end or 0.0) <= access.start:
                good = copies[answered] if 200 <= copies[answered].status < 500 else good
                answered += 1
            why = "" if _leads_to_robots(access) else _forbidden(access, answered, good, robots.get(host, Robots()))
            if why:
                found.append((access, why))
    return found


def by_host(log: Iterable[SeenRequest]) -> dict[str, list[SeenRequest]]:
    """The log of each host, in order of start."""
    hosts: dict[str, list[SeenRequest]] = {}
    for access in sorted(log, key=lambda a: a.start):
        hosts.setdefault(access.host, []).append(access)
    return hosts


def read_log(lines: bytes) -> list[SeenRequest]:
    """An access log from its JSON lines."""
    return msgspec.json.Decoder(SeenRequest).decode_lines(lines)


def read_truth(body: bytes) -> list[SourceTruth]:
    """The truth from the JSON of its endpoint."""
    return msgspec.json.decode(body, type=list[SourceTruth])


def _is_robots(access: SeenRequest) -> bool:
    return access.path.partition("?")[0] == ROBOTS_PATH


def _leads_to_robots(access: SeenRequest) -> bool:
    """Whether it asks for rules: the host's own, or those another host's robots.txt redirects to."""
    return access.path.partition("?")[0].endswith(ROBOTS_PATH)


def _forbidden(access: SeenRequest, answered: int, good: SeenRequest | None, rules: Robots) -> str:
    """Why a request should not have been made, given how many copies of robots.txt were read and the last good one."""
    if not answered:
        return "before robots.txt was read"
    if good is None:
        return "robots.txt could not be read"
    if good.status >= 300 or good.fault in ALLOWING_FAULTS or rules.allows(access.path):
        return ""
    return "disallowed"
