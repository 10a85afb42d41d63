"""What is shown as counting is what counts."""

from __future__ import annotations

import pytest

from recrawl.crawl.reading.page_selection import WhatCounts
from recrawl.crawl.reading.pages import read_page, read_text
from recrawl.crawl.reading.preview_parts import CLOCK

NOW = 1794738665.0
"""15 November 2026, 10:31:05 UTC."""
PAGES = [
    "<nav>menu<div>more</div></nav><p>one <b>two</b></p>tail",
    "<p>Price <span class='x'>5 <i>now</i></span> EUR</p><div class='x'><p>a<p>b</div>rest",
    "<form><header>h</header><p>" + "words " * 200 + "</p></form>",
    "<p>a\ue000b\ue001c\ue002d</p><table><tr><td>\n08:15\n</td></tr></table>",
    "<div hidden>secret</div><p>Match 1 and\nMatch 2</p><p>Match 3</p>",
    "<noscript>" + "words " * 200 + "</noscript><p>x",
]


@pytest.mark.parametrize("body", PAGES)
@pytest.mark.parametrize(
    "counts",
    [
        WhatCounts(),
        WhatCounts(ignore=(".x",)),
        WhatCounts(ignore_text=(r"Match \d", "two$")),
        WhatCounts(select="p, div", ignore=("i", "b")),
    ],
    ids=["usual", "ignore", "ignore_text", "select"],
)
def test_what_is_shown_as_counting_is_what_counts(body: str, counts: WhatCounts) -> None:
    found = read_page(f"<body>{body}</body>".encode(), "https://a.example/", NOW, counts, marked=True)
    shown = "".join(part.text for line in found.parts for part in line if not part.why)
    assert "".join(shown.split()) == "".join(found.text.translate({0xE000: "", 0xE001: "", 0xE002: ""}).split())


def test_reasons() -> None:
    body = (
        "<nav>menu</nav><div hidden>secret</div><p role=navigation>way</p><h2>15 November 2026</h2>"
        "<p>15 November 2026</p><p>Updated 10:30 · 5 views</p><p>Updated 10:00</p>"
    )
    found = read_page(f"<body>{body}</body>".encode(), "https://a.example/", NOW, marked=True)
    assert [[(part.text, part.why) for part in line] for line in found.parts] == [
        [("menu", "<nav>")],
        [("secret", "hidden")],
        [("way", "role navigation")],
        [("15 November 2026", "")],
        [("15 November 2026", CLOCK)],
        [("Updated ", ""), ("10:30", CLOCK), (" · ", ""), ("5 views", "counter of visits")],
        [("Updated 10:00", "")],
    ]


def test_plain_text_is_shown_too() -> None:
    counts = WhatCounts(ignore_text=("b.*",), ignore_noise=False)
    assert [[part.why for part in line] for line in read_text(b"a\nb c", NOW, counts, marked=True).parts] == [
        [""],
        ["ignored: b.*"],
    ]


def test_where_every_byte_counts_nothing_is_shown_as_left_out() -> None:
    counts = WhatCounts(digest="raw", ignore=("p",), ignore_text=("menu",))
    body = b"<body><nav>menu</nav><p>Read 3 minutes ago</p></body>"
    found = read_page(body, "https://a.example/", NOW, counts, marked=True)
    shown = [[(part.text, part.why) for part in line] for line in found.parts]
    assert shown == [[("menu", "")], [("Read 3 minutes ago", "")]]


def test_marks_in_a_selector_are_no_marks() -> None:
    counts = WhatCounts(ignore=("p, .\ue002\ue001",))
    found = read_page(b"<body>a<p>b</p>c</body>", "https://a.example/", NOW, counts, marked=True)
    assert [[part.text for part in line if not part.why] for line in found.parts] == [["a"], [], ["c"]]


def test_where_it_is_not_asked_for_nothing_is_shown() -> None:
    assert read_page(b"<p>a", "https://a.example/", NOW).parts == ()
