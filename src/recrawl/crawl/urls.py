"""One spelling per address, so that a source is never in the catalogue twice under two spellings.

Canonical means: http or https; host in lower case and, where it is not ASCII, in IDNA; no default port, no fragment, no
dot segments; percent-encoding in upper case and only where it is needed; `/` for an empty path. What could name another
document is left alone: the query, tracking parameters included, and the case of the path.

An address with a user name or password is refused: addresses are shown, logged and exported, secrets are not. A source
that needs credentials gets them as a header of its own (`--header 'Authorization: …'`), which goes to its origin only.
Links found in documents are the web's, not the owner's: `join` drops credentials from them without a word.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import SplitResult, urljoin, urlsplit

import idna

from recrawl.crawl.work_limit import slow_work
from recrawl.errors import ParameterError

LONGEST = 4096
"""Characters; what is longer is refused, as most servers do."""
LONGEST_HOST = 255
"""Characters, where they are not ASCII; more would not fit into a name, and are slow to bring into order."""
EXPECTED = "an http or https address such as https://example.org/feed.xml"
DEFAULT_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.IGNORECASE | re.DOTALL)
_PORT_FOLLOWS = re.compile(r"[0-9]{1,5}(?:[/?#]|\Z)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LINE_BREAK = re.compile(r"[\t\n\r]")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER_LIKE = re.compile(r"[0-9]+|0x[0-9a-f]*")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NOT_IN_PATH = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]+|%(?![0-9A-Fa-f]{2})")
_NOT_IN_QUERY = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]+|%(?![0-9A-Fa-f]{2})")
_ESCAPED = [f"%{byte:02X}" for byte in range(256)]
_AUTHORITY = re.compile(r"(?:[^/?#:]*:)?//([^/?#]*)")
_PLAIN = re.compile(
    r"(?:https?://(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)*[a-z][a-z0-9]*(?:-+[a-z0-9]+)*)?(/[A-Za-z0-9\-._~/]*)(?:\?[A-Za-z0-9\-._~=&;+,:@/]+)?"
)
"""Addresses, and paths alone, that need nothing done to them where no segment starts with a dot."""
_WRITTEN = re.compile(
    r"https?://(?:(?:[a-z0-9]+(?:-+[a-z0-9]+)*\.)*[a-z][a-z0-9]*(?:-+[a-z0-9]+)*"
    r"|(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.(?!/|:)|(?=[/:]))){4})"
    r"(?!:80/|:443/)(?::[1-9][0-9]{0,3})?(/[A-Za-z0-9\-._~/]*)(?:\?[A-Za-z0-9\-._~=&;+,:@/]+)?"
)
"""Addresses with their scheme that are in their one spelling, as nearly all are."""
_SHORT_HOST = 64
"""Characters before the path, among which no label of a host is too long."""

_TRACKING = re.compile(
    r"(?:utm_[a-z_]{1,30}|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|msclkid|twclid|yclid|igshid|mc_[ce]id|_hsenc|_hsmi"
    r"|_openstat|at_medium|at_campaign|xtor|ftag|wt_mc|wt\.mc_id|(?:mtm|pk)_(?:campaign|kwd|keyword|source|medium|content))(?:=|\Z)",
    re.IGNORECASE,
)


def normalise(text: str) -> str:
    """The one spelling of an address; a missing scheme is https, `feed:` and `feed://` are http as their makers meant.

    >>> normalise("HTTP://Example.org:80/a/../b?x=1#top"), normalise("example.org/feed"), normalise("feed:https://a.de")
    ('http://example.org/b?x=1', 'https://example.org/feed', 'https://a.de/')
    """
    plain = _WRITTEN.fullmatch(text)
    if plain and plain.start(1) <= _SHORT_HOST and "/." not in plain[1] and len(text) <= LONGEST:
        return text
    if _CONTROL.search(text.strip()):
        raise ParameterError("url", f"{EXPECTED}, of plain characters", _shown(text))
    parts = _split(_with_scheme(_forward(text.strip())), text)
    if parts.username is not None or parts.password is not None:
        raise ParameterError("url", "an address without user name and password (give --header 'Authorization: …')",
                             _shown(text))  # fmt: skip
    return _canonical(parts, text)


def join(base: str, href: str) -> str | None:
    """Where a link found in the document at `base` leads, in one spelling; None unless to http or https.

    As in browsers, line breaks within it say nothing; other control characters are escaped, and make a host none.

    >>> join("https://example.org/a/", "../b c#x"), join("https://example.org/", "mailto:me@example.org")
    ('https://example.org/b%20c', None)
    """
    own = _base_origin(base)
    short = href[len(own) :] if href.startswith(own + "/") else href
    if len(href) <= LONGEST and (plain := _PLAIN.fullmatch(short)) and "/." not in plain[1] and short[:2] != "//":
        return short if short[0] == "h" else own + short
    href = _LINE_BREAK.sub("", href.strip()) if len(href) <= 2 * LONGEST else ""
    href = _with_authority(_forward(href), own)
    if not href:
        return None
    try:
        absolute = urljoin(base, _with_short_host(href, href))
        return _canonical(_split(absolute, absolute), absolute)
    except ValueError:
        return None


def link(base: str, href: str) -> str | None:
    """Where a link to show leads: as `join`, with its fragment, which may be all that tells two links apart.

    >>> link("https://example.org/a/", "../b c#x y"), link("https://example.org/a/", "#top")
    ('https://example.org/b%20c#x%20y', 'https://example.org/a/#top')
    """
    target = join(base, href)
    if target is None or "#" not in href:
        return target
    fragment = _escaped(_CONTROL.sub("", href.partition("#")[2].strip()), _NOT_IN_QUERY)
    return f"{target}#{fragment}" if fragment and len(target) + len(fragment) < LONGEST else target


def without_tracking(url: str) -> str:
    """The address without the parameters that say who led there, in its query or fragment; for comparing.

    >>> without_tracking("https://a.example/1?utm_source=rss&page=2&fbclid=x#utm_medium=feed")
    'https://a.example/1?page=2'
    """
    if "?" not in url and "#" not in url:
        return url
    rest, _, fragment = url.partition("#")
    place, _, query = rest.partition("?")
    kept = "&".join(part for part in query.split("&") if not _TRACKING.match(part))
    fragment = "" if _TRACKING.match(fragment) else fragment
    return place + (f"?{kept}" if kept else "") + (f"#{fragment}" if fragment else "")


def host(url: str) -> str:
    """The host of a normalised address, without port: what politeness is counted by."""
    return urlsplit(url).hostname or ""


def origin(url: str) -> str:
    """Scheme, host and port where it is not the default: what headers and robots.txt belong to.

    >>> origin("https://example.org:8443/a?b"), origin("https://example.org/a")
    ('https://example.org:8443', 'https://example.org')
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@lru_cache(maxsize=256)
def _base_origin(base: str) -> str:
    return origin(base)


def _with_scheme(text: str) -> str:
    if text.startswith("//"):
        return "https:" + text
    found = _SCHEME.match(text)
    if found is None or _PORT_FOLLOWS.match(found[2]):
        if found is None and "." not in re.split(r"[/?#]", text)[0] and not text.startswith("localhost"):
            raise ParameterError("url", EXPECTED, _shown(text))
        return "https://" + text
    scheme, rest = found[1].lower(), found[2]
    if scheme == "feed":
        return "http:" + rest if rest.startswith("//") else _with_scheme(rest)
    if scheme not in DEFAULT_PORTS:
        raise ParameterError("url", EXPECTED, _shown(text))
    return text if rest.startswith("//") else f"{scheme}://{rest.lstrip('/')}"


def _with_authority(href: str, own: str) -> str:
    """A link with two slashes before its host, as browsers read any number of them; empty if no host follows.

    Without slashes too it is a host where the scheme is not that of the page, and a relative path where it is.
    """
    scheme, colon, rest = href.partition(":")
    if scheme.lower() not in DEFAULT_PORTS or not colon:
        scheme, colon, rest = "", "", href
    if not rest.startswith("//") and (not colon or own.startswith(f"{scheme.lower()}:")):
        return href
    rest = rest.lstrip("/")
    return f"{scheme}{colon}//{rest}" if rest[:1] not in ("", "?", "#") else ""


def _forward(text: str) -> str:
    """With slashes for backslashes before the query, as browsers read them."""
    if "\\" not in text:
        return text
    before, mark, query = text.partition("?")
    return before.replace("\\", "/") + mark + query


def _split(absolute: str, given: str) -> SplitResult:
    if len(absolute) > LONGEST:
        raise ParameterError("url", f"{EXPECTED}, of at most {LONGEST} plain characters", _shown(given))
    absolute = _with_short_host(absolute, given)
    try:
        return urlsplit(absolute)
    except ValueError as error:
        raise ParameterError("url", EXPECTED, _shown(given)) from error


def _with_short_host(url: str, given: str) -> str:
    """The same; refused before anybody compares characters in a host that is none."""
    if not url.isascii() and (named := _AUTHORITY.match(url)) and len(named[1]) > LONGEST_HOST:
        raise ParameterError("url", "an address with a valid host name", _shown(given))
    return url


def _canonical(parts: SplitResult, given: str) -> str:
    try:
        name, port = parts.hostname, parts.port
    except ValueError as error:
        raise ParameterError("url", EXPECTED, _shown(given)) from error
    if parts.scheme not in DEFAULT_PORTS or not name or port == 0:
        raise ParameterError("url", EXPECTED, _shown(given))
    where = _canonical_host(name, given) + ("" if port in (None, DEFAULT_PORTS[parts.scheme]) else f":{port}")
    path = _without_dots(_escaped(parts.path, _NOT_IN_PATH)) or "/"
    query = "?" + _escaped(parts.query, _NOT_IN_QUERY) if parts.query else ""
    url = f"{parts.scheme}://{where}{path}{query}"
    if len(url) > LONGEST:
        raise ParameterError("url", f"an address of at most {LONGEST} characters", _shown(given))
    return url


def _canonical_host(name: str, given: str) -> str:
    """An address literal, or a name of valid labels; numbers that only some resolvers read as addresses are refused."""
    try:
        if "%" in name:
            raise ValueError("a zone is a matter of one machine")
        if ":" in name:
            return f"[{ipaddress.IPv6Address(name).compressed}]"
        if not name.isascii():
            name = _in_ascii(name)
        name = name.lower().removesuffix(".")
        labels = name.split(".")
        if _NUMBER_LIKE.fullmatch(labels[-1]):
            return str(ipaddress.IPv4Address(name))
    except (ValueError, UnicodeError) as error:
        raise ParameterError("url", "an address with a valid host name", _shown(given)) from error
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ParameterError("url", "an address with a valid host name", _shown(given))
    return name


@lru_cache(maxsize=512)
def _in_ascii(name: str) -> str:
    """A host name in IDNA."""
    slow_work(len(name))
    return idna.encode(name, uts46=True).decode("ascii")


def _escaped(text: str, forbidden: re.Pattern[str]) -> str:
    if "%" in text:
        text = _ESCAPE.sub(_plain_or_upper, text)
    return forbidden.sub(_percent, text)


def _plain_or_upper(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def _percent(characters: re.Match[str]) -> str:
    return "".join([_ESCAPED[byte] for byte in characters[0].encode("utf-8", "replace")])


def _without_dots(path: str) -> str:
    """RFC 3986, 5.2.4, for an absolute path."""
    if "/." not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept[-1:] = []
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _shown(text: str) -> str:
    """For a message: short, and without what may be a password."""
    text = "…@" + text.rpartition("@")[2] if "@" in text else text
    return repr(text if len(text) <= 200 else text[:200] + "…")
