"""The words of titles, summaries and searches: split here, indexed and matched by the server.

The server's own parsers depend on its locale, keep hosts and paths as single words and refuse long texts. Here a word
is a run of letters and digits in any form of accents and case, as in the embedded store, and no text is refused.
"""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")
_LONGEST = 200
_LETTERS = 1_000_000
_QUERY_WORDS = 32
_SHORTEST_BEGINNING = 3
# What the server can hold of one text: bytes of all words and places, places in all and per word.
_BYTES, _PLACES, _PLACES_PER_WORD = 800_000, 16_383, 255


def folded(text: str) -> list[str]:
    """The words of a text, without case and accents.

    >>> folded("Élan vital: fox-hole 24")
    ['elan', 'vital', 'fox', 'hole', '24']
    """
    text = text[:_LETTERS]
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        text = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return [word[:_LONGEST] for word in _WORD.findall(text.casefold())]


def vector(title: str, summary: str) -> str:
    """Words with their places, as the server reads them; those of the title weigh more.

    >>> vector("Red fox", "A fox")
    "'red':1A 'fox':2A,13 'a':12"
    """
    places: dict[str, list[str]] = {}
    left = _BYTES
    head = folded(title)
    for start, weight, words in ((1, "A", head), (len(head) + 10, "", folded(summary))):
        for place, word in enumerate(words[:_PLACES], start):
            known = places.get(word)
            if known is None:
                left -= 4 * len(word) + 8
                if left < 0:
                    break
                places[word] = [f"{min(place, _PLACES)}{weight}"]
            elif len(known) < _PLACES_PER_WORD and left > 0:
                left -= 2
                known.append(f"{min(place, _PLACES)}{weight}")
    return " ".join([f"'{word}':{','.join(known)}" for word, known in places.items()])


def query(text: str) -> str:
    """What a person typed: every word must occur; a star makes one of three letters or more the beginning of a word;
    parts joined by signs must stand side by side.

    >>> query('red "green OR blu* b*')
    "'red' & 'green' & 'or' & 'blu':* & 'b'"
    >>> query("fox-hole *** -- ")
    "('fox' <-> 'hole')"
    """
    typed = text[:_LETTERS].replace('"', " ").replace("\0", " ").split()
    parts = [part for part in map(_condition, typed) if part]
    return " & ".join(parts[:_QUERY_WORDS])


def _condition(typed: str) -> str:
    stem = typed.rstrip("*")
    words = folded(stem)[:_QUERY_WORDS]
    if not words:
        return ""
    beginning = ":*" if len(typed) > len(stem) >= _SHORTEST_BEGINNING else ""
    joined = " <-> ".join(f"'{word}'" for word in words) + beginning
    return f"({joined})" if len(words) > 1 else joined
