"""What another watcher says of a page, put into our words: each part becomes a field, or is named as left behind.

Rules are tried one by one: one that we cannot use is left behind, and costs no other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from recrawl.config.option_rules import LONGEST_PATTERN, selector
from recrawl.crawl.catalogue.source_fields import checked_fields
from recrawl.crawl.catalogue.source_lists import ListedSource
from recrawl.crawl.reading.plain_text import TITLE_CHARACTERS, clean
from recrawl.errors import ParameterError

SHOWN = 60
"""Characters of a rule that is named."""
_SLASHED = re.compile(r"/(.*)/([a-zA-Z]*)", re.DOTALL)


@dataclass
class CarriedOver:
    """One page on its way."""

    line: int
    url: str
    fields: dict[str, Any] = field(default_factory=dict)
    left: dict[str, None] = field(default_factory=dict)
    notify_urls: tuple[str, ...] = ()

    def leave(self, what: str) -> None:
        """This could not be carried over."""
        self.left[" ".join(clean(what, 200).split())] = None

    def give(self, name: str, value: Any, what: str) -> bool:
        """Set a field, if it is one that we have and may be this; else leave `what` behind."""
        try:
            checked_fields({name: value})
        except (ParameterError, KeyError) as error:
            expected = f" ({error.expected} is wanted)" if isinstance(error, ParameterError) else ""
            self.leave(f"{what}{expected}")
            return False
        self.fields[name] = value
        return True

    def add(self, name: str, value: str, what: str) -> None:
        """One more to a field of several."""
        before = self.fields.get(name, [])
        if not self.give(name, [*before, value], what) and before:
            self.fields[name] = before

    def browser(self) -> None:
        """It was fetched by a browser."""
        self.give("render", "browser", "that a browser shows it")

    def titled(self, title: Any) -> None:
        """By the name its owner gave it."""
        if isinstance(title, str) and title.strip():
            self.fields["title"] = clean(title, TITLE_CHARACTERS)

    def headed(self, headers: Any, what: str = "header") -> None:
        """With headers of its own; their values are never repeated."""
        for key, value in headers.items() if isinstance(headers, dict) else ():
            self.add("headers", f"{key}: {value}", f"{what} {shortly(key)}")

    def selected(self, selectors: Sequence[str]) -> None:
        """Only what these pick; we have one, in which several of a kind can be joined."""
        usable = [each for each in selectors if self._is_selector(each)]
        kinds = {each.partition(":")[0] if each.startswith(("xpath:", "json:")) else "css" for each in usable}
        named = f"filters {', '.join(map(shortly, usable))}"
        if "json" in kinds and len(usable) > 1:
            self.leave(named)
        elif kinds == {"css"}:
            self.give("select", ", ".join(usable), named)
        elif "xpath" in kinds:
            self.give("select", f"xpath:{' | '.join(map(_as_xpath, usable))}", named)
        elif usable:
            self.give("select", usable[0], named)

    def _is_selector(self, text: str) -> bool:
        try:
            return bool(selector("select", text))
        except ParameterError:
            self.leave(f"filter {shortly(text)} (it is no selector that recrawl knows)")
            return False

    def ignored_lines(self, text: str) -> None:
        """Lines with this in them do not count; between slashes, it is a pattern."""
        pattern, flags = slashed(text)
        whole = f"{flags}.*(?:{pattern}).*"
        if flags is None or len(whole) > LONGEST_PATTERN:
            self.leave(f"ignored text {shortly(text)}")
        else:
            self.add("ignore_text", whole, f"ignored text {shortly(text)}")

    def counted_if(self, condition: str, what: str) -> None:
        """A change counts only if this is so."""
        self.add("when", condition, what)

    def done(self) -> ListedSource:
        """As an entry of a list."""
        return ListedSource(self.line, self.url, self.fields, tuple(self.left), self.notify_urls)


def slashed(text: str) -> tuple[str, str | None]:
    """The pattern in a text, and its flags as a pattern has them; a plain text in any case. None for flags unknown.

    >>> slashed("/a+/i"), slashed("1.5")
    (('a+', '(?i)'), ('1\\\\.5', '(?i)'))
    """
    found = _SLASHED.fullmatch(text.strip())
    if found is None:
        return re.escape(text.strip()), "(?i)"
    pattern, flags = found.groups()
    return pattern, None if set(flags) - set("ims") else f"(?{flags})" if flags else ""


def _as_xpath(selector: str) -> str:
    if selector.startswith("xpath:"):
        return selector.removeprefix("xpath:").strip()
    from cssselect import HTMLTranslator

    return HTMLTranslator().css_to_xpath(selector)


def xpath_or_css(text: str) -> str:
    """A selector in our words, of one in which an XPath needs no prefix.

    >>> xpath_or_css("//p[1]"), xpath_or_css("xpath1://p"), xpath_or_css("#a")
    ('xpath://p[1]', 'xpath://p', '#a')
    """
    said = text.strip()
    if said.startswith(("/", "(/", "./")):
        return f"xpath:{said}"
    return f"xpath:{said.removeprefix('xpath1:')}" if said.startswith("xpath1:") else said


def shortly(text: object) -> str:
    """A rule as it is named."""
    said = clean(str(text)[: 4 * SHOWN], SHOWN + 1)
    return f"'{said if len(said) <= SHOWN else said[:SHOWN] + '…'}'"
