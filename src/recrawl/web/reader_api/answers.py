"""What is said of sources and items, in the words of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import urlsplit

from recrawl.crawl.reading.content import unpacked
from recrawl.store.reader_records import Reader, Reading, Subscribed, Unread
from recrawl.store.records import Content, Item
from recrawl.web.formatting import http_link
from recrawl.web.reader_api.stream_ids import LABEL, STATE, long_form

READING_LIST = f"{STATE}reading-list"
MOST_COUNTED = 100_000
"""What is said to be the most that is counted; programs show it as a limit."""


def user_info(reader: Reader) -> dict[str, str]:
    """Who somebody is."""
    return {"userId": str(reader.id), "userName": reader.name, "userProfileId": str(reader.id), "userEmail": ""}


def subscription_list(subscriptions: Sequence[Subscribed]) -> dict[str, Any]:
    """What somebody reads."""
    return {
        "subscriptions": [
            {
                "id": f"feed/{each.source}",
                "title": each.title,
                "categories": [{"id": LABEL + label, "label": label} for label in each.labels],
                "url": each.url,
                "htmlUrl": site_of(each.url),
                "iconUrl": "",
                "sortid": f"{each.source % 2**32:08X}",
                "firstitemmsec": f"{int(each.added * 1000)}",
            }
            for each in subscriptions
        ]
    }


def tag_list(subscriptions: Sequence[Subscribed], on_items: Sequence[str]) -> dict[str, Any]:
    """Folders of subscriptions, and labels on items."""
    folders = sorted({label for each in subscriptions for label in each.labels})
    return {
        "tags": [
            {"id": f"{STATE}starred"},
            *({"id": LABEL + label, "type": "folder"} for label in folders),
            *({"id": LABEL + label, "type": "tag"} for label in on_items if label not in set(folders)),
        ]
    }


def unread_count(subscriptions: Sequence[Subscribed], unread: Sequence[Unread], everything: bool) -> dict[str, Any]:
    """Per feed, per folder, and of all; those without any only if `everything` is asked for."""
    labels = {each.source: each.labels for each in subscriptions}
    folders: dict[str, tuple[int, float]] = {}
    lines = []
    total, newest = 0, 0.0
    for each in unread:
        if each.count > 0 or everything:
            lines.append(_counted(f"feed/{each.source}", each.count, each.newest))
        total, newest = total + each.count, max(newest, each.newest)
        for label in labels.get(each.source, ()):
            count, last = folders.get(label, (0, 0.0))
            folders[label] = count + each.count, max(last, each.newest)
    lines += [_counted(LABEL + label, *counted) for label, counted in folders.items() if counted[0] or everything]
    lines.append(_counted(READING_LIST, total, newest))
    return {"max": MOST_COUNTED, "unreadcounts": lines}


def _counted(id: str, count: int, newest: float) -> dict[str, Any]:
    return {"id": id, "count": count, "newestItemTimestampUsec": str(micros(newest))}


def item_refs(numbers: Sequence[int], continuation: int | None) -> dict[str, Any]:
    """Numbers of items."""
    return _continued({"itemRefs": [{"id": str(number)} for number in numbers]}, continuation)


def stream_contents(
    name: str, items: Sequence[dict[str, Any]], now: float, continuation: int | None = None
) -> dict[str, Any]:
    """Items in full."""
    answer = {"direction": "ltr", "id": name, "title": "", "updated": int(now), "items": list(items)}
    return _continued(answer, continuation)


def _continued(answer: dict[str, Any], continuation: int | None) -> dict[str, Any]:
    return answer if continuation is None else {**answer, "continuation": str(continuation)}


def item(reading: Reading, sources: Mapping[int, Subscribed], content: str, author: str) -> dict[str, Any]:
    """One item."""
    of, feed = reading.item, sources.get(reading.item.source)
    site = site_of(feed.url if feed is not None else of.link)
    link = http_link(of.link) or site  # some programs take it for granted that there is one
    links = [{"href": link}] if link else []
    folders = feed.labels if feed is not None else ()
    return {
        "id": long_form(of.id),
        "crawlTimeMsec": str(micros(of.first_seen) // 1000),
        "timestampUsec": str(micros(of.first_seen)),
        "published": published(of),
        "updated": published(of),
        "title": of.title,
        "canonical": links,
        "alternate": [{**each, "type": "text/html"} for each in links],
        "categories": [
            READING_LIST,
            *([f"{STATE}read"] if reading.read else []),
            *([f"{STATE}starred"] if reading.starred else []),
            *(LABEL + label for label in dict.fromkeys((*folders, *reading.labels))),
        ],
        "origin": {
            "streamId": f"feed/{of.source}",
            "title": feed.title if feed is not None else "",
            "htmlUrl": site,
        },
        "summary": {"direction": "ltr", "content": content},
        "author": author,
    }


def content_of(of: Item, kept: Content | None) -> str:
    """What an item says, as HTML: in full where that is kept, else its summary, which is plain text."""
    whole = unpacked(kept.record) if kept is not None else ""
    return whole or escape(of.summary).replace("\n", "<br>\n")


def published(of: Item) -> int:
    """When its publisher says it is from, else when it was found."""
    return int(of.first_seen if of.published is None else of.published)


def micros(at: float) -> int:
    """A time in millionths of a second."""
    return int(at * 1_000_000)


@lru_cache(20_000)
def site_of(url: str) -> str:
    """The front page of where an address is; empty if it has none."""
    if http_link(url) is None:
        return ""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"
