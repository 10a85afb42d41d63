"""Settings that may hold secrets, and what is shown of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recrawl.config.settings import Config
from recrawl.redaction import only_host, program, without_password

SHOWN: dict[str, Callable[[str], str]] = {
    "store": without_password,
    "fetch.proxy": only_host,
    "outlets.webhook": only_host,
    "outlets.exec": program,
}
"""By dotted name: what may be shown of the value."""


def shown(config: Config) -> dict[str, Any]:
    """The settings as plain values, without the secrets in them."""
    found: dict[str, Any] = msgspec.to_builtins(config)
    for name, rule in SHOWN.items():
        *tables, key = name.split(".")
        table_of = found
        for table in tables:
            table_of = table_of[table]
        table_of[key] = rule(table_of[key]) if table_of[key] else ""
    return found


def shown_value(name: str, value: object) -> str:
    """For a message about a setting that is wrong: what was written, unless it may be a secret."""
    return repr(value) if name not in SHOWN else "something else (not repeated here: it may hold a secret)"
