"""One page in the browser: opened, waited for, worked on, read, and closed, whatever it does meanwhile.

It is read when it has loaded and asks for nothing any more, or when its time is over, as it stands then. Its text is
taken from outside of the world of its scripts, so that they cannot answer in its place, and is cut at what readers look
at.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from recrawl.config.page_steps import parsed
from recrawl.crawl.rendering.messages import MOST_HTML, MOST_PICTURE, Fetched, Limits, Order

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Request, Route

QUIET_S = 5.0
"""How long a loaded page may go on asking for things before it is read."""
LOADING = 0.6
"""Of its time a page may take to load before it is read as it stands."""
STEP_S = 10.0
MOST_FRAMES, MOST_WINDOWS = 20, 5
MOST_DOCUMENTS = 5
"""That scripts and steps may lead to, one after the other."""
WIDTH, HEIGHT, TALLEST = 1280, 900, 2400
PICTURES = ((0.5, 60), (0.4, 30))
"""Scale and quality of a screenshot, and those that are tried if it is too large."""
_UNWANTED = frozenset(("media", "font"))
_FRAMING = frozenset((
    "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive", "content-disposition",
))  # fmt: skip
"""Headers of how it came, and that it is better saved than shown."""
_READ = """(() => {
  const roots = [];
  const look = (place) => {
    for (const each of place.querySelectorAll('*')) {
      if (each.shadowRoot) { roots.push(each.shadowRoot); look(each.shadowRoot); }
    }
  };
  look(document);
  if (!roots.length || !document.documentElement.getHTML) {
    return '<!doctype html>' + document.documentElement.outerHTML.slice(0, LIMIT);
  }
  const whole = document.documentElement.getHTML({shadowRoots: roots}).slice(0, LIMIT);
  const copy = new DOMParser().parseFromString(whole, 'text/html');
  const open = (place) => {
    for (const each of [...place.querySelectorAll('template[shadowrootmode]')]) {
      open(each.content);
      const shown = copy.createElement('div');
      shown.append(each.content);
      each.replaceWith(shown);
    }
  };
  open(copy);
  return '<!doctype html>' + copy.documentElement.outerHTML.slice(0, LIMIT);
})()""".replace("LIMIT", str(MOST_HTML))
"""All of the page, what its components hold in trees of their own among it."""


class PageError(Exception):
    """There is nothing to read; `reason` is that in a word."""

    def __init__(self, reason: str, words: str) -> None:
        self.reason = reason
        super().__init__(words)


class PageVisit:
    """One page.

    Parameters
        ask: fetches another document, in the crawler
        pictured: digests of what pages looked like when a screenshot was taken of them last
    """

    def __init__(
        self,
        order: Order,
        limits: Limits,
        ask: Callable[[str], Awaitable[Fetched]],
        pictured: dict[str, str],
    ) -> None:
        self._order, self._limits, self._ask, self._pictured = order, limits, ask, pictured
        self._document: Fetched | None = order.document
        self._documents = self._frames = self._windows = 0
        self._stopped: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.requests = self.refused = 0
        self.remark = self.url = ""
        self.html = self.picture = b""

    async def carry_out(self, context: BrowserContext) -> None:
        """Open it, do what is to be done, and read it; PageError if that cannot be."""
        end = asyncio.get_running_loop().time() + self._limits.timeout_s
        await context.route("**/*", self._route)
        await context.add_init_script("window.open = () => null")
        page = await context.new_page()
        context.on("page", self._window)
        page.on("crash", lambda _: self._stop("crash", "the page crashed: it may have taken too much memory"))
        work = asyncio.create_task(self._work(page, end))
        try:
            async with asyncio.timeout_at(end):
                await asyncio.wait((work, self._stopped), return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            raise PageError("timeout", f"its scripts did not come to an end in {self._limits.timeout_s:g} s") from None
        finally:
            work.cancel()
            failure = (await asyncio.gather(work, return_exceptions=True))[0]
        if self._stopped.done():
            reason, _, words = self._stopped.result().partition(": ")
            raise PageError(reason, words)
        if isinstance(failure, PageError):
            raise failure
        if isinstance(failure, BaseException):
            raise PageError("browser", f"the browser could not show it: {_first_line(failure)}") from failure

    async def _work(self, page: Page, end: float) -> None:
        await self._open(page, end)
        for number, line in enumerate(self._order.steps, 1):
            await self._step(page, line, number, end)
        self.url = page.url
        await self._read(page)

    async def _open(self, page: Page, end: float) -> None:
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as Late

        left = (end - asyncio.get_running_loop().time()) * LOADING
        try:
            try:
                await page.goto(self._order.document.url, wait_until="load", timeout=left * 1000)
            except Error as error:
                if isinstance(error, Late) or not self._documents:
                    raise
                await page.wait_for_load_state("load", timeout=left * 1000)  # its scripts lead to another
            await self._quiet(page)
        except Late:
            self.remark = f"it was still loading after {left:.0f} s, and was read as it stood then"

    async def _quiet(self, page: Page) -> None:
        from playwright.async_api import TimeoutError as Late

        try:
            await page.wait_for_load_state("networkidle", timeout=QUIET_S * 1000)
        except Late:
            self.remark = f"it goes on asking for things: it was read {QUIET_S:g} s after it had loaded"

    async def _step(self, page: Page, line: str, number: int, end: float) -> None:
        from playwright.async_api import Error

        step = parsed(line)
        if step is None:
            raise PageError("step", f"step {number} is none")
        wait = min(STEP_S, end - asyncio.get_running_loop().time()) * 1000
        where = page.locator(step.select).first
        try:
            match step.kind:
                case "click":
                    await where.click(timeout=wait)
                    await self._quiet(page)
                case "type":
                    await where.fill(step.text, timeout=wait)
                case "wait_for":
                    await where.wait_for(state="visible", timeout=wait)
                case "wait":
                    await asyncio.sleep(step.seconds)
        except Error as error:
            what = f"{step.kind} {step.select}"
            raise PageError("step", f"step {number} ({what}) could not be done in {wait / 1000:.0f} s") from error

    # -- reading

    async def _read(self, page: Page) -> None:
        session = await page.context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        frame = {"frameId": tree["frameTree"]["frame"]["id"]}
        world = await session.send("Page.createIsolatedWorld", frame)
        asked = {"contextId": world["executionContextId"], "returnByValue": True, "expression": _READ}
        told = (await session.send("Runtime.evaluate", asked)).get("result", {}).get("value")
        if not isinstance(told, str):
            raise PageError("browser", "the page could not be read")
        self.html = told.encode("utf-8", "replace")[:MOST_HTML]
        if self._order.picture:
            await self._photograph(session)

    async def _photograph(self, session: Any) -> None:
        """A screenshot, unless it would be as the last one."""
        looks = hashlib.blake2b(self.html, digest_size=8).hexdigest()
        if self._pictured.get(self._order.document.url) == looks:
            return
        size = (await session.send("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(max(size["height"], 200), TALLEST)}
        for scale, quality in PICTURES:
            asked = {
                "format": "jpeg",
                "quality": quality,
                "clip": {**clip, "scale": scale},
                "captureBeyondViewport": True,
            }
            taken = base64.b64decode((await session.send("Page.captureScreenshot", asked))["data"])
            if len(taken) <= MOST_PICTURE:
                self.picture = taken
                self._pictured[self._order.document.url] = looks
                if len(self._pictured) > 1000:
                    del self._pictured[next(iter(self._pictured))]
                return

    # -- what the page asks for

    async def _route(self, route: Route) -> None:
        from playwright.async_api import Error

        try:
            await self._answer(route, route.request)
        except Error:
            return  # the page is closed, or has gone on

    async def _window(self, page: Page) -> None:
        """Another window: nobody looks at it."""
        from playwright.async_api import Error

        self._windows += 1
        if self._windows > MOST_WINDOWS:
            self._stop("windows", f"it opened more than {MOST_WINDOWS} windows")
        with suppress(Error):
            await page.close()

    async def _answer(self, route: Route, request: Request) -> None:
        if request.is_navigation_request() and request.frame.parent_frame is None:
            return await self._answer_document(route, request)
        self.requests += 1
        if self.requests > self._limits.requests:
            self._stop("requests", f"it made more than {self._limits.requests} requests")
            return await route.abort()
        self._frames += request.is_navigation_request()
        unwanted = request.resource_type in _UNWANTED or (request.resource_type == "image" and not self._order.picture)
        if unwanted or self._frames > MOST_FRAMES:
            self.refused += not unwanted
            return await route.abort()
        return await route.continue_()

    async def _answer_document(self, route: Route, request: Request) -> None:
        """The document itself, or another one that it leads to: by the crawler's own fetcher."""
        document, self._document = self._document, None
        if document is None:
            self._documents += 1
            if self._documents > MOST_DOCUMENTS:
                self._stop("redirects", f"it leads on and on, to more than {MOST_DOCUMENTS} other pages")
                return await route.abort()
            if request.method != "GET":
                # What the owner's own steps send, with what they typed; nobody else's scripts may.
                return await (route.continue_() if self._order.steps else route.abort())
            document = await self._ask(request.url)
            if document.error:
                self._stop("document", f"it leads to {document.url}: {document.error}")
                return await route.abort()
        headers = {name: text for name, text in document.headers.items() if name not in _FRAMING}
        if document.cookies:
            headers["set-cookie"] = "\n".join(document.cookies)
        if document.url != request.url and _bare(document.url) != _bare(request.url):
            # It was redirected: the page has to know where it is.
            self._document = document
            where = {"location": document.url, "cache-control": "no-store"}
            return await route.fulfill(
                status=200, headers={"content-type": "text/html"}, body=_leading(where["location"])
            )
        return await route.fulfill(status=document.status, headers=headers, body=document.body)

    def _stop(self, reason: str, words: str) -> None:
        if not self._stopped.done():
            self._stopped.set_result(f"{reason}: {words}")


def _bare(url: str) -> str:
    split = urlsplit(url)
    return split._replace(path=split.path or "/", fragment="").geturl()


def _leading(url: str) -> str:
    """A document that leads on: an answer made up here may not be a redirect."""
    written = url.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'<!doctype html><meta http-equiv="refresh" content="0;url={written}">'


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
