"""Renders pages for the crawler: keeps a rendering process (`worker`), hands it pages, and ends it when it must.

Few pages are rendered at once, and others wait, but never more than half of all visits under way; the rest are told to
come back (`BusyError`), so that pages without a browser are never kept waiting by those with one. A process that does
not answer in a page's time is ended with all that it started; so is one that has rendered many pages, and one that
nobody has needed for a while.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from recrawl.config import Browsing, Fetching
from recrawl.crawl.fetching.http_transport import user_agent
from recrawl.crawl.rendering import processes
from recrawl.crawl.rendering.messages import (
    LARGEST,
    Fetched,
    Limits,
    Order,
    Ready,
    Rendered,
    Setting,
    Wanted,
    framed,
    from_worker,
)
from recrawl.errors import RecrawlError

WAITING_SHARE = 0.5
"""Of all visits that may be under way, so many may be those that are shown or wait for it."""
GRACE_S = 10.0
"""Beyond a page's time, for opening and closing; then the process does not answer."""
START_S = 90.0
IDLE_S = 300.0
PAGES = 200
"""After so many a new browser is started: they grow."""
SOON_S = 30.0
"""When to come back where the browser is busy."""
RETRY_S = 600.0
"""When it is tried again to start one that could not be."""
_KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "PLAYWRIGHT_BROWSERS_PATH")
"""Of the environment: nothing of what it may hold is for strangers' pages."""
Ask = Callable[[str], Awaitable[Fetched]]


class NoBrowserError(RecrawlError):
    """There is none, or it cannot be started; the message says what to do."""


class BusyError(RecrawlError):
    """Too many pages are waiting already."""


class Renderer:
    """Renders pages, a few at a time."""

    def __init__(self, browsing: Browsing, fetching: Fetching) -> None:
        self._browsing, self._fetching = browsing, fetching
        self._turns = asyncio.Semaphore(browsing.pages)
        self._waiting = 0
        self._process: _Process | None = None
        self._starting = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None
        self._missing = ("", 0.0)
        self._pages = 0
        self._ending: asyncio.Future[None] | None = None

    @property
    def missing(self) -> str:
        """Why there is no browser, with the way out, as far as that is known; empty if there may be one."""
        why, until = self._missing
        if not why or (until and asyncio.get_running_loop().time() > until):
            why = _missing(self._browsing, self._fetching)
            self._missing = why, 0.0
        return why

    @property
    def has_room(self) -> bool:
        """Whether another page may wait for its turn."""
        return self._waiting < max(WAITING_SHARE * self._fetching.parallel, self._browsing.pages)

    @property
    def pid(self) -> int | None:
        """Of the rendering process while there is one."""
        return None if self._process is None else self._process.pid

    async def render(self, order: Order, ask: Ask) -> Rendered:
        """What a page shows, or why it shows nothing; NoBrowserError or BusyError.

        Parameters
            ask: fetches another document that the page leads to
        """
        if why := self.missing:
            raise NoBrowserError(why)
        if not self.has_room:
            raise BusyError("the browser is busy with other pages")
        self._waiting += 1
        try:
            async with self._turns:
                process = await self._ready()
                self._pages += 1
                return await process.render(order, ask, self._browsing.timeout_s + GRACE_S)
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._rest()

    async def close(self) -> None:
        """End the process with all that it started."""
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None:
            await process.end()

    async def _ready(self) -> _Process:
        """A process whose browser is up."""
        async with self._starting:
            if self._idle is not None:
                self._idle.cancel()
            process = self._process
            if process is not None and (process.is_over or (self._pages >= PAGES and process.is_idle)):
                self._process = None
                await process.end()
            if self._process is None:
                self._pages, self._process = 0, await self._started()
            return self._process

    async def _started(self) -> _Process:
        process = _Process()
        try:
            async with asyncio.timeout(START_S):
                why = await process.start(self._setting(process.home))
        except (TimeoutError, OSError, EOFError) as error:
            why = f"the browser could not be started ({type(error).__name__})"
        if why:
            await process.end()
            self._missing = why, asyncio.get_running_loop().time() + RETRY_S
            raise NoBrowserError(why)
        return process

    def _setting(self, home: str) -> Setting:
        browsing, fetching = self._browsing, self._fetching
        return Setting(
            user_agent=user_agent(fetching),
            path=browsing.path,
            sandbox=browsing.sandbox,
            verify_tls=fetching.verify_tls,
            allow_private=fetching.allow_private,
            home=home,
            limits=Limits(
                timeout_s=browsing.timeout_s,
                memory=browsing.memory_bytes,
                requests=browsing.requests,
                size=browsing.size_bytes,
            ),
        )

    def _rest(self) -> None:
        """Nobody needs it now: it is ended if that stays so."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_S, self._end)

    def _end(self) -> None:
        self._ending = asyncio.ensure_future(self.close())


class _Process:
    """One rendering process and what is under way in it."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="recrawl-browser-")
        self._child: asyncio.subprocess.Process | None = None
        self._open: dict[int, tuple[asyncio.Future[Rendered], Ask]] = {}
        self._ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._reading: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self.is_over = False

    @property
    def pid(self) -> int | None:
        """Of the process."""
        return None if self._child is None else self._child.pid

    @property
    def is_idle(self) -> bool:
        """Whether no page is under way."""
        return not self._open

    async def start(self, setting: Setting) -> str:
        """Why its browser could not be started; empty if it is up."""
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), self.home)
        browsers = Path.home() / ".cache" / "ms-playwright"
        if "PLAYWRIGHT_BROWSERS_PATH" not in environment and browsers.is_dir():
            environment["PLAYWRIGHT_BROWSERS_PATH"] = str(browsers)
        self._child = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", "from recrawl.crawl.rendering.worker import serve; serve()",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True, env=environment, cwd=self.home, limit=LARGEST,
        )  # fmt: skip
        self._reading = asyncio.create_task(self._read())
        await self._send(setting)
        return await self._ready

    async def render(self, order: Order, ask: Ask, within_s: float) -> Rendered:
        """What it says of a page; if nothing in time, it is ended."""
        page = order.document.page
        answer: asyncio.Future[Rendered] = asyncio.get_running_loop().create_future()
        self._open[page] = answer, ask
        try:
            await self._send(order)
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError:
            await self.end()
            return Rendered(page=page, reason="timeout", error=f"the browser did not answer in {within_s:g} s")
        finally:
            self._open.pop(page, None)

    async def end(self) -> None:
        """End it with all that it started; pages under way are told."""
        self.is_over = True
        if self._child is not None:
            if self._child.returncode is None:
                await asyncio.to_thread(processes.end_all, self._child.pid)
            await self._child.wait()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, *self._asking, return_exceptions=True)
        self._give_up()
        await asyncio.to_thread(shutil.rmtree, self.home, True)

    async def _send(self, message: Setting | Order | Fetched) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        with suppress(OSError):  # it has ended, which whoever reads notices
            self._child.stdin.write(framed(message))
            await self._child.stdin.drain()

    async def _read(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        try:
            while True:
                match await from_worker(self._child.stdout):
                    case Ready(error=why):
                        self._ready.set_result(why)
                    case Rendered() as rendered:
                        self.is_over = self.is_over or rendered.last
                        if (waiting := self._open.get(rendered.page)) and not waiting[0].done():
                            waiting[0].set_result(rendered)
                    case Wanted() as wanted:
                        task = asyncio.create_task(self._fetch(wanted))
                        self._asking.add(task)
                        task.add_done_callback(self._asking.discard)
        except (asyncio.IncompleteReadError, OSError, ValueError):
            self.is_over = True
            self._give_up()

    async def _fetch(self, wanted: Wanted) -> None:
        if waiting := self._open.get(wanted.page):
            document = await waiting[1](wanted.url)
            await self._send(structs.replace(document, page=wanted.page))

    def _give_up(self) -> None:
        for page, (answer, _) in self._open.items():
            if not answer.done():
                words = "the browser had to be ended while it showed this page"
                answer.set_result(Rendered(page=page, error=words, reason="browser"))
        if not self._ready.done():
            self._ready.set_result("the browser could not be started")


def _missing(browsing: Browsing, fetching: Fetching) -> str:
    """What can be told without trying."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed: pip install 'recrawl[browser]'"
    if sys.platform != "linux":
        return "pages are rendered on Linux only"
    if fetching.proxy:
        return "pages are not rendered through fetch.proxy"
    if browsing.path and shutil.which(browsing.path) is None:
        return f"there is no browser at {browsing.path} (browser.path)"
    if browsing.sandbox and os.geteuid() == 0:
        return (
            "Chromium does not run in its sandbox as root: run as another user, or set sandbox = false under [browser] "
            "if only pages you trust are rendered"
        )
    return ""
