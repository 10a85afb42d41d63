"""Settings that may hold secrets, and what is shown of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from recrawl.config.notification_settings import Notification
from recrawl.config.settings import Config
from recrawl.redaction import only_host, only_scheme, program, without_password

SHOWN: dict[str, Callable[[str], str]] = {
    "store": without_password,
    "fetch.proxy": only_host,
    "outlets.webhook": only_host,
    "outlets.exec": program,
}
"""By dotted name: what may be shown of the value."""
NOTIFY = "notify."
_NO_SECRETS = {name for name in Notification.__struct_fields__ if name not in ("to", "to_env")}


def shown(config: Config) -> dict[str, Any]:
    """The settings as plain values, without the secrets in them."""
    found: dict[str, Any] = msgspec.to_builtins(config)
    for name, rule in SHOWN.items():
        *tables, key = name.split(".")
        table_of = found
        for table in tables:
            table_of = table_of[table]
        table_of[key] = rule(table_of[key]) if table_of[key] else ""
    for said in found["notify"].values():
        said["to"] = only_scheme(said["to"])
    return found


def shown_value(name: str, value: object) -> str:
    """For a message about a setting that is wrong: what was written, unless it may be a secret."""
    secret = name in SHOWN or (f"{name}.".startswith(NOTIFY) and name.rpartition(".")[2] not in _NO_SECRETS)
    return repr(value) if not secret else "something else (not repeated here: it may hold a secret)"
