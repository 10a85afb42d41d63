import io

from rich.console import Console
from rich.text import Text

from recrawl.cli.tables import ago, ahead, brief, lines, number, table, write_json


def drawn(width, draw, terminal=False):
    out = io.StringIO()
    draw(Console(file=out, width=width, force_terminal=terminal, highlight=False, color_system=None))
    return out.getvalue()


ROWS = [("1", "a title that is much too long for any terminal of this width", "now"), ("20", "[b]short[/b]", "1h")]


def test_the_elastic_column_is_cut_and_the_others_stay_whole():
    text = drawn(40, lambda out: table(out, ("id", "source", "due"), ROWS, elastic=1, right=(0,)))
    first, second = text.splitlines()[1:]
    assert len(first.rstrip()) <= 40
    assert "…" in first
    assert first.rstrip().endswith("now")
    assert "[b]short[/b]" in second


def test_a_wide_terminal_cuts_nothing():
    assert "…" not in drawn(120, lambda out: table(out, ("id", "source", "due"), ROWS, elastic=1))


def test_lines_are_cut_to_a_terminal_and_whole_in_a_pipe():
    long = [Text("x" * 200)]
    assert len(drawn(50, lambda out: lines(out, long), terminal=True).strip()) == 50
    assert drawn(50, lambda out: lines(out, long)) == "x" * 200 + "\n"


def test_numbers_nobody_knows_are_dashes_and_null(capsys):
    nan, inf = float("nan"), float("inf")
    assert [number(nan), number(None), number(inf), ago(None, 5.0), ahead(nan, 5.0)] == ["–", "–", "∞", "–", "–"]
    assert (ahead(4.0, 5.0), ahead(3605.0, 5.0), ago(5.0, 65.0), brief(inf)) == ("now", "1h", "1m", "never")
    write_json({"a": nan, "b": inf, "c": 1.5})
    assert capsys.readouterr().out == '{\n  "a": null,\n  "b": null,\n  "c": 1.5\n}\n'
