"""The rendering process: takes orders from its standard input, and ends with it, and with it all that it started."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import threading
from contextlib import suppress

from recrawl.crawl.rendering import processes
from recrawl.crawl.rendering.browser import Browser
from recrawl.crawl.rendering.messages import (
    LARGEST,
    Fetched,
    FromWorker,
    Order,
    Ready,
    Rendered,
    Setting,
    Wanted,
    framed,
    to_worker,
)

WATCH_S = 0.2
"""How often it is looked at how large the browser is."""
NICE = 10
"""Whatever pages do, the crawler goes first."""
LARGEST_FILE = 256_000_000
PR_SET_CHILD_SUBREAPER = 36


def serve() -> None:
    """What a rendering process does, until its standard input ends."""
    said = os.dup(1)
    os.dup2(2, 1)  # whatever else prints
    _bow()
    try:
        asyncio.run(_Worker(said).run())
    finally:
        processes.end_descendants()
        os._exit(0)


def _bow() -> None:
    """Go after everybody else, be the first to end when memory is short, and adopt what children leave behind."""
    with suppress(OSError):
        os.nice(NICE)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("900")
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Worker:
    """Pages under way, by number, and the pipes to the crawler."""

    def __init__(self, said: int) -> None:
        self._said = said
        self._writing = threading.Lock()
        self._open: dict[int, asyncio.Future[Fetched] | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._browser: Browser | None = None
        self._too_large = ""

    async def run(self) -> None:
        """Carry out orders."""
        loop = asyncio.get_running_loop()
        orders = asyncio.StreamReader(limit=LARGEST)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), os.fdopen(0, "rb"))
        try:
            while True:
                match await to_worker(orders):
                    case Setting() as setting:
                        await self._start(setting)
                    case Order() as order:
                        self._open[order.document.page] = None
                        task = asyncio.create_task(self._render(order))
                        self._tasks.add(task)
                        task.add_done_callback(self._tasks.discard)
                    case Fetched() as document:
                        waiting = self._open.get(document.page)
                        if waiting is not None and not waiting.done():
                            waiting.set_result(document)
        except asyncio.IncompleteReadError:
            return

    async def _start(self, setting: Setting) -> None:
        browser = Browser(setting)
        try:
            await browser.start()
        except Exception as error:
            self._say(Ready(error=_why(error)))
            return
        self._browser = browser
        threading.Thread(target=self._watch, daemon=True).start()
        self._say(Ready())

    async def _render(self, order: Order) -> None:
        assert self._browser is not None
        page = order.document.page
        try:
            rendered = await self._browser.render(order, lambda url: self._asked(page, url))
        except Exception as error:  # the browser is gone, or does not let go of the page: the next one gets another
            words = self._too_large or f"the browser did not answer any more ({type(error).__name__})"
            reason = "memory" if self._too_large else "browser"
            self._over(Rendered(page=page, error=words, reason=reason, last=True))
        self._open.pop(page, None)
        self._say(rendered)

    async def _asked(self, page: int, url: str) -> Fetched:
        """The document that a page leads to, from the crawler."""
        waiting = self._open[page] = asyncio.get_running_loop().create_future()
        self._say(Wanted(page=page, url=url))
        return await waiting

    def _watch(self) -> None:
        """In a thread of its own: the loop may be busy with what a page does."""
        rest = threading.Event()
        while not rest.wait(WATCH_S):
            assert self._browser is not None
            if self._open and (why := self._browser.look()):
                self._too_large = why
                self._over(*(Rendered(page=page, error=why, reason="memory", last=True) for page in list(self._open)))

    def _over(self, *last: Rendered) -> None:
        """Say a last word, and end with everything."""
        processes.end_descendants()
        for each in last:
            self._say(each)
        os._exit(1)

    def _say(self, message: FromWorker) -> None:
        """Waits while the crawler does not read: what it does not take, nobody needs."""
        with self._writing:
            data = memoryview(framed(message))
            try:
                while data:
                    data = data[os.write(self._said, data) :]
            except OSError:
                os._exit(1)


def _why(error: Exception) -> str:
    """Why the browser could not be started, with the way out."""
    text = str(error)
    if isinstance(error, ImportError):
        return "Playwright is not installed: pip install 'recrawl[browser]'"
    if "Executable doesn't exist" in text:
        return "there is no browser: install the system's chromium, or run: playwright install chromium"
    if "sandbox" in text.lower():
        return "Chromium's sandbox cannot be used here: see browser.sandbox in the settings"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"Chromium could not be started: {lines[0][:200] if lines else type(error).__name__}"


if __name__ == "__main__":
    if sys.platform == "win32":
        sys.exit("rendering needs a Unix")
    serve()
