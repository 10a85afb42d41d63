from __future__ import annotations

import json
from pathlib import Path

import pytest

from recrawl.crawl.push import index_now
from recrawl.crawl.push.index_now import Ping, PingError, Verdict, holds_key, ping_of_json, ping_of_query
from recrawl.store.sqlite import SqliteStore

KEY = "0123abcd-KEY"
NOW = 1_700_000_000.0


def listed(**said: object) -> bytes:
    usual = {"host": "a.example", "key": KEY, "urlList": ["https://a.example/1", "https://a.example/2"]}
    return json.dumps({name: value for name, value in (usual | said).items() if value is not None}).encode()


def status_of(body: bytes) -> int:
    with pytest.raises(PingError) as refused:
        spelt(ping_of_json(body))
    return refused.value.status


def spelt(ping: Ping) -> list[str]:
    return ping.spelt(ping.urls)


def test_one_address_by_a_question() -> None:
    said = {"url": "https://A.example:443/b/../c#d", "key": KEY}
    found = ping_of_query(said)
    assert spelt(found) == ["https://a.example/c"]
    assert found.proof == f"https://a.example/{KEY}.txt {KEY}"


def test_many_by_a_list_each_once() -> None:
    urls = ["http://a.example/1", "http://a.example/1", "http://a.example/2"]
    found = ping_of_json(listed(urlList=urls, host="A.Example"))
    assert found == Ping(tuple(urls[1:]), "a.example/", f"http://a.example/{KEY}.txt {KEY}")
    assert spelt(found) == urls[1:]


def test_a_file_elsewhere_stands_for_what_is_below_its_folder() -> None:
    location = "https://a.example/shop/key.txt"
    found = ping_of_json(listed(keyLocation=location, urlList=["https://a.example/shop/1"]))
    assert index_now.file_and_key(found.proof) == (location, KEY)
    assert status_of(listed(keyLocation=location)) == 422


@pytest.mark.parametrize(
    "said",
    [{"host": None}, {"host": 5}, {"key": None}, {"key": 5}, {"keyLocation": 5}, {"urlList": None}, {"urlList": []},
     {"urlList": "https://a.example/"}, {"urlList": [5]}, {"urlList": ["https://a.example/"] * 10_001}],
)  # fmt: skip
def test_what_has_another_form_is_a_bad_request(said: dict[str, object]) -> None:
    assert status_of(listed(**said)) == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"\xff", b"[" * 100_000])
def test_so_is_what_is_no_object(body: bytes) -> None:
    assert status_of(body) == 400


@pytest.mark.parametrize(
    "said",
    [{"host": "b.example"}, {"urlList": ["https://a.example/", "https://b.example/"]}, {"host": "a b"},
     {"keyLocation": "https://b.example/key.txt"}, {"keyLocation": "file:///etc/passwd"}, {"key": "short"},
     {"key": "x" * 129}, {"key": "with space"}, {"key": "../../secret"}, {"urlList": ["javascript:alert(1)"]},
     {"urlList": ["https://a.example@b.example/"]}, {"keyLocation": "https://a.example/?f=/key.txt"},
     {"keyLocation": "https://a.example/a#/key.txt"}, {"keyLocation": f"https://a.example/{'x' * 1000}"}],
)  # fmt: skip
def test_what_is_not_of_the_host_or_no_key_cannot_be_processed(said: dict[str, object]) -> None:
    assert status_of(listed(**said)) == 422


@pytest.mark.parametrize("said", [{}, {"url": "https://a.example/"}, {"key": KEY}])
def test_a_question_needs_both(said: dict[str, str]) -> None:
    with pytest.raises(PingError) as refused:
        ping_of_query(said)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "good"),
    [(KEY, True), (f" {KEY}\r\n", True), (f"\ufeff{KEY}", True), (f"other\n{KEY}\n", True), ("", False),
     (KEY[:-1], False), (f"x{KEY}", False), ("\n" * 5000 + KEY, False)],
)  # fmt: skip
def test_a_file_holds_the_key_on_a_line_of_its_own(body: str, good: bool) -> None:
    assert holds_key(body.encode(), KEY) is good


def test_what_was_found_is_kept_for_a_while_and_the_good_longest(tmp_path: Path) -> None:
    file = "https://a.example/k.txt"
    with SqliteStore(tmp_path / "recrawl.db") as store:
        assert index_now.verdict_of(store, f"{file} good", NOW) is None
        index_now.keep_verdict(store, Verdict(f"{file} good", True, NOW + 100.0))
        for k in range(3 * index_now.MOST_VERDICTS):
            index_now.keep_verdict(store, Verdict(f"{file} wrong{k}", False, NOW + 200.0 + k))
        assert index_now.verdict_of(store, f"{file} good", NOW) == Verdict(f"{file} good", True, NOW + 100.0)
        assert index_now.verdict_of(store, f"{file} good", NOW + 100.0) is None
        last = index_now.verdict_of(store, f"{file} wrong{3 * index_now.MOST_VERDICTS - 1}", NOW)
        assert last is not None
        assert not last.good
        kept = store.note("push/indexnow/a.example")
        assert kept is not None
        assert len(json.loads(kept)) == index_now.MOST_VERDICTS
        store.write_note("push/indexnow/a.example", b"nonsense")
        assert index_now.verdict_of(store, f"{file} good", NOW) is None


def test_what_was_right_is_seen_again_before_it_ends_and_what_was_wrong_is_not() -> None:
    assert index_now.is_to_be_seen(None, NOW)
    assert not index_now.is_to_be_seen(Verdict("p", True, NOW + index_now.RENEWED_S), NOW)
    assert index_now.is_to_be_seen(Verdict("p", True, NOW + index_now.RENEWED_S - 1.0), NOW)
    assert not index_now.is_to_be_seen(Verdict("p", False, NOW + 1.0), NOW)


def test_addresses_in_order_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    ping = ping_of_json(listed())
    monkeypatch.setattr("recrawl.crawl.urls._canonical", None)
    assert spelt(ping) == ["https://a.example/1", "https://a.example/2"]
