"""Whether a page that was fetched is to be shown by a browser before it is read, and how: for visits and previews."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import structs

from recrawl.config.page_secrets import with_secrets
from recrawl.config.page_steps import filled_in
from recrawl.config.source_options import Render
from recrawl.crawl.fetching.fetcher import Fetcher, FetchResult
from recrawl.crawl.reading import shells
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.rendering.messages import Fetched, Order, Rendered
from recrawl.crawl.rendering.record import Why
from recrawl.crawl.rendering.renderer import Renderer
from recrawl.crawl.urls import origin
from recrawl.store.records import Source

if TYPE_CHECKING:
    from recrawl.crawl.fetching.transport import Response
    from recrawl.store.source_terms import EffectiveOptions

HTML = "text/html; charset=utf-8"
MOST_DOCUMENT = 10_000_000
"""Bytes of a document that goes into the browser."""
_OF_THE_DOCUMENT = frozenset(("cache-control", "expires", "etag", "last-modified", "content-type", "content-encoding"))
"""Headers that say nothing of what its scripts make of it."""
BEGINNING = 2048
"""Bytes in which a document says its encoding."""
_NUMBERS = count(1)


def wanted(render: Render, response: Response, findings: Findings | None, error: str) -> Why | None:
    """Why a browser is to show a document; None if it is not to.

    Parameters
        findings, error: what was read of it without one, or why nothing could be
    """
    kind = response.headers.get("content-type", "").lower()
    if render == "never" or (findings is not None and findings.kind != "page") or not ("html" in kind or not kind):
        return None
    if render == "browser":
        return "asked"
    return "shell" if (findings.shell if findings is not None else shells.WORDS in error) else None


def without_browser(missing: str) -> str:
    """What the owner of a page that is empty should know where there is no browser."""
    return f"{shells.WORDS}, and there is no browser to show it: {missing}"


class ShownPages:
    """Shows pages of sources.

    Parameters
        environment: where steps find what must not be written down
    """

    def __init__(
        self,
        renderer: Renderer,
        fetcher: Fetcher,
        *,
        pictures: bool = False,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.renderer, self._fetcher, self._pictures, self._environment = renderer, fetcher, pictures, environment

    async def show(self, source: Source, options: EffectiveOptions, fetched: FetchResult) -> Rendered:
        """What a browser shows of a document that was fetched; NoBrowserError, BusyError, or UnreadableError.

        Other documents that it leads to are fetched like it, and counted with it.
        """
        response, number = fetched.response, next(_NUMBERS)
        assert response is not None
        order = Order(
            document=_document(number, fetched.final_url, response),
            steps=self._steps(options),
            cookies=with_secrets(_cookies(source, fetched.final_url), self._environment),
            picture=self._pictures,
        )

        async def ask(url: str) -> Fetched:
            own = source.headers if origin(url) == origin(source.url) else {}
            other = await self._fetcher.visit(url, own, prepaid=0, robots=options.robots)
            fetched.requests += other.requests
            if other.response is None:
                return Fetched(page=number, url=other.final_url, error=other.refused or other.error or "no answer")
            return _document(number, other.final_url, other.response)

        shown = await self.renderer.render(order, ask)
        if shown.error:
            raise UnreadableError(f"a browser cannot show it: {shown.error}")
        return shown

    async def close(self) -> None:
        """End the browser."""
        await self.renderer.close()

    def _steps(self, options: EffectiveOptions) -> tuple[str, ...]:
        try:
            return tuple(filled_in(step, self._environment) for step in options.steps)
        except KeyError as missing:
            raise UnreadableError(
                f"a step needs the environment variable {missing.args[0]}, which is not set"
            ) from None


def as_shown(response: Response, shown: Rendered) -> Response:
    """The answer with what a browser made of it in place of its document."""
    headers = {name: text for name, text in response.headers.items() if name not in _OF_THE_DOCUMENT}
    elapsed_s = response.elapsed_s + shown.seconds
    return structs.replace(response, headers={**headers, "content-type": HTML}, body=shown.html, elapsed_s=elapsed_s)


def _document(number: int, url: str, response: Response) -> Fetched:
    if not 200 <= response.status < 300:
        return Fetched(page=number, url=url, error=f"HTTP status {response.status}")
    if len(response.body) > MOST_DOCUMENT:
        return Fetched(page=number, url=url, error="it is too large for a browser")
    return Fetched(
        page=number,
        url=url,
        status=response.status,
        headers=_with_charset(response),
        cookies=response.cookies,
        body=response.body,
    )


def _with_charset(response: Response) -> Mapping[str, str]:
    """Headers; of a document that says nothing of its encoding, and is in UTF-8, that it is, as readers find out."""
    kind = response.headers.get("content-type") or "text/html"
    if "charset" in kind.lower() or b"charset" in response.body[:BEGINNING].lower():
        return response.headers
    try:
        response.body.decode()
    except UnicodeDecodeError:
        return response.headers
    return {**response.headers, "content-type": f"{kind}; charset=utf-8"}


def _cookies(source: Source, url: str) -> str:
    """The owner's, for the source's own origin alone."""
    if urlsplit(url)[:2] != urlsplit(source.url)[:2]:
        return ""
    return next((text for name, text in source.headers.items() if name.lower() == "cookie"), "")
