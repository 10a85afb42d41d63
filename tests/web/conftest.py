from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from recrawl.store.sqlite import SqliteStore
from recrawl.web.server import bound, serve

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHOTS = Path(__file__).parents[2] / "out" / "screenshots"
PATIENCE_S = 120.0
"""Far more than anything here takes: only what never happens is waited for so long."""


class Running:
    """Coroutines on an event loop in a thread of its own; ended when told, or with the test."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._tasks: list[Any] = []
        self._thread.start()

    def start(self, work: Any) -> None:
        """Begin something that goes on until the end."""

        async def begun() -> asyncio.Task[Any]:
            return asyncio.create_task(work)

        self._tasks.append(self.call(begun()))

    def call(self, work: Any) -> Any:
        """Do something, and wait for what comes of it."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_S)

    def finish(self) -> None:
        """Wait until everything that was begun has ended by itself."""

        async def ended() -> None:
            await asyncio.wait(self._tasks, timeout=PATIENCE_S)

        self.call(ended())

    def end(self) -> None:
        """Cancel everything, and wait until it is over."""

        async def over() -> None:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.loop.shutdown_default_executor()

        self.call(over())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE_S)
        self.loop.close()


@contextmanager
def shown(app: FastAPI) -> Iterator[str]:
    """The app on a free port of loopback; its address."""
    running, listener = Running(), bound("127.0.0.1", 0)
    port = listener.getsockname()[1]
    running.start(serve(app, listener=listener))
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        running.end()


@pytest.fixture
def show() -> Iterator[Callable[[FastAPI], str]]:
    """Shows apps until the test is over."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(shown(app))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "recrawl.db") as opened:
        yield opened


@pytest.fixture
def running() -> Iterator[Running]:
    """A loop for whatever else a test needs: a crawler, a web of our own."""
    loop = Running()
    yield loop
    loop.end()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium. Its driver keeps a loop running in this thread, so it must not outlive the module."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the system's package `chromium`")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


class Watched:
    """A tab that is looked at: what it complains of, and whom it asks."""

    def __init__(self, browser: Any, width: int, scheme: str, pictures: bool) -> None:
        self._pictures = pictures
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.context.on("request", lambda request: self.requests.append(request.url))

    def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def picture(self, name: str, **options: Any) -> None:
        """Take one for people to look at, where `--pictures` asks for them: no test does."""
        if self._pictures:
            self.page.screenshot(path=SHOTS / f"{name}.png", **(options or {"full_page": True}))

    def strangers(self, address: str) -> list[str]:
        """Requests to anybody but the server."""
        return [url for url in self.requests if not url.startswith((address, "data:", "about:", "blob:"))]


@pytest.fixture
def tab(browser: Any, pytestconfig: pytest.Config) -> Iterator[Callable[..., Watched]]:
    """Opens tabs; a complaint of any of them fails the test."""
    opened: list[Watched] = []

    def open_tab(width: int = 1280, scheme: str = "light") -> Watched:
        opened.append(Watched(browser, width, scheme, pytestconfig.getoption("--pictures")))
        return opened[-1]

    yield open_tab
    complaints = [complaint for each in opened for complaint in each.complaints]
    for each in opened:
        each.context.close()
    assert complaints == []
