"""What may be said of one source beyond its address and its worth, by its owner or by one of its tags.

What counts in the end is decided by :mod:`recrawl.store.source_terms`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Digest = Literal["text", "raw"]
Render = Literal["auto", "browser", "never"]
"""When a page is shown by a browser: where it is empty without scripts, always, or never."""
NONE = "none"
"""Said of one of `SWITCHED_OFF`: nothing of the kind, whatever its tags say."""
SWITCHED_OFF = ("ignore", "keep", "number", "when", "steps", "notify_to")


class SourceOptions(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What its owner said of a source; None and empty mean nothing was said.

    Parameters
        digest: what of a page is compared: its text, or every byte
        ignore: selectors of what does not count: CSS, `xpath:` or, in JSON, `json:`
        ignore_text: regular expressions of text that does not count
        keep: selectors of what always counts
        keep_text: regular expressions of lines that always count
        number: what number of a page is watched: price, stock, version, a selector, or `text:` and a pattern
        when: conditions under which a change counts (`config.conditions`); one that is met is enough
        render: whether a browser runs a page's scripts before it is read
        steps: what is done in the browser before the page is read (`config.page_steps`)
        ignore_noise: whether a page's own clock, "x minutes ago", nonces and counters of visits are left out
        restless: whether text that has changed at nearly every visit, while the rest stood still, is left out
        robots: whether robots.txt is obeyed
        hints: whether the publisher's own words about its pace count
        interval: fixed time between fetches, seconds
        active_hours: hours in which it may be fetched, written as quiet hours are
        notify: whether what is found is handed to the outlets
        notify_to: the names of those who are notified (`[notify.NAME]`), and nobody else
        follow: whether the pages that it names become sources of their own
        content: whether what its items say in full is kept, to be read here
        articles: whether the page of each new item is fetched once, for what it says in full
        index_delay: how long what is found in it takes to become visible to readers, seconds
        index_batch: how often what is found becomes visible, seconds: at whole multiples of it; 0 for at any time
    """

    digest: Digest | None = None
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    keep_text: tuple[str, ...] = ()
    number: str = ""
    when: tuple[str, ...] = ()
    render: Render | None = None
    steps: tuple[str, ...] = ()
    ignore_noise: bool | None = None
    restless: bool | None = None
    robots: bool | None = None
    hints: bool | None = None
    interval: float | None = None
    active_hours: tuple[str, ...] = ()
    notify: bool | None = None
    notify_to: tuple[str, ...] = ()
    follow: bool | None = None
    content: bool | None = None
    articles: bool | None = None
    index_delay: float | None = None
    index_batch: float | None = None


USUAL = SourceOptions()
"""Nothing was said: so it is of nearly all sources."""


class TagSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`[tags.NAME]`: what counts for the sources with a tag that say nothing else themselves. Times as text."""

    importance: float | None = None
    half_life: str = ""
    max_age: str = ""
    digest: Digest | None = None
    ignore: tuple[str, ...] = ()
    ignore_text: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    keep_text: tuple[str, ...] = ()
    number: str = ""
    when: tuple[str, ...] = ()
    render: Render | None = None
    steps: tuple[str, ...] = ()
    ignore_noise: bool | None = None
    restless: bool | None = None
    robots: bool | None = None
    hints: bool | None = None
    interval: str = ""
    active_hours: tuple[str, ...] = ()
    notify: bool | None = None
    notify_to: tuple[str, ...] = ()
    follow: bool | None = None
    content: bool | None = None
    articles: bool | None = None
    index_delay: str = ""
    index_batch: str = ""
