"""What a value must be, beyond its type: each setting's rule, and the rule between two settings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any

from recrawl.arguments import meant
from recrawl.config.live_policies import live_policy
from recrawl.config.notification_settings import check_notification
from recrawl.config.option_rules import OPTIONS, outlet_name, short_time
from recrawl.config.quiet_hours import QuietHours
from recrawl.config.secret import shown_value
from recrawl.config.settings import Config
from recrawl.config.source_options import NONE
from recrawl.errors import ParameterError
from recrawl.redaction import HIDDEN
from recrawl.units import parse_duration, parse_rate, parse_size

Rule = Callable[[str, Any], object]


def check(config: Config) -> None:
    """ParameterError naming the first setting, by its dotted name, that cannot be."""
    for name, rule in RULES.items():
        rule(name, _get(config, name))
    if config.politeness.max_backoff_s < config.politeness.backoff_s:
        raise ParameterError(
            "politeness.max_backoff", "at least politeness.backoff", repr(config.politeness.max_backoff)
        )
    for who, notification in config.notify.items():
        outlet_name(f"notify.{who}", who)
        check_notification(f"notify.{who}", notification)
    for tag, said in config.tags.items():
        for name in said.__struct_fields__:
            value = getattr(said, name)
            if value not in (None, "", ()):
                TAG_RULES[name](f"tags.{tag}.{name}", value)


def check_named(config: Config) -> None:
    """ParameterError if a tag names somebody to notify of whom the settings say nothing.

    Asked of a whole file only: what is left in a store says nothing of addresses.
    """
    for tag, said in config.tags.items():
        check_names(f"tags.{tag}.notify_to", said.notify_to, config)


def check_names(name: str, named: tuple[str, ...], config: Config) -> None:
    """ParameterError if somebody is to be notified of whom the settings say nothing."""
    for place, who in enumerate(named):
        if who != NONE and who not in config.notify:
            there = ", ".join(config.notify) or "none is there yet"
            expected = f"the NAME of a table [notify.NAME] of the settings ({there})"
            raise ParameterError(name, expected, repr(who) + meant(who, list(config.notify)), (place,))


def _get(config: Config, name: str) -> Any:
    value: Any = config
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _time(name: str, text: str) -> None:
    parse_duration(name, text)


def _some_time(name: str, text: str) -> None:
    if parse_duration(name, text) <= 0.0:
        raise ParameterError(name, "a time longer than nothing", repr(text))


def _size(name: str, text: str) -> None:
    if parse_size(name, text) <= 0:
        raise ParameterError(name, "a size larger than nothing", repr(text))


def _page_time(name: str, text: str) -> None:
    if not 1.0 <= parse_duration(name, text) <= 600.0:
        raise ParameterError(name, "a time of 1s to 10m", repr(text))


def _page_memory(name: str, text: str) -> None:
    if parse_size(name, text) < 300_000_000:
        raise ParameterError(name, "a size of at least 300MB: an empty browser takes nearly so much", repr(text))


def _size_or_nothing(name: str, text: str) -> None:
    if text:
        _size(name, text)


def _requests(name: str, text: str) -> None:
    try:
        good = not text or 1.0 <= float(text) < math.inf
    except ValueError:
        good = False
    if not good:
        raise ParameterError(name, "a number of requests, at least 1, or empty", repr(text))


def _whole(low: int, high: int) -> Rule:
    def rule(name: str, number: int) -> None:
        if not low <= number <= high:
            raise ParameterError(name, f"from {low} to {high}", number)

    return rule


def _share(name: str, number: float) -> None:
    if not 0.0 <= number <= 1.0:
        raise ParameterError(name, "between 0 and 1", number)


def _header_text(name: str, text: str) -> None:
    if not text.isprintable() or not text.isascii():
        raise ParameterError(name, "printable ASCII text, because it is sent in a header", repr(text))


def _agent(name: str, text: str) -> None:
    _header_text(name, text)
    if not text.strip():
        raise ParameterError(name, "not empty", repr(text))


def _address(name: str, text: str) -> None:
    if text and not re.fullmatch(r"https?://[^\s/?#]\S*", text, re.IGNORECASE):
        raise ParameterError(name, "an address such as http://host:port/path, or empty", shown_value(name, text))
    _whole_text(name, text)


def _callback(name: str, text: str) -> None:
    if text and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", text, re.IGNORECASE):
        raise ParameterError(name, "the public address of the web page (https://me.example/), or empty", repr(text))


def _whole_text(name: str, text: str) -> None:
    """What `recrawl config` shows of a secret is not the secret."""
    if text.endswith(HIDDEN):
        expected = "written out (`recrawl config --show-secrets` prints it whole)"
        raise ParameterError(name, expected, f"what was hidden behind {HIDDEN}")


def _variable(name: str, text: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ParameterError(name, "the name of an environment variable", repr(text))


def _path(name: str, text: str) -> None:
    if not text or "\0" in text:
        raise ParameterError(name, "the path of a file", shown_value(name, text))
    _whole_text(name, text)


def _quiet(name: str, texts: tuple[str, ...]) -> None:
    for place, text in enumerate(texts):
        try:
            QuietHours.parse(name, text)
        except ParameterError as error:
            raise ParameterError(name, error.expected, repr(text), (place,)) from error


def _networks(name: str, texts: tuple[str, ...]) -> None:
    for place, text in enumerate(texts):
        try:
            ip_network(text, strict=False)
        except ValueError as error:
            expected = "addresses or networks such as 127.0.0.1, 10.0.0.0/8 or ::1"
            raise ParameterError(name, expected, repr(text), (place,)) from error


def _positive(name: str, number: float) -> None:
    if not 0.0 < number < math.inf:
        raise ParameterError(name, "a number > 0", number)


TAG_RULES: dict[str, Rule] = {"importance": _positive, "half_life": _some_time, "max_age": _some_time, **OPTIONS}
"""Of the settings of a tag, by their names in its table."""
RULES: dict[str, Rule] = {
    "store": _path,
    "budget": parse_rate,
    "burst": _requests,
    "policy": live_policy,
    "half_life": _some_time,
    "max_age": _some_time,
    "index_delay": short_time,
    "index_batch": short_time,
    "cold_start": _share,
    "fetch.user_agent": _agent,
    "fetch.contact": _header_text,
    "fetch.timeout": _some_time,
    "fetch.idle_timeout": _some_time,
    "fetch.max_size": _size,
    "fetch.max_redirects": _whole(0, 20),
    "fetch.parallel": _whole(1, 10_000),
    "fetch.proxy": _address,
    "politeness.delay": _time,
    "politeness.parallel_per_host": _whole(1, 1_000),
    "politeness.min_interval": _time,
    "politeness.quiet_hours": _quiet,
    "politeness.backoff": _some_time,
    "politeness.max_backoff": _some_time,
    "discovery.per_site": _whole(0, 1_000_000_000),
    "discovery.in_all": _whole(0, 1_000_000_000),
    "pages.keep_text": _size,
    "browser.path": _whole_text,
    "browser.timeout": _page_time,
    "browser.memory": _page_memory,
    "browser.pages": _whole(1, 8),
    "browser.requests": _whole(1, 10_000),
    "browser.size": _size,
    "retention.items": _some_time,
    "retention.crawls": _some_time,
    "retention.prices": _some_time,
    "retention.versions": _whole(1, 10_000),
    "retention.size": _size_or_nothing,
    "outlets.webhook": _address,
    "outlets.webhook_secret_env": _variable,
    "outlets.exec": _whole_text,
    "push.callback": _callback,
    "push.lease": _some_time,
    "web.trusted_proxies": _networks,
    "web.connections": _whole(10, 100_000),
    "web.connections_per_address": _whole(1, 100_000),
}
NUMBERS_ALLOWED = {
    name
    for name, rule in RULES.items()
    if rule in (parse_rate, _requests, _time, _some_time, short_time, _size, _size_or_nothing)
}  # fmt: skip
"""Settings of text with a unit, in which a bare number is in seconds, bytes or per second."""
TAG_NUMBERS_ALLOWED = {"half_life", "max_age", "interval", "index_delay", "index_batch"}
"""The same among the settings of a tag."""
