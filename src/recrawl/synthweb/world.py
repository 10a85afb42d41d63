"""What a synthetic web is made of, before anybody serves it: sources with laws, spread over hosts.

A world knows virtual hours only; a :class:`Timeline` turns them into the Unix seconds in which it is served: virtual
hour h happens at start + 3600 h / speed. To a crawler everything is real time with short constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import msgspec
import numpy as np

from recrawl.errors import ParameterError
from recrawl.synthweb.laws import Arrivals, FloatArray, Law
from recrawl.synthweb.list_laws import NO_LISTS, ListedPage, ListLaw, laws_named

Kind = Literal["rss", "atom", "json", "sitemap", "news", "page"]
Validators = Literal["both", "etag", "modified", "none"]
LawName = Literal["steady", "diurnal", "drifting", "bursty", "mixed"]

FEEDS: frozenset[Kind] = frozenset({"rss", "atom", "json"})
FILES: dict[Kind, str] = {
    "rss": "rss.xml", "atom": "atom.xml", "json": "feed.json",
    "sitemap": "sitemap.xml", "news": "news.xml", "page": "page.html",
}  # fmt: skip
MIXES: dict[str, dict[Kind, float]] = {
    "feeds": {"rss": 0.45, "atom": 0.35, "json": 0.2},
    "mixed": {"rss": 0.25, "atom": 0.2, "json": 0.1, "sitemap": 0.15, "news": 0.1, "page": 0.2},
    "sitemaps": {"sitemap": 0.5, "news": 0.5},
    "pages": {"page": 1.0},
}
LAW_SHARES: dict[str, float] = {"steady": 0.3, "diurnal": 0.4, "drifting": 0.15, "bursty": 0.15}
HISTORY_WINDOWS = 2.0
FORBIDDEN = "/private"
LIST_SEED = 0x115


class Robots(msgspec.Struct, frozen=True, kw_only=True):
    """What one host's robots.txt says to everybody: path prefixes, the longest match decides, allowing on a tie."""

    disallow: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    crawl_delay_s: float | None = None

    def text(self) -> str:
        """As a robots.txt."""
        lines = ["User-agent: *", *(f"Allow: {p}" for p in self.allow), *(f"Disallow: {p}" for p in self.disallow)]
        if self.crawl_delay_s is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay_s:g}")
        return "\n".join(lines) + "\n"

    def allows(self, path: str) -> bool:
        """Whether the path may be fetched."""
        yes = max((len(prefix) for prefix in self.allow if path.startswith(prefix)), default=0)
        no = max((len(prefix) for prefix in self.disallow if prefix and path.startswith(prefix)), default=-1)
        return yes >= no


class SynthSource(msgspec.Struct, frozen=True, kw_only=True):
    """One source.

    Parameters
        host: its host's number
        interest: what an item is worth when new (the source's importance)
        half_life_h: virtual hours in which that halves
        window: how many items the document shows; of a page, 1: only the latest version
        validators: which of ETag and Last-Modified it sends
    """

    number: int
    host: int
    kind: Kind
    path: str
    law: Law
    interest: float = 1.0
    half_life_h: float = 6.0
    window: int = 20
    validators: Validators = "both"

    @property
    def home(self) -> str:
        """The folder all its documents are in, with a slash at the end."""
        return self.path[: self.path.rindex("/") + 1]

    @property
    def forbidden(self) -> bool:
        """Whether it lies where its host's robots.txt says no."""
        return self.path.startswith(FORBIDDEN)


class Timeline(msgspec.Struct, frozen=True):
    """Virtual hours against Unix seconds; `speed` is virtual seconds per real second."""

    start: float
    speed: float = 3600.0

    def hour(self, now: float) -> float:
        """The virtual hour at a Unix time."""
        return (now - self.start) * self.speed / 3600.0

    def moment(self, hour: float) -> float:
        """The Unix time of a virtual hour."""
        return self.start + hour * 3600.0 / self.speed

    def seconds(self, hours: float) -> float:
        """How long so many virtual hours last, in real seconds."""
        return hours * 3600.0 / self.speed


class World:
    """Sources, hosts and everything they will ever publish, from a seed.

    The hosts take turns with the laws of `lists`, and list their pages by them; without any there are no lists.
    """

    def __init__(
        self,
        sources: list[SynthSource],
        hosts: int,
        seed: int = 0,
        robots: Robots | None = None,
        lists: Sequence[ListLaw] = (),
    ) -> None:
        self.sources = sources
        self.hosts = hosts
        self.seed = seed
        self.robots = [robots or Robots()] * hosts
        self.lists = {host: lists[host % len(lists)] for host in range(hosts)} if lists else {}
        self._arrivals: dict[int, Arrivals] = {}
        self._listed: dict[int, ListedPage] = {}

    @classmethod
    def make(
        cls,
        sources: int = 300,
        hosts: int = 30,
        seed: int = 0,
        mix: str = "feeds",
        *,
        law: LawName = "mixed",
        median_rate: float = 0.2,
        rate_spread: float = 1.5,
        half_life_h: float = 6.0,
        half_life_spread: float = 0.0,
        interest_spread: float = 0.0,
        window: int = 20,
        swing: float = 6.0,
        validators: Validators = "both",
        forbidden_share: float = 0.0,
        crawl_delay_s: float | None = None,
        lists: str = NO_LISTS,
    ) -> World:
        """A world drawn from its seed.

        Rates per virtual hour, half-lives and interests are lognormal; a spread is the standard deviation of the
        logarithm, so a `rate_spread` of 1.5 puts 95 % of the sources within a factor of 400.
        """
        _check(sources, hosts, mix, law, window, forbidden_share)
        list_laws = laws_named(lists)
        if list_laws and "page" not in MIXES[mix]:
            raise ParameterError("mix", "one with pages (pages, mixed) where there are lists of pages", mix)
        rng = np.random.default_rng([seed, 0x5EED])
        kinds = rng.choice(list(MIXES[mix]), sources, p=list(MIXES[mix].values()))
        laws = rng.choice(list(LAW_SHARES), sources, p=list(LAW_SHARES.values()))
        rates = median_rate * np.exp(rate_spread * rng.standard_normal(sources))
        half_lives = half_life_h * np.exp(half_life_spread * rng.standard_normal(sources))
        interests = np.exp(interest_spread * rng.standard_normal(sources))
        peaks, phases, forbidden = rng.uniform(0, 24, sources), rng.uniform(0, 1, sources), rng.uniform(0, 1, sources)
        made = []
        for i in range(sources):
            kind: Kind = str(kinds[i])  # type: ignore[assignment]
            where = FORBIDDEN if forbidden[i] < forbidden_share else ""
            made.append(
                SynthSource(
                    number=i,
                    host=i % hosts,
                    kind=kind,
                    path=f"{where}/s{i}/{FILES[kind]}",
                    law=law_named(
                        laws[i] if law == "mixed" else law, float(rates[i]), swing, float(peaks[i]), float(phases[i])
                    ),
                    interest=float(interests[i]),
                    half_life_h=float(half_lives[i]),
                    window=1 if kind == "page" else window,
                    validators=validators,
                )
            )
        rules = Robots(disallow=(FORBIDDEN + "/",) if forbidden_share else (), crawl_delay_s=crawl_delay_s)
        return cls(made, hosts, seed, rules, list_laws)

    def arrivals(self, source: int) -> Arrivals:
        """What a source publishes; drawn on first use and kept."""
        found = self._arrivals.get(source)
        if found is None:
            it = self.sources[source]
            # A page of no version yet would be empty: its history is a few changes.
            history = max(HISTORY_WINDOWS * it.window, 6.0)
            found = self._arrivals[source] = Arrivals(it.law, (self.seed, source), history)
        return found

    def listed(self, source: int) -> ListedPage:
        """What the list of its host tells of a page; its host has one."""
        found = self._listed.get(source)
        if found is None:
            law = self.lists[self.sources[source].host]
            found = self._listed[source] = ListedPage(law, self.arrivals(source), (self.seed, source, LIST_SEED))
        return found

    def pages(self, host: int) -> list[SynthSource]:
        """The pages of a host, which its list names."""
        return [source for source in self.sources if source.host == host and source.kind == "page"]

    def events(self, source: int, start: float, end: float) -> FloatArray:
        """The virtual hours in (start, end] at which a source publishes."""
        return self.arrivals(source).between(start, end)


def law_named(name: str, rate: float, swing: float = 6.0, peak_hour: float = 12.0, phase: float = 0.0) -> Law:
    """One of the four usual laws at a rate per virtual hour."""
    if name == "diurnal":
        return Law(rate=rate, swing=swing, peak_hour=peak_hour)
    if name == "drifting":
        return Law(rate=rate, drift=10.0, drift_days=2.0, drift_phase=phase)
    if name == "bursty":
        return Law(rate=rate, branching=0.75)
    return Law(rate=rate)


def _check(sources: int, hosts: int, mix: str, law: str, window: int, forbidden_share: float) -> None:
    for name, expected, value, holds in (
        ("sources", "at least 1", sources, sources >= 1),
        ("hosts", "at least 1", hosts, hosts >= 1),
        ("mix", f"one of {', '.join(MIXES)}", mix, mix in MIXES),
        ("law", f"one of {', '.join(get_args(LawName))}", law, law in get_args(LawName)),
        ("window", "at least 1", window, window >= 1),
        ("forbidden_share", "in [0, 1]", forbidden_share, 0.0 <= forbidden_share <= 1.0),
    ):  # fmt: skip
        if not holds:
            raise ParameterError(name, expected, value)
