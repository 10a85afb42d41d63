"""Requests of readers' programs: they show a token of a reader's, and no session, password or token of the page's.

Who shows one is looked at by `reader_api.door`. No browser sends such a token by itself, so that no page of
another site can act in a reader's name.
"""

from __future__ import annotations

PREFIXES = ("", "/api/greader.php")
"""Where the API is."""


def is_of_reader(path: str) -> bool:
    """Whether a request is one of these.

    >>> is_of_reader("/reader/api/0/token"), is_of_reader("/api/greader.php"), is_of_reader("/api/v1/items")
    (True, True, False)
    """
    if path == PREFIXES[1]:
        return True
    path = path.removeprefix(PREFIXES[1])
    return path.startswith("/reader/") or path == "/accounts/ClientLogin"
