"""What `recrawl run` shows: a live view in a terminal, plain lines elsewhere, JSON lines for programs."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from recrawl.cli.tables import harmless
from recrawl.units import show_duration, show_rate

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group
    from rich.live import Live

    from recrawl.config import Config
    from recrawl.crawl.pipeline import Crawler
    from recrawl.store.records import Crawl, Source

LIVE_S, LINE_S = 0.25, 10.0
"""Seconds between two looks of the live view, and between two plain lines."""
COMPILING = "compiling, once on this machine: decisions take a little longer meanwhile"
MARKS = {"new": "+", "changed": "~", "unchanged": "·", "first": "*", "failed": "!", "refused": "x"}


class RunDisplay(Protocol):
    """How a run is shown."""

    def begin(self, config: Config) -> None:
        """Before loading."""
        ...

    async def follow(self, crawler: Crawler) -> None:
        """While it runs; cancelled at the end."""
        ...

    def note(self, text: str) -> None:
        """Something a person should know now."""
        ...

    def hint(self, text: str) -> None:
        """What to do where there is nothing to fetch; of no use once something has been."""
        ...

    def end(self, crawler: Crawler) -> None:
        """The summary."""
        ...

    def leave(self) -> None:
        """Leave the terminal as it was found: the process ends now, without a summary."""
        ...


def display_for(*, as_json: bool, quiet: bool) -> RunDisplay:
    """The view that suits where the output goes; `quiet` where standard output belongs to the events."""
    if as_json:
        return JsonLines(sys.stderr if quiet else sys.stdout)
    if sys.stderr.isatty() and sys.stdout.isatty() and not quiet:
        return LiveView()
    return PlainLines(sys.stderr if quiet else sys.stdout)


def figures(crawler: Crawler, seconds: float) -> dict[str, Any]:
    """The state of a run in numbers."""
    from recrawl.policies.compile_ahead import compiling

    stats, request_budget, price = crawler.stats, crawler.request_budget, crawler.decider.policy.price
    return {
        "seconds": round(seconds, 3),
        "sources": len(crawler.decider),
        "requests": stats.requests,
        "spent": round(request_budget.spent, 6),
        "budget_per_s": request_budget.per_second,
        "budget_used": round(request_budget.spent / max(request_budget.earned(), 1e-9), 4),
        "crawls": stats.crawls,
        "new_items": stats.new,
        "changed": stats.changed,
        "unchanged": stats.unchanged,
        "failed": stats.failed,
        "refused": stats.refused,
        "captured": round(stats.captured, 6),
        "per_fetch": round(stats.captured / max(stats.requests, 1), 6),
        "price": None if price != price else price,
        "in_flight": crawler.in_flight,
        "trouble": stats.trouble,
        "compiling": compiling.under_way,
    }


class _Timed:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.budget = ""

    def begin(self, config: Config) -> None:
        self.budget = show_rate(config.budget_per_s)

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def leave(self) -> None:
        """Lines leave nothing behind."""


class _Lines(_Timed):
    def __init__(self, out: Any) -> None:
        super().__init__()
        self.out = out

    def hint(self, text: str) -> None:
        """As a note."""
        self.note(text)

    def note(self, text: str) -> None:
        """As it is."""
        self.out.write(text + "\n")
        self.out.flush()


class JsonLines(_Lines):
    """One JSON object per line: `{"type": "status" | "note" | "summary", …}`."""

    async def follow(self, crawler: Crawler) -> None:
        """A status now and then."""
        self.began = time.monotonic()  # loading is not part of the run
        while True:
            await asyncio.sleep(LINE_S)
            self._write({"type": "status", **figures(crawler, self.seconds())})

    def note(self, text: str) -> None:
        """As an object."""
        self._write({"type": "note", "text": text})

    def end(self, crawler: Crawler) -> None:
        """The summary."""
        why = crawler.why_nothing()
        ended = {"in_flight": 0, "compiling": False, "why_nothing": why}
        self._write({"type": "summary", **figures(crawler, self.seconds()), **ended})

    def _write(self, what: dict[str, Any]) -> None:
        import msgspec

        super().note(harmless(msgspec.json.encode(what).decode()))


class PlainLines(_Lines):
    """A line every few seconds."""

    def begin(self, config: Config) -> None:
        """Say what begins."""
        super().begin(config)
        self.note(f"crawling {config.store} at {self.budget}")

    async def follow(self, crawler: Crawler) -> None:
        """A line now and then."""
        self.began = time.monotonic()
        while True:
            await asyncio.sleep(LINE_S)
            now = figures(crawler, self.seconds())
            self.note(_line(now) + (f"; {COMPILING}" if now["compiling"] else "") + _trouble(now))

    def end(self, crawler: Crawler) -> None:
        """The last line, and why there is nothing to show for it."""
        from recrawl.crawl.reading.plain_text import told

        now = figures(crawler, self.seconds())
        self.note(f"done: {_line(now)}{_trouble(now)}")
        for why in crawler.why_nothing():
            self.note(told(why.text, 500))


def _line(now: dict[str, Any]) -> str:
    price = "–" if now["price"] is None else f"{now['price']:.3g}"
    return (
        f"{show_duration(now['seconds'])}: {now['requests']} requests ({now['budget_used']:.0%} of the budget), "
        f"{now['new_items']} new, {now['changed']} changed, {now['failed'] + now['refused']} failed, "
        f"captured {now['captured']:.4g} ({now['per_fetch']:.3g} per request), price {price}"
    )


def _trouble(now: dict[str, Any]) -> str:
    return f"; nothing is fetched: {now['trouble']}" if now["trouble"] else ""


class LiveView(_Timed):
    """The whole run on one screen."""

    def __init__(self) -> None:
        super().__init__()
        self.live: Live | None = None
        self.remark = self.advice = ""

    async def follow(self, crawler: Crawler) -> None:
        """Redraw a few times a second."""
        self.began = time.monotonic()
        from rich.live import Live

        with Live(self._screen(crawler), auto_refresh=False, transient=True) as self.live:
            while True:
                self.live.update(self._screen(crawler), refresh=True)
                await asyncio.sleep(LIVE_S)

    def note(self, text: str) -> None:
        """Under the figures."""
        self.remark = text

    def hint(self, text: str) -> None:
        """Under the figures, until something has been fetched."""
        self.advice = text

    def end(self, crawler: Crawler) -> None:
        """The summary stays on the screen."""
        from rich.console import Console
        from rich.text import Text

        from recrawl.crawl.reading.plain_text import told

        out, reasons = Console(highlight=False), crawler.why_nothing()
        if reasons:  # they say what was hinted at, and more
            self.remark = self.advice = ""
        out.print(self._screen(crawler, ended=True))
        for why in reasons:
            out.print(Text(told(why.text, 500), style="bold"))

    def leave(self) -> None:
        """Show the cursor again."""
        if self.live is not None:
            self.live.stop()

    def _screen(self, crawler: Crawler, ended: bool = False) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [self._summary(crawler), self._latest(crawler), self._hosts(crawler)]
        errors = [_crawl_line(source, crawl) for source, crawl in list(crawler.stats.errors)[-3:]]
        if errors:
            parts.append(Text("errors", style="bold"))
            parts.extend(errors)
        if figures(crawler, 0.0)["compiling"] and not ended:
            parts.append(Text(COMPILING))
        trouble = crawler.stats.trouble
        if trouble:
            parts.append(Text(f"nothing is fetched: {trouble}", style="bold dark_orange"))
        advice = "" if crawler.stats.crawls else self.advice
        parts.extend(Text(each, style="bold") for each in (advice, self.remark) if each)
        return Group(*parts)

    def _summary(self, crawler: Crawler) -> Figures:
        now = figures(crawler, self.seconds())
        cells = (
            ("time", show_duration(now["seconds"])),
            ("sources", str(now["sources"])),
            ("requests", str(now["requests"])),
            ("of budget", f"{now['budget_used']:.0%}"),
            ("new items", str(now["new_items"])),
            ("changed", str(now["changed"])),
            ("failed", str(now["failed"] + now["refused"])),
            ("captured", f"{now['captured']:.4g}"),
            ("per request", f"{now['per_fetch']:.3g}"),
            ("price", "–" if now["price"] is None else f"{now['price']:.3g}"),
        )
        return Figures(f"recrawl at {show_rate(now['budget_per_s'])}", cells)

    def _latest(self, crawler: Crawler) -> Group:
        from rich.console import Group

        return Group(*(_crawl_line(source, crawl) for source, crawl in list(crawler.stats.latest)[-8:]))

    def _hosts(self, crawler: Crawler) -> Any:
        from rich.text import Text

        slow = ", ".join(f"{host} {show_duration(seconds)}" for host, seconds in crawler.stats.slowest(3))
        return Text(f"slowest hosts: {slow}" if slow else "", style="dim", no_wrap=True, overflow="ellipsis")


class Figures:
    """Figures under their headings, in as many rows as the terminal needs to show all of them whole."""

    def __init__(self, title: str, cells: Sequence[tuple[str, str]]) -> None:
        self._title, self._cells = title, cells

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """As rich asks for it."""
        from rich.text import Text

        yield Text(self._title, style="bold")
        count, endless = len(self._cells), options.update(max_width=10_000)
        for rows in range(1, count + 1):
            size = -(-count // rows)
            tables = [self._row(self._cells[start : start + size]) for start in range(0, count, size)]
            if (
                rows == count
                or max(console.measure(each, options=endless).maximum for each in tables) <= options.max_width
            ):
                yield from tables
                return

    def _row(self, cells: Sequence[tuple[str, str]]) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        grid = Table(box=SIMPLE_HEAD, show_edge=False)
        for name, _ in cells:
            grid.add_column(name, justify="right", no_wrap=True)
        grid.add_row(*(value for _, value in cells))
        return grid


def _crawl_line(source: Source, crawl: Crawl) -> Any:
    from rich.text import Text

    from recrawl.crawl.reading.plain_text import clean, told, visible

    found = f"{crawl.new} new" if crawl.outcome in ("new", "first") else crawl.outcome
    name = clean(source.title, 60) or visible(source.url)
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f" {MARKS[crawl.outcome]} ", style="dark_orange" if crawl.error else "bold")
    line.append(f"{found:<12}")
    line.append(name)
    line.append(f"  {told(crawl.error, 120)}" if crawl.error else f"  worth {crawl.captured:.3g}", style="dim")
    return line
