import io

from rich.console import Console

from recrawl.cli.console import progress_shown, show_table
from recrawl.report import Badge, Column, Table


def shown(table, width):
    out = io.StringIO()
    show_table(table, Console(file=out, width=width, force_terminal=False))
    return out.getvalue()


TABLE = Table(
    [Column("quantity"), Column("published"), Column("measured", 3), Column("verdict"), Column("note", detail=True)],
    [
        ("some/long/identifier/of/a/number", 253.1, 253.471, Badge("differs", "bad"), "a long story"),
        ("another/[b]identifier[/b]", 208, 208.3, Badge("reproduced", "good"), ""),
    ],
)


def test_numbers_line_up_and_running_text_is_left_out():
    lines = [line for line in shown(TABLE, 100).splitlines() if "/" in line]
    assert lines[0].index("253.1") == lines[1].index("208")
    assert "a long story" not in shown(TABLE, 100)


def test_text_that_looks_like_markup_is_shown_as_it_is():
    assert "another/[b]identifier[/b]" in shown(TABLE, 100)


def test_a_narrow_terminal_folds_names_and_keeps_numbers_whole():
    text = shown(TABLE, 56)
    assert "253.471" in text
    assert "reproduced" in text


def test_where_there_is_no_terminal_each_piece_of_work_is_one_line(capsys):
    with progress_shown() as progress:
        for share in (0.0, 0.5, 1.0):
            progress("first", share)
        progress("second", 0.0)
        progress("second", 1.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["first", "second"]
