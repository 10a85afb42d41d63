"""What may be shown of something that may hold a secret: one rule for screens, logs, errors and events.

Of an address of the web that is a source, everything but user name and password: it is what the catalogue is about. Of
an address of the owner's own, such as a webhook or a proxy, scheme and host: tokens are in paths and queries as well.
Of the address of a notification service, the scheme. Of a message that is not ours, nothing that stands in quotes: that
is how Python repeats values.
"""

from __future__ import annotations

import re

HIDDEN = "…"
"""Stands for what is not shown."""
LONGEST_MESSAGE, LONGEST_READ = 300, 1200
"""Characters of a message that are shown, and those that are looked at."""
_CREDENTIALS = re.compile(r"(?<=://)[^/?#\s]*@")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)([^\s/?#'\"<>]*)([^\s'\"<>]*)")
_QUOTED = re.compile(
    r"(?<![A-Za-z])[bBrRuUfF]{0,2}(?:'(?:[^'\\]|\\.?)*+(?:'|$)|\"(?:[^\"\\]|\\.?)*+(?:\"|$))", re.DOTALL
)
"""A value as Python writes it: an apostrophe within a word opens none, and one that was cut off goes to the end."""


def without_credentials(text: str) -> str:
    """The text with user names and passwords taken out of its URLs.

    >>> without_credentials("moved from https://me:secret@a.example/feed?x=a@b")
    'moved from https://a.example/feed?x=a@b'
    """
    return _CREDENTIALS.sub("", text) if "@" in text else text


def only_host(text: str) -> str:
    """The text with every URL in it cut down to scheme and host.

    >>> only_host("webhook:https://me:secret@hooks.example:8443/services/T0/B1?token=abc")
    'webhook:https://hooks.example:8443/…'
    >>> only_host("http://proxy.example:3128")
    'http://proxy.example:3128'
    """
    return _ADDRESS.sub(_only_host, text) if "://" in text else text


def _only_host(found: re.Match[str]) -> str:
    scheme, authority, rest = found.groups()
    return scheme + authority.rpartition("@")[2] + (f"/{HIDDEN}" if rest not in ("", "/") else rest)


def only_scheme(address: str) -> str:
    """An address of a notification service, in which even the host may be a token.

    >>> only_scheme("tgram://123456:secret/room"), only_scheme("")
    ('tgram://…', '')
    """
    scheme, mark, _ = address.partition("://")
    return f"{scheme}://{HIDDEN}" if mark else HIDDEN if address else ""


def without_password(address: str) -> str:
    """An address of a store, which may be a path, without the password and the options behind it.

    >>> without_password("postgresql://me:secret@db.example/news?sslpassword=secret")
    'postgresql://me@db.example/news?…'
    """
    scheme, mark, rest = address.partition("://")
    if not mark or scheme == "sqlite":
        return address
    rest, question, options = rest.partition("?")
    if "@" in options and "@" not in rest:  # the mark may be one of the password
        return f"{scheme}://{HIDDEN}"
    login, at, where = rest.rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{where}" + (f"?{HIDDEN}" if question else "")


def program(command: str) -> str:
    """A command without its arguments, which may be keys.

    >>> program("curl -H 'Authorization: Bearer abc' https://a.example")
    'curl …'
    """
    name, *rest = command.split(maxsplit=1) or [""]
    return f"{name} {HIDDEN}" if rest else name


def message_of(error: BaseException) -> str:
    """What an exception is and says, in one line, without the values it repeats.

    >>> message_of(ValueError("invalid literal for int() with base 10: 'Bearer abc'"))
    "ValueError: invalid literal for int() with base 10: '…'"
    >>> message_of(KeyError("abc"))
    "KeyError: '…'"
    """
    said = str(error)
    if len(said) > LONGEST_READ:
        said = said[:LONGEST_READ].rpartition(" ")[0]  # half an address may be a password
    said = only_host(_QUOTED.sub(f"'{HIDDEN}'", said))
    said = "".join(letter if letter.isprintable() else " " for letter in said)[:LONGEST_MESSAGE]
    name = type(error).__name__
    return f"{name}: {' '.join(said.split())}" if said.strip() else name
