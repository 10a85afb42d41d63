import pytest

from recrawl.crawl.catalogue.source_fields import checked_fields
from recrawl.errors import ParameterError


def test_what_is_written_becomes_the_fields_of_a_source():
    fields = checked_fields(
        {"importance": "2.5", "cost": 3, "half_life": "6h", "max_age": "7d", "kind": "Feed", "select": " main > p ",
         "tags": ["world  news", "a", "a"], "headers": ["Authorization: Bearer x", "X-Y:z"]}
    )  # fmt: skip
    assert fields == {
        "importance": 2.5, "cost": 3.0, "half_life": 21600.0, "max_age": 604800.0, "kind": "feed", "select": "main > p",
        "tags": ("world news", "a"), "headers": {"Authorization": "Bearer x", "X-Y": "z"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("importance", "much", "importance must be a number > 0, got 'much'"),
        ("importance", 0.0, "importance must be a number > 0"),
        ("importance", "inf", "importance must be a number > 0"),
        ("cost", "-1", "cost must be a number > 0"),
        ("half_life", "soon", "half_life must be a time such as"),
        ("max_age", "0s", "max_age must be a time longer than nothing"),
        ("kind", "podcast", "kind must be one of auto, feed, sitemap, page"),
        ("tags", ["a\x1b[31m"], "tags must be plain text"),
        ("tags", [" "], "tags must be plain text"),
        ("select", "div[", "select must be a CSS selector"),
        ("select", "", "select must be a CSS selector"),
        ("select", "p::before", "select must be a CSS selector"),
        ("select", "(" * 400, "select must be a CSS selector"),
        ("headers", ["no colon"], "headers must be 'Name: value'"),
        ("headers", ["bad name: x"], "headers must be 'Name: value'"),
        ("headers", ["X: a\r\nY: b"], "headers must be 'Name: value' with a printable ASCII value"),
        ("headers", ["Host: other.example"], "headers must be a header the crawler does not set itself, got Host"),
    ],
)
def test_what_cannot_be_is_named(name, value, said):
    with pytest.raises(ParameterError) as refused:
        checked_fields({name: value})
    assert said in str(refused.value)


def test_the_value_of_a_header_is_never_repeated():
    with pytest.raises(ParameterError) as refused:
        checked_fields({"headers": ["Authorization: sécret"]})
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize("fields", [
    {"headers": ["X-Key: env:HOME"]},
    {"headers": ["Cookie: a=b; key=env:AWS_SECRET"]},
    {"headers": ["Authorization: Bearer env:RECRAWL_TOKEN"]},
    {"steps": ["type #q env:HOME"]},
    {"steps": ["type #q env:RECRAWL_WEBHOOK_SECRET"]},
])  # fmt: skip
def test_no_other_variable_of_the_environment_is_named(fields: dict[str, list[str]]) -> None:
    with pytest.raises(ParameterError, match="env:RECRAWL_PAGE_NAME"):
        checked_fields(fields)
