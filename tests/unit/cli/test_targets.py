import pytest

from recrawl.cli.targets import TargetError, find_source, find_sources
from recrawl.store.opening import open_store
from recrawl.store.records import Source


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "recrawl.db")
    store.add(
        [
            Source(url="https://example.org/feed", title="The Daily"),
            Source(url="https://example.org/feed/2", title="The Daily Show"),
            Source(url="https://other.example/rss", title="Other \x1b[31mnews"),
        ]
    )
    yield store
    store.close()


@pytest.mark.parametrize(
    ("text", "id"),
    [("1", 1), ("#2", 2), ("https://example.org/feed", 1), ("HTTPS://Example.org:443/feed#x", 1),
     ("example.org/feed/2", 2), ("other", 3), ("show", 2), ("the daily", 1)],
)  # fmt: skip
def test_a_source_is_found_by_id_address_or_any_part_that_fits_one_only(store, text, id):
    assert find_source(store, text).id == id


def test_a_part_that_fits_several_lists_them(store):
    with pytest.raises(TargetError) as refused:
        find_source(store, "example.org")
    assert "could be several" in refused.value.message
    assert "1  https://example.org/feed  (The Daily)" in refused.value.message
    assert "other.example" not in refused.value.message


def test_a_name_that_fits_nothing_gets_similar_ones(store):
    with pytest.raises(TargetError) as refused:
        find_source(store, "othr.exmple")
    assert "similar are" in refused.value.message
    assert "other.example" in refused.value.message
    assert "\x1b" not in refused.value.message


@pytest.mark.parametrize("text", ["", "zzzzzzzz", "%", "http://["])
def test_what_is_not_there_is_an_error(store, text):
    with pytest.raises(TargetError, match="no source is called"):
        find_source(store, text)


@pytest.mark.parametrize("text", ["6", "#6", " 6 ", "2" * 30])
def test_a_number_is_an_id_and_never_a_part_of_an_address(store, text):
    store.add([Source(url="https://example.net/6"), Source(url="https://example.net/" + "2" * 30)])
    with pytest.raises(TargetError, match=f"no source has id {text.strip().removeprefix('#')}; see `recrawl sources`"):
        find_source(store, text)


def test_one_source_named_twice_is_one(store):
    assert [each.id for each in find_sources(store, ["1", "https://example.org/feed", "3"])] == [1, 3]
