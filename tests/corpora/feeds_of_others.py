"""The feeds in other projects' tests, and how a document of theirs is given to our reader."""

from __future__ import annotations

import re
from collections.abc import Iterator

from corpora.packages import has_npm, unpacked
from recrawl.crawl.reading.readers import Document

NOW = 4e9
"""Later than every date in them: a date after the fetch would count as the fetch's."""
_HEADER = re.compile(rb"^Header:\s+([^:]+):(.+)$", re.MULTILINE)
_FOLDERS = {
    "podcastparser": ("tests/data/*.rss",),
    "rss-parser": ("test/input/*.*",),
    "node-feedparser": ("test/feeds/*.*",),
    "podcast-feed-parser": ("test/testfiles/*.xml",),
    "feed-read": ("test/fixtures/*.*",),
}


def of_feedparser() -> Iterator[tuple[str, bytes]]:
    """Name and body."""
    root = unpacked("feedparser") / "tests"
    for path in sorted(root.rglob("*.xml")):
        yield str(path.relative_to(root)), path.read_bytes()


def of_everybody() -> Iterator[tuple[str, bytes]]:
    """Name, its project first, and body."""
    for name, body in of_feedparser():
        yield f"feedparser/{name}", body
    for package, patterns in _FOLDERS.items():
        if package != "podcastparser" and not has_npm():
            continue
        root = unpacked(package)
        for pattern in patterns:
            for path in sorted(root.glob(pattern)):
                yield f"{package}/{path.name}", path.read_bytes()


def document(name: str, body: bytes) -> Document:
    """As a crawler would have it, with the headers that feedparser's files ask for in a comment."""
    headers = {key.decode().lower(): value.decode("utf-8", "replace").strip() for key, value in _HEADER.findall(body)}
    return Document(
        url=f"http://127.0.0.1:8097/tests/{name}", body=body, now=NOW, kind="feed",
        content_type=headers.get("content-type", ""), headers=headers,
    )  # fmt: skip
