import re

import pytest

from recrawl.errors import MissingExtraError
from recrawl.report import Badge, Column, Document, Figure, Section, Table, Text, draw, render_html, write_html

HOSTILE = "<script>alert('x')</script> & \"quotes\" <img src=x onerror=alert(1)>"


def drawn(text="plain", name="fig"):
    def paint(axes):
        axes.plot([0, 1], [0, 1], label=text)
        axes.set(xlabel=text, title=text)
        axes.legend()

    return draw(name, text, paint, height=2.0)


def page(*blocks, **more):
    return render_html(Document("title", "lead", [Section("part", blocks)], **more))


def test_everything_a_caller_passes_in_is_escaped():
    table = Table(
        [Column(HOSTILE), Column("b"), Column("c", detail=True)], [(HOSTILE, Badge(HOSTILE), HOSTILE)], HOSTILE
    )
    html = render_html(
        Document(
            HOSTILE, HOSTILE, [Section(HOSTILE, [Text(HOSTILE), table, drawn(HOSTILE)])], [Badge(HOSTILE)], HOSTILE
        )
    )
    assert "<script" not in html
    assert "<img" not in html
    assert html.count("&lt;script&gt;") >= 10


def test_the_page_asks_for_nothing_from_outside():
    html = page(drawn(), Text("hello"))
    assert not re.search(r'(?:src|href)="(?!#)', html)
    assert "@import" not in html
    assert "url(http" not in html


def test_the_page_reads_by_night_and_on_a_phone():
    html = page(drawn())
    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html
    assert "stroke: currentColor" in html
    assert "#ffffff" not in html.split("</style>")[1]


def test_two_figures_on_a_page_do_not_share_ids():
    html = page(drawn(name="one"), drawn(name="two"))
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:href="#|url\(#)([^")]+)', html):
        assert target in ids


def test_details_stand_below_their_row_over_the_full_width():
    html = page(Table([Column("a"), Column("b"), Column("note", detail=True)], [("x", 1, "why"), ("y", 2, "")]))
    assert html.count('class="detail"') == 1
    assert '<td colspan="2"><div>why</div></td>' in html
    assert ">note<" not in html


def test_a_badge_in_front_takes_no_more_room_than_it_needs():
    """On a phone a first column of text is kept wide; a verdict is no such text."""
    html = page(Table([Column("verdict"), Column("claim", wide=True)], [(Badge("holds", "good"), "It is so.")]))
    assert '<td class="verdict"><span class="badge good">holds' in html
    assert '<td class="wide">It is so.' in html


def test_a_figure_is_written_as_png_and_svg_the_same_each_time(tmp_path):
    png, svg = drawn().save(tmp_path)
    first = svg.read_text(), png.read_bytes()
    drawn().save(tmp_path)
    assert first[1].startswith(b"\x89PNG")
    assert first[0].startswith("<?xml")
    assert (svg.read_text(), png.read_bytes()) == first


def test_write_html_returns_the_path_it_wrote(tmp_path):
    path = write_html(Document("t", "l", []), tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_without_matplotlib_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"recrawl\[lab\]"):
        drawn()


def test_a_figure_keeps_its_caption():
    assert isinstance(drawn("says it"), Figure)
    assert "says it" in page(drawn("says it"))
