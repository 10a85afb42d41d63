from recrawl.report import Badge, Column, Table
from recrawl.report.tables import number


def test_numbers_printed_to_different_precision_line_up_at_the_point():
    table = Table([Column("published")], [(253.1,), (208,), (254.66,), (None,)])
    shown = [row[0] for row in table.texts()]
    assert shown == ["253.1 ", "208   ", "254.66", "–"]
    assert len({text.ljust(6).find(".") for text in shown[:1] + shown[2:3]}) == 1


def test_digits_of_a_column_are_fixed_and_thousands_set_off():
    table = Table([Column("worth", 2)], [(1234.5,), (-0.25,)])
    assert [row[0] for row in table.texts()] == ["1,234.50", "−0.25"]


def test_intervals_show_both_ends():
    table = Table([Column("interval", 1)], [((1.0, 2.25),), (None,)])
    assert [row[0] for row in table.texts()] == ["1.0 … 2.2", "–"]


def test_only_columns_of_numbers_align_right():
    columns = [Column("name"), Column("n"), Column("mixed"), Column("verdict")]
    table = Table(columns, [("a", 1, 2, Badge("x")), ("b", None, "no", Badge("y"))])
    assert table.numeric() == [False, True, False, False]


def test_an_empty_table_has_no_rows():
    assert Table([Column("a")], []).texts() == []
    assert Table([Column("a")], []).numeric() == [False]


def test_a_number_is_as_short_as_it_is_exact():
    assert number(260.30, None) == "260.3"
    assert number(1000000, None) == "1,000,000"
