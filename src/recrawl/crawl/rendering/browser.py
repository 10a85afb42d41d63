"""Chromium, kept in bounds: started once, a context of its own for every page, watched while pages are open.

A page has no permissions, no windows, no downloads, no service workers, no pictures or sounds it does not need, and no
network but its proxy (`guarded_proxy`). The browser itself has none at all.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from recrawl.crawl.fetching import address_guard, dns
from recrawl.crawl.rendering import processes
from recrawl.crawl.rendering.guarded_proxy import GuardedProxy
from recrawl.crawl.rendering.messages import Fetched, Order, Rendered, Setting
from recrawl.crawl.rendering.page_visit import HEIGHT, WIDTH, PageError, PageVisit

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
NOWHERE = "http://127.0.0.1:9"
"""Where the browser's own requests go: nobody listens there."""
FLAGS = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--renderer-process-limit=4",
    "--js-flags=--max-old-space-size=512",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
START_S, CLOSE_S = 60.0, 5.0


class Browser:
    """Chromium by Playwright. `start` first; `close` in the end."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        rule = address_guard.anywhere if setting.allow_private else address_guard.refusal
        self._resolver, self._guard = dns.Resolver(rule=rule), address_guard.Guard(rule)
        self._playwright: Any = None
        self._chromium: Any = None
        self._pictured: dict[str, str] = {}
        self.open = 0
        """Pages under way."""
        self.most_memory = 0
        """Bytes that its processes held at once, since the first of the pages that are under way was opened."""

    async def start(self) -> None:
        """Start it; an exception of Playwright's, or TimeoutError, if that cannot be."""
        from playwright.async_api import async_playwright

        async with asyncio.timeout(START_S):
            self._playwright = await async_playwright().start()
            self._chromium = await self._playwright.chromium.launch(
                executable_path=self._setting.path or system_browser() or None,
                chromium_sandbox=self._setting.sandbox,
                args=[*FLAGS],
                proxy={"server": NOWHERE, "bypass": "<-loopback>"},
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                timeout=START_S * 1000,
            )

    async def close(self) -> None:
        """End it, by force if it does not end by itself."""
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_S):
                await self._chromium.close()
                await self._playwright.stop()
        processes.end_descendants()

    async def render(self, order: Order, ask: Callable[[str], Awaitable[Fetched]]) -> Rendered:
        """What a page shows. It is over when this returns, or the browser does not answer any more (TimeoutError)."""
        limits, began, cpu_before = self._setting.limits, time.monotonic(), self._cpu_s()
        proxy = GuardedProxy(self._resolver, self._guard, limits.size)
        visit = PageVisit(order, limits, ask, self._pictured)
        error = reason = ""
        self.most_memory = self.most_memory if self.open else 0
        self.open += 1
        try:
            context = await self._context(order, await proxy.open())
            try:
                await visit.carry_out(context)
            except PageError as failure:
                error, reason = str(failure), failure.reason
            finally:
                async with asyncio.timeout(CLOSE_S):
                    await context.close()
        finally:
            await proxy.close()
            together, self.open = self.open, self.open - 1
        return Rendered(
            page=order.document.page,
            url=visit.url,
            html=b"" if error else visit.html,
            picture=b"" if error else visit.picture,
            error=error,
            reason=reason,
            remark=visit.remark,
            requests=visit.requests,
            refused=visit.refused + proxy.refused,
            refusals=tuple(proxy.refusals),
            received=proxy.received,
            seconds=time.monotonic() - began,
            cpu_s=max(self._cpu_s() - cpu_before, 0.0) / together,
            memory=self.most_memory,
        )

    async def _context(self, order: Order, port: int) -> BrowserContext:
        """A browser of its own, as far as the page can tell."""
        async with asyncio.timeout(CLOSE_S):
            context: BrowserContext = await self._chromium.new_context(
                proxy={"server": f"http://127.0.0.1:{port}", "bypass": "<-loopback>"},
                user_agent=self._setting.user_agent,
                viewport={"width": WIDTH, "height": HEIGHT},
                ignore_https_errors=not self._setting.verify_tls,
                accept_downloads=False,
                service_workers="block",
                permissions=[],
                reduced_motion="reduce",
            )
            if order.cookies:
                await context.add_cookies(_cookies(order.cookies, order.document.url))
        return context

    def look(self) -> str:
        """Whether it has grown too large, in words; empty if not. May be asked in any thread."""
        used = processes.usage([os.getpid(), *processes.descendants(os.getpid())])
        self.most_memory = max(used.memory, self.most_memory)
        limits = self._setting.limits
        if used.memory > limits.memory:
            return f"it made the browser take more than {limits.memory / 1e6:.0f} MB of memory"
        return f"it made the browser start {used.processes} processes" if used.processes > MOST_PROCESSES else ""

    def _cpu_s(self) -> float:
        return processes.usage([os.getpid(), *processes.descendants(os.getpid())]).cpu_s


MOST_PROCESSES = 60
"""Of the browser, its driver and what they start; an ordinary page has about ten."""


def system_browser() -> str:
    """Where the system's own is; empty if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), "")


def _cookies(said: str, url: str) -> Any:
    """As a Cookie header says them, for the host of the URL alone."""
    split = urlsplit(url)
    pairs = (each.strip().partition("=") for each in said.split(";") if "=" in each)
    return [
        {"name": name, "value": value, "domain": split.hostname or "", "path": "/", "secure": split.scheme == "https"}
        for name, _, value in pairs
    ]
