"""Fetches with aiohttp and nothing else: what is left of a crawler that decides, reads, learns and stores nothing.

Run: python -m benchmarks.aiohttp_fetch URLS.txt VALIDATORS.json      which is read, if it is there, and written
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import uvloop

PARALLEL = 64


async def fetch_all(urls: list[str], validators: dict[str, str]) -> None:
    """Each once, with the validator of the last time."""
    left: Iterator[str] = iter(urls)
    connector = aiohttp.TCPConnector(limit=PARALLEL, ssl=ssl.create_default_context())
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

        async def one_after_the_other() -> None:
            for url in left:
                known = validators.get(url)
                headers = {"If-None-Match": known} if known else {}
                async with session.get(url, headers=headers) as answer:
                    await answer.read()
                    if answer.status not in (200, 304):
                        sys.exit(f"{url}: status {answer.status}")
                    validators[url] = answer.headers.get("ETag", "")

        await asyncio.gather(*(one_after_the_other() for _ in range(PARALLEL)))


def main() -> None:
    urls, kept = Path(sys.argv[1]).read_text().split(), Path(sys.argv[2])
    validators = json.loads(kept.read_text()) if kept.exists() else {}
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fetch_all(urls, validators))
    kept.write_text(json.dumps(validators))


if __name__ == "__main__":
    main()
