"""Rules about items: what they match, what they lead to, and that wrong ones are refused in words."""

from __future__ import annotations

import pytest

from recrawl.config.item_rules import ItemRule, checked_rule, matches, verdict
from recrawl.crawl.item_rules_note import add_rule, read_rules, remove_rule
from recrawl.crawl.reading.in_full import Asked
from recrawl.crawl.reading.readers import Document, read
from recrawl.errors import ParameterError
from recrawl.store.sqlite import SqliteStore

ITEM = {
    "title": "Big Sale today",
    "content": "All shoes must go",
    "author": "Ann Bot",
    "link": "https://a.example/ads/1",
}


@pytest.mark.parametrize(
    ("field", "words", "hit"),
    [
        ("any", "sale", True), ("title", "SALE", True), ("content", "sale", False), ("author", "bot", True),
        ("link", "/ads/", True), ("link", "/\\/ads\\/\\d+$/", True),
        ("title", "/^big/", True), ("any", "/^go$/", False),
        ("any", "nothing", False), ("title", "//", False),
    ],
)  # fmt: skip
def test_what_matches(field: str, words: str, hit: bool) -> None:
    assert matches(ItemRule(act="block", field=field, words=words), **ITEM) is hit  # type: ignore[arg-type]


def test_what_is_kept_by_one_rule_is_not_blocked_by_another() -> None:
    rules = [ItemRule(id=1, act="block", words="a"), ItemRule(id=2, act="keep", words="b"),
             ItemRule(id=3, act="tag", words="c", label="x"), ItemRule(id=4, act="star", words="d")]  # fmt: skip
    assert verdict([1], rules) == (True, False, ())
    assert verdict([1, 2], rules) == (False, False, ())
    assert verdict([3, 4], rules) == (False, True, ("x",))


def test_a_rule_is_about_one_source_or_one_tag_or_all() -> None:
    assert ItemRule(act="block", words="x").concerns(1, ())
    assert not ItemRule(act="block", words="x", source=2).concerns(1, ())
    assert ItemRule(act="block", words="x", tag="news").concerns(1, ("news",))
    assert not ItemRule(act="block", words="x", tag="news").concerns(1, ("blog",))


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (ItemRule(act="block", words=""), "words"),
        (ItemRule(act="block", words="/(/"), "words"),
        (ItemRule(act="block", words="x" * 600), "words"),
        (ItemRule(act="tag", words="x"), "label"),
        (ItemRule(act="star", words="x", label="y"), "label"),
        (ItemRule(act="lose", words="x"), "act"),  # type: ignore[arg-type]
        (ItemRule(act="star", words="x", field="date"), "field"),  # type: ignore[arg-type]
        (ItemRule(act="star", words="x", source=-1), "source"),
    ],
)
def test_a_wrong_rule_is_named(rule: ItemRule, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        checked_rule(rule)


def test_they_are_kept_in_the_store(tmp_path) -> None:
    with SqliteStore(tmp_path / "a.db") as store:
        first = add_rule(store, ItemRule(act="block", words=" sale "))
        second = add_rule(store, ItemRule(act="tag", words="/x/", label="y"))
        assert (first.id, first.words, second.id) == (1, "sale", 2)
        assert read_rules(store) == (first, second)
        assert remove_rule(store, 1) == first
        assert read_rules(store) == (second,)
        with pytest.raises(ParameterError, match="number of a rule"):
            remove_rule(store, 1)
        store.write_note("reading/rules", b"of another version")
        assert read_rules(store) == ()


def test_a_document_is_held_against_them_where_it_is_read() -> None:
    body = b"""<rss version="2.0"><channel><title>t</title><item><guid>1</guid><title>A sale</title></item>
    <item><guid>2</guid><title>News</title><author>ann</author></item></channel></rss>"""
    rules = (ItemRule(id=7, act="block", words="sale"), ItemRule(id=8, act="star", field="author", words="/^ann$/"))
    asked = Asked(rules=rules)
    first, second = read(Document(url="https://a.example/", body=body, now=1e9, asked=asked)).items
    assert (first.matched, second.matched) == ((7,), (8,))
    assert asked.takes_patience
    assert not Asked(rules=rules[:1]).takes_patience
