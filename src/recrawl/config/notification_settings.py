"""`[notify.NAME]`: somebody who is told of what is found, where, in which words, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from recrawl.config.digest_times import digest_time
from recrawl.config.notice_template import template
from recrawl.config.option_rules import hours_list
from recrawl.errors import ParameterError
from recrawl.redaction import HIDDEN

TITLE, BODY, LINE = "{what}: {title}", "{text}\n{link}\n\nrecrawl {delivery}", "{what}: {title}\n{link}"
LONGEST_ADDRESS = 2000


class Notification(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where messages go and what they say. Of `to` and `to_env` one is given."""

    to: str = ""
    to_env: str = ""
    named_only: bool = False
    title: str = TITLE
    body: str = BODY
    line: str = LINE
    digest: str = ""
    quiet_hours: tuple[str, ...] = ()


def address(name: str, text: str) -> str:
    """One that Apprise may know: which services there are is known where it is installed. It is never repeated."""
    scheme, mark, rest = text.strip().partition("://")
    if not mark or not rest or not scheme.isascii() or len(text) > LONGEST_ADDRESS:
        expected = "an address of Apprise such as ntfys://TOPIC, mailtos://USER:PASSWORD@HOST or tgram://TOKEN/CHAT"
        raise ParameterError(name, expected, "something else (not repeated here: it may hold a secret)")
    if text.endswith(HIDDEN):
        expected = "written out (`recrawl config --show-secrets` prints it whole)"
        raise ParameterError(name, expected, f"what was hidden behind {HIDDEN}")
    return text.strip()


def _variable(name: str, text: str) -> str:
    if not (text.isidentifier() and text.isascii()):
        raise ParameterError(name, "the name of an environment variable", "something else")
    return text


RULES: Mapping[str, Callable[[str, Any], object]] = {
    "to": address,
    "to_env": _variable,
    "title": template,
    "body": template,
    "line": template,
    "digest": digest_time,
    "quiet_hours": hours_list,
}
"""By the names of `Notification`."""


def check_notification(table: str, said: Notification) -> None:
    """ParameterError naming the first setting that cannot be."""
    if bool(said.to) == bool(said.to_env):
        got = "both" if said.to else "neither"
        raise ParameterError(f"{table}.to", "an address here, or the name of an environment variable in to_env", got)
    for name, rule in RULES.items():
        value = getattr(said, name)
        if value not in ("", ()):
            rule(f"{table}.{name}", value)
