"""What may be said of a source, checked: the same rules for the settings' tags, the command line, lists and the web."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from recrawl.config.conditions import condition
from recrawl.config.page_steps import step
from recrawl.config.quiet_hours import QuietHours
from recrawl.config.source_options import NONE
from recrawl.errors import ParameterError
from recrawl.units import DAY_S, parse_duration

LONGEST_SELECTOR, LONGEST_PATTERN = 500, 500
LONGEST_WAIT_S = 365 * DAY_S
MOST = 50
"""Selectors, patterns or hours of one source."""
_OTHER_STEP = re.compile(r"(?:@|attribute::)(?:[\w.:-]+|\*)\s*$|\btext\(\)\s*$")
"""Of an XPath whose last step picks attributes or text."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def some_time(name: str, value: str | float) -> float:
    """Seconds, more than 0."""
    seconds = parse_duration(name, value)
    if seconds <= 0.0:
        raise ParameterError(name, "a time longer than nothing", repr(value))
    return seconds


def short_time(name: str, value: str | float) -> float:
    """Seconds, 0 for none, and no more than a year."""
    seconds = parse_duration(name, value)
    if not seconds <= LONGEST_WAIT_S:
        raise ParameterError(name, "a time of 0s to 365d", repr(value))
    return seconds


def selector(name: str, text: str) -> str:
    """A selector that can be used: CSS, or an XPath or JSONPath behind its prefix."""
    kind, colon, path = text.strip().partition(":")
    check, example = _SELECTORS.get(kind + colon, (_css, "a CSS selector such as main, #prices or div.news > p"))
    try:
        if not text.strip() or len(text) > LONGEST_SELECTOR:
            raise ValueError
        check(path.strip() if check is not _css else text)
    except (ValueError, RecursionError, TypeError, SyntaxError) as error:
        raise ParameterError(name, example, repr(text[:80])) from error
    return text.strip()


def part(name: str, text: str) -> str:
    """A selector of parts of a page that can be left out: an XPath of elements, not of attributes, text or values."""
    said = selector(name, text)
    if said.startswith("xpath:") and not _picks_elements(said.removeprefix("xpath:").strip()):
        expected = "a selector of elements: attributes, text and values cannot be left out of a page"
        raise ParameterError(name, expected, repr(said[:80]))
    return said


def _picks_elements(path: str) -> bool:
    """By its last step, and by what it gives in an empty page."""
    from lxml import etree

    if _OTHER_STEP.search(_without_conditions(path)):
        return False
    try:
        return isinstance(etree.XPath(path)(etree.Element("html")), list)
    except etree.XPathError:
        return True  # what it lacks, reading says


def _without_conditions(path: str) -> str:
    """Without what stands in brackets behind its last step."""
    while path.endswith("]"):
        depth, place = 1, len(path) - 1
        while depth and place:
            place -= 1
            depth += {"]": 1, "[": -1}.get(path[place], 0)
        path = path[:place].rstrip()
    return path


def _css(text: str) -> None:
    from cssselect import HTMLTranslator, SelectorError

    if "::" in text:
        raise ValueError
    try:
        HTMLTranslator().css_to_xpath(text)
    except SelectorError as error:
        raise ValueError from error


def _xpath(text: str) -> None:
    from lxml import etree

    try:
        etree.XPath(text)(etree.Element("html"))  # a function that nobody knows is found out only now
    except etree.XPathError as error:
        raise ValueError from error


def _json_path(text: str) -> None:
    from jsonpath import JSONPathEnvironment, JSONPathError

    try:
        JSONPathEnvironment(strict=True).compile(text)
    except JSONPathError as error:
        raise ValueError from error


_SELECTORS: Mapping[str, tuple[Callable[[str], None], str]] = {
    "xpath:": (_xpath, "an XPath such as xpath://div[@id='prices']"),
    "json:": (_json_path, "a JSONPath such as json:$.items[*].price"),
}


def pattern(name: str, text: str) -> str:
    """A regular expression that can be used."""
    try:
        if not text or len(text) > LONGEST_PATTERN:
            raise ValueError
        re.compile(text)
    except (re.error, ValueError, RecursionError, OverflowError) as error:
        said = f" ({error})" if isinstance(error, re.error) else ""
        expected = rf"a regular expression such as \d+ views, of at most {LONGEST_PATTERN} characters"
        raise ParameterError(name, expected, repr(text[:80]) + said) from error
    return text


def watched_number(name: str, text: str) -> str:
    """Which number of a page is watched."""
    said = text.strip()
    if said.startswith("text:"):
        pattern(name, said.removeprefix("text:"))
    elif said not in (NONE, "price", "stock", "version"):
        try:
            selector(name, said)
        except ParameterError as error:
            expected = r"price, stock, version, a selector such as .price, or text:(\d+) seats"
            raise ParameterError(name, expected, repr(text[:80])) from error
    return said


def hours(name: str, text: str) -> str:
    """A stretch of the day."""
    QuietHours.parse(name, text)
    return text.strip()


def digest(name: str, value: str) -> str:
    """What of a page is compared."""
    if value.strip().lower() not in ("text", "raw"):
        raise ParameterError(name, "one of text, raw", repr(value))
    return value.strip().lower()


def render(name: str, value: str) -> str:
    """Whether a browser shows a page."""
    if value.strip().lower() not in ("auto", "browser", "never"):
        raise ParameterError(name, "one of auto, browser, never", repr(value))
    return value.strip().lower()


def switch(name: str, value: str | bool) -> bool:
    """Yes or no."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ParameterError(name, "yes or no", repr(value))
    return word in _TRUE


def outlet_name(name: str, text: str) -> str:
    """The name of a table `[notify.NAME]`."""
    if not _NAME.fullmatch(text.strip()):
        raise ParameterError(name, "the name of an outlet: letters, digits, - and _", repr(text[:40]))
    return text.strip()


def _each(
    rule: Callable[[str, str], str], may_be_none: bool = False, repeated: bool = False
) -> Callable[[str, Any], tuple[str, ...]]:
    def check(name: str, values: Iterable[str] | str) -> tuple[str, ...]:
        given = [line for line in values.splitlines() if line.strip()] if isinstance(values, str) else list(values)
        if may_be_none and NONE in given:
            if len(given) > 1:
                raise ParameterError(name, f"{NONE} alone, or what is wanted", f"{NONE} among {len(given)}")
            return (NONE,)
        if len(given) > MOST:
            raise ParameterError(name, f"at most {MOST}", len(given))
        found: list[str] = []
        for place, text in enumerate(given):
            try:
                found.append(rule(name, text))
            except ParameterError as error:
                raise ParameterError(name, error.expected, error.got, (place,)) from error
        return tuple(found if repeated else dict.fromkeys(found))

    return check


hours_list = _each(hours)
"""Some stretches of the day."""
OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "digest": digest,
    "ignore": _each(part, may_be_none=True),
    "ignore_text": _each(pattern),
    "keep": _each(selector, may_be_none=True),
    "keep_text": _each(pattern),
    "number": watched_number,
    "when": _each(condition, may_be_none=True),
    "render": render,
    "steps": _each(step, may_be_none=True, repeated=True),
    "ignore_noise": switch,
    "restless": switch,
    "robots": switch,
    "hints": switch,
    "interval": some_time,
    "active_hours": hours_list,
    "notify": switch,
    "notify_to": _each(outlet_name, may_be_none=True),
    "follow": switch,
    "content": switch,
    "articles": switch,
    "index_delay": short_time,
    "index_batch": short_time,
}
"""By the names of `SourceOptions`: from what was written to the value; a list may be given as lines of a text."""
