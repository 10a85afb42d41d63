"""On which line of a TOML text each key stands.

`tomllib` tells what a file says, not where. This walks over a text `tomllib` has accepted, so it checks nothing: it
only has to find its way through strings, comments, tables, dotted keys, arrays and inline tables.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table and array element, by its path.

    >>> lines_of('budget = "1/s"\\n[fetch]\\ntimeout = "9s"')
    {('budget',): 1, ('fetch',): 2, ('fetch', 'timeout'): 3}
    """
    walk = _Walk(text.replace("\r\n", "\n"))
    walk.document()
    return walk.lines


class _Walk:
    """A position in the text, and the lines found so far; the first mention of a path counts."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.lines = text, 0, dict[Path, int]()
        self.arrays: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1
        return self.at

    def _mark(self, path: Path) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, self.at) + 1)

    def _header(self) -> Path:
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        self._skip(_SPACE)
        path = self._key(())
        self.at += 2 if many else 1
        if many:
            place = self.arrays[path] = self.arrays.get(path, -1) + 1
            path = (*path, place)
            self._mark(path)
        return path

    def _key(self, table: Path) -> Path:
        """A key, dotted or not; every prefix of it is marked. A table of an array is its last element so far."""
        path = table
        while True:
            if path in self.arrays:
                path = (*path, self.arrays[path])
            start = self.at
            quoted = _STRING.match(self.text, self.at)
            self._skip(_STRING if quoted else _BARE_KEY)
            written = self.text[start : self.at]
            path = (*path, next(iter(tomllib.loads(f"{written} = 0"))) if quoted else written)
            self._mark(path)
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return path
            self.at += 1
            self._skip(_SPACE)

    def _pair(self, table: Path) -> None:
        path = self._key(table)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self.text[self.at : self.at + 1]
        if opening == "{":
            self._members("}", lambda _: self._pair(path))
        elif opening == "[":
            self._members("]", lambda place: self._element((*path, place)))
        else:
            self._skip(_STRING if opening in "\"'" else _BARE_VALUE)

    def _element(self, path: Path) -> None:
        self._mark(path)
        self._value(path)

    def _members(self, closing: str, read: Callable[[int], None]) -> None:
        self.at += 1
        for place in range(len(self.text)):
            if self._skip(_BLANK) >= len(self.text) or self.text[self.at] == closing:
                break
            read(place)
            self._skip(_BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
        self.at += 1
