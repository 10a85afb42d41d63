"""Pages that are empty until a browser has run their scripts: they say next to nothing, and load scripts.

What a page says to those without scripts ("please enable JavaScript") is no text of its own.
"""

from __future__ import annotations

from typing import Any

NEXT_TO_NOTHING = 200
"""Characters of text."""
_UNSEEN = frozenset(("script", "style", "template", "head", "noscript", "iframe", "svg"))
_PROGRAMS = ("", "module", "text/javascript", "application/javascript", "text/ecmascript")
WORDS = "it is empty without scripts"


def is_shell(root: Any) -> bool:
    """Whether next to nothing can be seen of a page that has scripts, the look ending as soon as there is something."""
    left, waiting = NEXT_TO_NOTHING, [root]
    while waiting:
        element = waiting.pop()
        if not isinstance(element.tag, str) or element.tag in _UNSEEN:
            continue
        for text in (element.text, *(child.tail for child in element)):
            left -= len(text.strip()) if text else 0
        if left <= 0:
            return False
        waiting += element
    return any(script.get("type", "").strip().lower() in _PROGRAMS for script in root.iter("script"))
