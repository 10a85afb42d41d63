"""What waits, as commands show it."""

import io

from rich.console import Console

from recrawl.cli.hold_lines import Held, show_held

NOW = 1.8e9


def test_what_a_reason_quotes_is_shown_letter_by_letter():
    out = io.StringIO()
    why = "moved to https://a.example/?b=1&copy=2\x1b[31m, which answers <none>"
    show_held(Console(file=out, width=200), [Held(NOW + 60.0, "a.example", why)], NOW, 5)
    assert "moved to https://a.example/?b=1&copy=2, which answers <none>" in out.getvalue()
