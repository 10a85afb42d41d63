"""Secrets that pages ask for and nobody should write down.

`env:RECRAWL_PAGE_…` in a header or a step stands for what the environment holds under that name. Only names that begin
so: a list from elsewhere, or whoever may use the web page, can name nothing else of the environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MARK = "env:"
PREFIX = "RECRAWL_PAGE_"
_NAME = re.compile(r"RECRAWL_PAGE_[A-Za-z0-9_]+")
_SAID = re.compile(r"(?<![^ =])env:(RECRAWL_PAGE_[A-Za-z0-9_]+)")
_OTHER = re.compile(r"(?<![^ =])env:(?!RECRAWL_PAGE_[A-Za-z0-9_])")


def is_name(text: str) -> bool:
    """Whether a variable of the environment may be asked for."""
    return _NAME.fullmatch(text) is not None


def names_another(text: str) -> bool:
    """Whether a text asks for a variable that may not be asked for.

    >>> names_another("Bearer env:RECRAWL_PAGE_TOKEN"), names_another("env:HOME"), names_another("an env:x")
    (False, True, True)
    """
    return _OTHER.search(text) is not None


def with_secrets(text: str, environment: Mapping[str, str]) -> str:
    """With what the environment holds in place of names; KeyError if it holds nothing of a name.

    >>> with_secrets("sid=env:RECRAWL_PAGE_SID; theme=dark", {"RECRAWL_PAGE_SID": "a1"})
    'sid=a1; theme=dark'
    """
    return _SAID.sub(lambda found: environment[found[1]], text)
