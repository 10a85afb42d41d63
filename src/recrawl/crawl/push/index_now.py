"""What a ping of IndexNow says, and what becomes of it.

    indexnow.org/documentation: `url`, `key`, `keyLocation`, or a list in JSON; answers 200, 202, 400, 403, 422, 429.

A site shows that it is meant by a file of its own that holds the key: at the root, for all of the host, or elsewhere,
for what lies below its folder. The file is the crawler's to look at (`key_checks`): what it found is kept in a note per
host, where the web page finds it. Until then signals wait with their `proof`, the address and the key it must hold. A
site that does not answer has said nothing: the signals wait on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from recrawl.crawl import urls
from recrawl.errors import ParameterError, RecrawlError
from recrawl.store.roles import Notes

MOST_URLS = 10_000
GOOD_S, WRONG_S = 86400.0, 600.0
"""How long it counts that a file was right, and that it was not."""
RENEWED_S = 0.25 * GOOD_S
"""What was right is looked at again in the last part of its time, while pings still count."""
LONGEST_FILE = 1000
MOST_VERDICTS = 8
"""Per host that are kept."""
NOTE = "push/indexnow/"
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class PingError(RecrawlError):
    """A ping that is not taken: the status to answer with, and why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Ping(NamedTuple):
    """Addresses that are said to have changed, as they were given, and where that can be seen.

    Parameters
        urls: to be spelt as the catalogue does (`spelt`), some at a time: there may be thousands
        below: how all of them must begin, after the scheme
    """

    urls: tuple[str, ...]
    below: str
    proof: str

    def spelt(self, urls: Iterable[str]) -> list[str]:
        """Some of the addresses in the catalogue's spelling; PingError if one does not belong here."""
        found = [_spelt(f"https://{self.below}", url) for url in urls]
        if any(not url.partition("://")[2].startswith(self.below) for url in found):
            raise PingError(422, "every url must be of the host, and below the folder of keyLocation")
        return found


class Verdict(msgspec.Struct, frozen=True):
    """Whether a proof was good, and until when that counts; Unix seconds."""

    proof: str
    good: bool
    until: float


def ping_of_query(query: Mapping[str, str]) -> Ping:
    """A single address."""
    url = query.get("url", "")
    if not url or not query.get("key"):
        raise PingError(400, "url and key are needed")
    return _ping(_host_of(url), [url], query["key"], query.get("keyLocation", ""))


def ping_of_json(body: bytes) -> Ping:
    """A list of addresses."""
    try:
        said = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise PingError(400, "this is not JSON") from error
    if not isinstance(said, dict):
        raise PingError(400, "an object with host, key and urlList is needed")
    host, key, location, listed = (said.get(name) for name in ("host", "key", "keyLocation", "urlList"))
    texts = [host, key, *([] if location is None else [location])]
    if not all(isinstance(each, str) for each in texts) or not isinstance(listed, list) or not listed:
        raise PingError(400, "host, key and a urlList are needed")
    if len(listed) > MOST_URLS or not all(isinstance(each, str) for each in listed):
        raise PingError(400, f"a urlList has at most {MOST_URLS} addresses")
    return _ping(_host_of(f"https://{host}/"), listed, str(key), location or "")


def _host_of(url: str) -> str:
    """The host of an address, with its port; PingError if it has none."""
    try:
        return urlsplit(urls.normalise(url)).netloc
    except ParameterError as error:
        raise PingError(422, "this is not an address of the web") from error


def _ping(host: str, given: list[Any], key: str, location: str) -> Ping:
    if not _KEY.fullmatch(key):
        raise PingError(422, "a key has 8 to 128 letters, digits and dashes")
    scheme = urlsplit(given[0].strip()).scheme.lower() if isinstance(given[0], str) else ""
    file = _spelt(f"https://{host}/", location or f"{scheme or 'https'}://{host}/{key}.txt")
    if "?" in location or "#" in location or len(file) > LONGEST_FILE or urlsplit(file).netloc != host:
        raise PingError(422, f"keyLocation must be a file of the host, of at most {LONGEST_FILE} characters, no query")
    below = file.partition("://")[2].rpartition("/")[0] + "/"
    return Ping(tuple(dict.fromkeys(given)), below, f"{file} {key}")


def _spelt(base: str, url: str) -> str:
    """As a link on a page of the site: those that are in order already cost next to nothing."""
    spelt = urls.join(base, url)
    if spelt is None:
        raise PingError(422, "not every url is an address of the web")
    return spelt


def file_and_key(proof: str) -> tuple[str, str]:
    """Where to look, and for what."""
    file, _, key = proof.rpartition(" ")
    return file, key


def holds_key(body: bytes, key: str) -> bool:
    """Whether a file has a key in it, alone on a line."""
    return key in (line.strip() for line in body[:4096].decode("utf-8", "replace").lstrip("\ufeff").split("\n"))


def verdict_of(store: Notes, proof: str, now: float) -> Verdict | None:
    """What the crawler found; None for nothing that still counts."""
    kept = _verdicts(store, proof)
    return next((each for each in kept if each.proof == proof and each.until > now), None)


def is_to_be_seen(verdict: Verdict | None, now: float) -> bool:
    """Whether it is time to look at a file, for the first time or again."""
    return verdict is None or (verdict.good and verdict.until - now < RENEWED_S)


def keep_verdict(store: Notes, verdict: Verdict) -> None:
    """Let others know what was found."""
    others = [each for each in _verdicts(store, verdict.proof) if each.proof != verdict.proof]
    # Good ones stay: whoever tries keys does not push out the site's own.
    others.sort(key=lambda each: (each.good, each.until))
    store.write_note(_note(verdict.proof), msgspec.json.encode([*others[-(MOST_VERDICTS - 1) :], verdict]))


def _verdicts(store: Notes, proof: str) -> list[Verdict]:
    text = store.note(_note(proof))
    try:
        return [] if text is None else msgspec.json.decode(text, type=list[Verdict])
    except msgspec.DecodeError:
        return []


def _note(proof: str) -> str:
    return NOTE + urlsplit(file_and_key(proof)[0]).netloc
