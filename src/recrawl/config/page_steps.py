"""What is done on a page in the browser before it is read: a short list of steps, each a line.

::

    click CSS            the first element that the selector picks
    type CSS TEXT        into a field; quotes around a selector with spaces; TEXT may be a secret (`page_secrets`)
    wait_for CSS         until it can be seen
    wait SECONDS         30 at most
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from recrawl.config.page_secrets import MARK, PREFIX, is_name
from recrawl.errors import ParameterError

LONGEST_WAIT_S = 30.0
LONGEST = 1000
"""Characters of a step."""
EXPECTED = f"a step: click CSS, type CSS TEXT, wait_for CSS or wait SECONDS (up to {LONGEST_WAIT_S:g})"
Kind = Literal["click", "type", "wait_for", "wait"]


class Step(NamedTuple):
    """One step; `text` is what is typed, as it was written."""

    kind: Kind
    select: str = ""
    text: str = ""
    seconds: float = 0.0


def parsed(text: str) -> Step | None:
    """What a line means; None if it is no step.

    >>> parsed("click #more")
    Step(kind='click', select='#more', text='', seconds=0.0)
    >>> parsed("type 'form input' env:RECRAWL_PAGE_USER").text
    'env:RECRAWL_PAGE_USER'
    """
    kind, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    match kind:
        case "click" | "wait_for" if rest:
            return Step(kind, rest)
        case "type":
            return _typed(rest)
        case "wait":
            try:
                seconds = float(rest.removesuffix("s"))
            except ValueError:
                return None
            return Step(kind, seconds=seconds) if 0.0 < seconds <= LONGEST_WAIT_S else None
    return None


def _typed(rest: str) -> Step | None:
    """A selector, in quotes if it has spaces, and all that follows."""
    if rest[:1] in ("'", '"'):
        end = rest.find(rest[0], 1)
        select, said = rest[1:end], rest[end + 1 :].strip()
        if end < 0:
            return None
    else:
        select, _, said = rest.partition(" ")
    said = said.strip()
    if not select or not said:
        return None
    return Step("type", select, said)


def step(name: str, text: str) -> str:
    """A step that can be done, as it was written."""
    found = parsed(text) if len(text) <= LONGEST else None
    if found is None:
        raise ParameterError(name, EXPECTED, repr(text[:80]))
    if found.text.startswith(MARK) and not is_name(found.text.removeprefix(MARK)):
        raise ParameterError(name, f"a step that types a text, or {MARK}{PREFIX}NAME", "another variable")
    if found.select:
        from recrawl.config.option_rules import selector  # which asks for steps in turn

        selector(name, found.select)
    return text.strip()


def filled_in(text: str, environment: Mapping[str, str]) -> str:
    """With what the environment holds in place of its name; KeyError if it holds nothing of that name.

    >>> filled_in("type input[name='q'] env:RECRAWL_PAGE_Q", {"RECRAWL_PAGE_Q": "two chairs"})
    "type input[name='q'] two chairs"
    """
    found = parsed(text)
    if found is None or found.kind != "type" or not found.text.startswith(MARK):
        return text
    return text.strip().removesuffix(found.text) + environment[found.text.removeprefix(MARK)]
