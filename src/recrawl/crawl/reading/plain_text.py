"""Text from strangers made fit to be stored and shown: plain, short, on one line.

What goes: markup, with the whole of scripts, styles and comments; entities, which become what they stand for; terminal
escapes and control characters; characters that reorder or hide text (bidirectional overrides, zero-width spaces, byte
order marks, tags); runs of white space. Joiners stay, because scripts and emoji need them. The work is bounded by what
is asked for, not by what was sent: only as much is looked at as can matter.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from html import unescape

TITLE_CHARACTERS = 300
SUMMARY_CHARACTERS = 500

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?"
)
_SWALLOWED = re.compile(r"<(?:!--|(?:script|style|template|noscript|head)\b)", re.IGNORECASE)
_MAYBE_SWALLOWED = re.compile(r"<(?:!--|[sS][cCtT]|[tT][eE]|[nN][oO]|[hH][eE])")
INLINE = frozenset(("a", "abbr", "b", "bdi", "code", "em", "font", "i", "ins", "mark", "s", "small", "span", "strong",
                    "sub", "sup", "u", "wbr"))  # fmt: skip
"""Markup within a line, which leaves no space where it was."""
_INLINE = re.compile(rf"</?(?:{'|'.join(sorted(INLINE))})(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*>")
_CUT_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*\Z")
_ENDLESS_REFERENCE = re.compile(r"&#[0-9]{8,}+;?")
"""No character has such a number, and Python refuses to convert thousands of digits."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_JOINERS = "\u200c\u200d"


def _removed() -> dict[int, str | None]:
    """Control characters become spaces if they are white space and nothing otherwise; format characters nothing."""
    table: dict[int, str | None] = {}
    for code in range(sys.maxunicode + 1) if sys.maxunicode < 0x3000 else (*range(0x3000), *range(0xFE00, 0x10000)):
        category = unicodedata.category(chr(code))
        if category in ("Zs", "Zl", "Zp") or (category == "Cc" and chr(code).isspace()):
            table[code] = " "
        elif (category in ("Cc", "Cf") and chr(code) not in _JOINERS) or category == "Cn":
            table[code] = None
    table.update(dict.fromkeys(range(0xE0000, 0xE0080)))
    table[0x3000] = " "
    return table


_REMOVED = _removed()


def clean(text: str, limit: int) -> str:
    """The text as one plain line of at most `limit` characters, the last of them … if something was cut.

    >>> clean("<p>Fish &amp; <b>chips</b></p>\\x1b[31m", 300), clean("abcdef", 4)
    ('Fish & chips', 'abc…')
    """
    if len(text) <= limit and text.isprintable() and "<" not in text and "&" not in text and "  " not in text:
        return text.strip()
    for look_at in (4 * limit + 200, 32 * limit + 4096):
        part = text[:look_at]
        plain = _plain(part, whole=len(part) == len(text))
        if len(plain) > limit:
            return plain[: max(limit - 1, 0)].rstrip() + "…"
        if len(part) == len(text):
            return plain
    return plain + "…" if len(plain) < limit else plain


def visible(text: str) -> str:
    """The text without what cannot or should not be shown, its lines and spaces as they are but for odd ones."""
    if text.isprintable():
        return text
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    text = text.translate(_REMOVED)
    return text if text.isprintable() else _without_surrogates(text)


def told(text: str, limit: int = 4000) -> str:
    """What the program says itself, on one line: addresses and errors that it quotes stay letter by letter.

    >>> told("moved to https://a.example/?b=1&copy=2")
    'moved to https://a.example/?b=1&copy=2'
    """
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def _plain(text: str, whole: bool) -> str:
    if "<" in text:
        text = _without_markup(text, whole)
    if "&" in text:
        text = unescape(_ENDLESS_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text) if "&#" in text else text)
        if "<" in text:
            text = _without_markup(text, True)
    return " ".join(visible(text).split())


def _without_markup(text: str, whole: bool) -> str:
    if _MAYBE_SWALLOWED.search(text):
        text = _without_swallowed(text)
    text = _TAG.sub(" ", _INLINE.sub("", text))
    return text if whole else _CUT_TAG.sub("", text)


def _without_swallowed(text: str) -> str:
    """Without scripts, styles and comments; one that is never closed takes the rest with it."""
    kept, place, lower = [], 0, text.lower()
    if len(lower) != len(text):
        lower = text
    while found := _SWALLOWED.search(text, place):
        kept.append(text[place : found.start()])
        name = found[0].lower()
        closing = "-->" if name.startswith("<!--") else f"</{name[1:]}"
        end = lower.find(closing, found.end())
        if end < 0:
            return " ".join(kept)
        place = end if closing != "-->" else end + 3
    kept.append(text[place:])
    return " ".join(kept)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def inert(cell: str) -> str:
    """A cell of a CSV file that no spreadsheet takes for a formula; `revived` undoes it.

    >>> inert("=1+1"), inert("plain"), revived(inert("=1+1")), revived(inert("'=1"))
    ("'=1+1", 'plain', '=1+1', "'=1")
    """
    return "'" + cell if _FORMULA.match(cell) else cell


def revived(cell: str) -> str:
    """What `inert` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
