"""Lists of changedetection.io and urlwatch: what can be carried over is, and nothing else is dropped silently."""

from __future__ import annotations

import io
import json
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.cli import run
from recrawl.config import load
from recrawl.crawl.catalogue import bounded_zip
from recrawl.crawl.catalogue.bounded_yaml import MOST_ALIASES, MOST_NODES
from recrawl.crawl.catalogue.source_fields import checked_fields
from recrawl.crawl.catalogue.source_lists import ListedSource, Listing, format_of, read_list
from recrawl.errors import ParameterError
from recrawl.store.sqlite import SqliteStore

TAGS = {"t1": {"title": "Prices"}, "t2": {"title": "Mine", "ignore_text": ["x"]}}


def old(*watches: dict[str, Any], **application: Any) -> bytes:
    said = {"watching": {f"u{n}": each for n, each in enumerate(watches)},
            "settings": {"application": {"tags": TAGS, **application}, "requests": {}}}  # fmt: skip
    return json.dumps(said).encode()


def packed(files: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return out.getvalue()


def watch(**said: Any) -> ListedSource:
    (entry,) = read_list(old({"url": "https://a.example/", **said})).entries
    assert checked_fields({k: v for k, v in entry.fields.items() if k not in ("title", "state")}) is not None
    return entry


def job(text: str) -> ListedSource:
    (entry,) = read_list(f"url: https://a.example/\n{text}".encode()).entries
    assert checked_fields({k: v for k, v in entry.fields.items() if k not in ("title", "state")}) is not None
    return entry


# -- changedetection.io


@pytest.mark.parametrize(("said", "fields"), [
    ({"title": "Chair"}, {"title": "Chair"}),
    ({"paused": True}, {"state": "paused"}),
    ({"tags": ["t1"]}, {"tags": ["Prices"]}),
    ({"tag": "a, b"}, {"tags": ["a", "b"]}),
    ({"time_between_check": {"days": 1, "minutes": 5}, "time_between_check_use_default": False}, {"interval": "1d5m"}),
    ({"time_between_check": {"hours": 3}, "time_between_check_use_default": True}, {}),
    ({"include_filters": ["#a", ".b"]}, {"select": "#a, .b"}),
    ({"include_filters": ["xpath://p", "//a"]}, {"select": "xpath://p | //a"}),
    ({"include_filters": ["#a", "//b"]}, {"select": "xpath:descendant-or-self::*[@id = 'a'] | //b"}),
    ({"include_filters": ["json:$.price"]}, {"select": "json:$.price"}),
    ({"subtractive_selectors": ["nav", "//footer"]}, {"ignore": ["nav", "xpath://footer"]}),
    ({"ignore_text": ["a.b", "/x+/i"]}, {"ignore_text": [r"(?i).*(?:a\.b).*", "(?i).*(?:x+).*"]}),
    ({"headers": {"X-A": "b"}}, {"headers": ["X-A: b"]}),
    ({"notification_muted": True}, {"notify": False}),
    ({"browser_steps": [{"operation": "Goto site"}, {"operation": "Click element", "selector": "#more"},
                        {"operation": "Enter text in field", "selector": "form [name='q']", "optional_value": "red"},
                        {"operation": "Choose one"}, {"operation": "Wait for seconds", "optional_value": "3"}]},
     {"steps": ["click #more", "type \"form [name='q']\" red", "wait 3"]}),
    ({"processor": "restock_diff", "restock_settings": {"in_stock_processing": "off", "price_change_max": 9}},
     {"number": "price", "when": ["number > 9"]}),
])  # fmt: skip
def test_what_can_be_carried_over_is(said: dict[str, Any], fields: dict[str, Any]):
    entry = watch(**said)
    assert entry.fields == fields
    assert entry.left == ()


def test_trigger_texts_become_conditions_and_the_difference_is_said():
    entry = watch(trigger_text=["sold out", "/\\d+ seats/i"])
    assert entry.fields == {"when": ["appears sold out", "matches (?i)\\d+ seats"]}
    assert "here: when it comes" in entry.left[0]


@pytest.mark.parametrize(("said", "word"), [
    ({"include_filters": ["jq:.a"]}, "jq:.a"),
    ({"include_filters": ["p["]}, "p["),
    ({"include_filters": ["json:$.a", "json:$.b"]}, "json:$.b"),
    ({"subtractive_selectors": ["//a/@href"]}, "removed elements"),
    ({"ignore_text": ["/(/"]}, "ignored text"),
    ({"ignore_text": ["/a/x"]}, "ignored text"),
    ({"method": "POST"}, "GET"),
    ({"headers": {"Host": "x"}}, "header 'Host'"),
    ({"tags": ["t2"]}, "filters of its tag 'Mine'"),
    ({"url": "https://a.example/{{ today }}"}, "address computes"),
    ({"processor": "image_diff"}, "processor 'image_diff'"),
    ({"processor": "restock_diff"}, "in stock"),
    ({"time_schedule_limit": {"enabled": True}}, "hours"),
    ({"check_unique_lines": True}, "check_unique_lines"),
    ({"filter_text_added": False, "sort_text_alphabetically": True}, "sort_text_alphabetically"),
    ({"conditions": [{"field": "x"}]}, "conditions"),
    ({"something_new": {"a": 1}}, "something_new"),
    ({"browser_steps": [{"operation": "Wait for seconds"}, {"operation": "Press Enter"}]}, "'Press Enter'"),
    ({"browser_steps": [{"operation": "Click element", "selector": "//a"}]}, "'Click element'"),
    ({"browser_steps": [{"operation": "Wait for seconds", "optional_value": "99"}]}, "up to 30"),
])  # fmt: skip
def test_what_cannot_be_carried_over_is_named(said: dict[str, Any], word: str):
    assert word in "; ".join(watch(**said).left)


@pytest.mark.parametrize("default", ["html_webdriver", "extra_browser_1"])
def test_pages_that_a_browser_fetched_say_so(default: str):
    said = {"url": "https://a.example/"}, {"url": "https://b.example/", "fetch_backend": "html_requests"}
    by_default, plainly = read_list(old(*said, fetch_backend=default)).entries
    assert plainly.left == ()
    assert plainly.fields == {}
    assert by_default.fields == {"render": "browser"}


def test_headers_are_never_named_with_their_values():
    assert "canary" not in "; ".join(watch(headers={"Host": "canary", "X": "canary\n"}).left)


def test_a_backup_is_read_packed_or_not_in_the_old_form_and_the_new():
    watches = {"url": "https://a.example/", "tags": ["t1"]}, {"url": "https://b.example/"}
    plain = old(*watches, notification_urls=["json://x"])
    new = {
        "changedetection.json": json.dumps({"settings": {"application": {"notification_urls": ["json://x"]}}}).encode(),
        **{f"u{n}/watch.json": json.dumps(each).encode() for n, each in enumerate(watches)},
        "t1/tag.json": json.dumps(TAGS["t1"]).encode(), "secret.txt": b"x", "u0/history.txt": b"1,x",
        "u0/x/watch.json": b"",
    }  # fmt: skip
    found = [read_list(each) for each in (plain, packed({"url-watches.json": plain, "u0/1.txt": b"y"}), packed(new))]
    assert found[0] == found[1] == found[2]
    assert found[0].notify_urls == ("json://x",)
    assert [each.url for each in found[0].entries] == ["https://a.example/", "https://b.example/"]


def test_a_watch_that_cannot_be_read_costs_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    backup = tmp_path / "backup.zip"
    good = json.dumps({"url": "https://a.example/"}).encode()
    backup.write_bytes(packed({"changedetection.json": b"{}", "u0/watch.json": b"[1", "u1/watch.json": good}))
    assert run(["import", str(backup), "--store", str(tmp_path / "r.db")]) == 2
    said = capsys.readouterr()
    assert "1 added" in said.out
    assert "watch 1: url must be" in said.err
    assert "got 'u0/watch.json, which is no JSON of changedetection.io'" in said.err


def test_a_page_watched_twice_is_named_because_one_of_the_two_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    backup = tmp_path / "url-watches.json"
    backup.write_bytes(old(*({"url": "https://a.example/", "include_filters": [each]} for each in ("#a", "#b"))))
    assert run(["import", str(backup), "--store", str(tmp_path / "r.db")]) == 0
    said = capsys.readouterr().out
    assert "1 twice in the list" in said
    assert "https://a.example/: this address a second time" in said


@pytest.mark.parametrize(("own", "told"), [([], ("json://tag",)), (["json://own"], ("json://own",))])
def test_a_tag_says_whom_to_notify_unless_the_watch_does(own: list[str], told: tuple[str, ...]):
    tags = {"t1": {"title": "Prices", "notification_urls": ["json://tag"]}}
    said = old({"url": "https://a.example/", "tags": ["t1"], "notification_urls": own}, tags=tags)
    assert read_list(said).entries[0].notify_urls == told


def test_the_source_of_a_page_is_compared_byte_by_byte():
    assert watch(url="source:https://a.example/").fields == {"digest": "raw"}


# -- urlwatch


@pytest.mark.parametrize(("text", "fields"), [
    ("name: News", {"title": "News"}),
    ("filter: css:.price,html2text", {"select": ".price"}),
    ("filter:\n  - css: .price\n  - html2text\n  - strip", {"select": ".price"}),
    ("filter:\n  - css:\n      selector: main\n      exclude: nav", {"select": "main", "ignore": ["nav"]}),
    ("filter:\n  - xpath: //p/text()", {"select": "xpath://p/text()"}),
    ("filter:\n  - xpath:\n      path: //p\n      exclude: //a", {"select": "xpath://p", "ignore": ["xpath://a"]}),
    ("filter:\n  - element-by-id: foo", {"select": '[id="foo"]'}),
    ("filter:\n  - element-by-class: foo", {"select": '[class~="foo"]'}),
    ("filter:\n  - element-by-tag: main", {"select": "main"}),
    ("filter:\n  - grepi: Ads", {"ignore_text": [".*(?:Ads).*"]}),
    ("filter:\n  - re.sub: '\\d+ views'", {"ignore_text": [r"\d+ views"]}),
    ("headers:\n  X-A: b\ncookies: {a: b, c: d}", {"headers": ["X-A: b", "Cookie: a=b; c=d"]}),
    ("enabled: false\ntags: [x, y]", {"state": "paused", "tags": ["x", "y"]}),
    ("kind: url", {}),
])  # fmt: skip
def test_of_urlwatch_what_can_be_carried_over_is(text: str, fields: dict[str, Any]):
    entry = job(text)
    assert entry.fields == fields
    assert entry.left == ()


@pytest.mark.parametrize(("text", "word"), [
    ("filter:\n  - jq: .a", "jq '.a'"),
    ("filter:\n  - css: main\n  - css: .b", "filter css '.b' within"),
    ("filter:\n  - css:\n      selector: a\n      maxitems: 1", "maxitems of filter css"),
    ("filter:\n  - re.sub:\n      pattern: a\n      repl: b", "filter re.sub 'a'"),
    ("filter:\n  - sort", "filter sort"),
    ("filter:\n  - shellpipe: rm -rf /", "shellpipe"),
    ("filter:\n  - grep: A", "lines which grep picks"),
    ("filter:\n  - grep: A\n  - grep: B", "2 filters grep"),
    ("max_tries: 3\ntimeout: 5", "max_tries; timeout"),
    ("data: {a: b}\nmethod: POST", "data; method"),
    ("diff_filter:\n  - grep: x", "diff_filter"),
])  # fmt: skip
def test_of_urlwatch_what_cannot_be_carried_over_is_named(text: str, word: str):
    assert word in "; ".join(job(text).left)


def test_jobs_are_named_by_their_lines_and_commands_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    list_of = tmp_path / "urls.yaml"
    list_of.write_text(
        "# mine\n---\nname: A\nurl: https://a.example/\n---\ncommand: ls\n---\nnavigate: https://b.example/\n"
    )
    assert run(["import", str(list_of), "--store", str(tmp_path / "r.db")]) == 2
    said = capsys.readouterr()
    assert "line 6: url must be" in said.err
    assert "a shell command" in said.err
    assert "2 added" in said.out
    with SqliteStore(tmp_path / "r.db") as store:
        assert [each.options.render for each in store.sources()] == [None, "browser"]


@pytest.mark.parametrize(("text", "word"), [
    ("name: x\nlocation: https://a.example/", "a job without a url"),
    ("name: x\nurl: https://a.example/\n---\njust a text\n", "a document that is no job"),
])  # fmt: skip
def test_what_is_no_job_is_refused_in_words(text: str, word: str):
    assert word in read_list(text.encode()).entries[-1].url


def test_anchors_aliases_and_merges_are_read():
    text = "name: a\nurl: https://a.example/\nfilter: &f\n  - css: main\nheaders: &h {X-A: b}\n"
    text += "---\nurl: https://b.example/\nheaders: &h {X-B: c}\n<<: {name: merged, url: https://c.example/}\n"
    first, second = read_list(text.encode()).entries
    assert first.fields["select"] == "main"
    assert second.url == "https://b.example/"
    assert second.fields == {"title": "merged", "headers": ["X-B: c"]}


@pytest.mark.parametrize(("data", "form"), [
    (b"https://a.example/ News\nhttps://b.example/", "text"), (b"url,title\nhttps://a.example/,x", "csv"),
    (b"name: x\nurl: https://a.example/", "urlwatch"), (b"\xef\xbb\xbf---\n# x\nkind: url", "urlwatch"),
    (b'{"watching": {}}', "changedetection"), (b"url: https://a.example/", "urlwatch"),
])  # fmt: skip
def test_lists_are_told_apart(data: bytes, form: str):
    assert format_of(data) == form


# -- whom they notified


def test_notification_addresses_are_written_for_their_owner_alone_and_never_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    said = {"url": "https://a.example/", "notification_urls": ["tgram://canary/1"]}, {"url": "https://b.example/"}
    (tmp_path / "backup.zip").write_bytes(packed({"url-watches.json": old(*said, notification_urls=["json://canary"])}))
    assert run(["import", "backup.zip"]) == 0
    out = capsys.readouterr().out
    assert "1 notification address (--notifications FILE writes them down)" in out
    assert "1 notification address for all pages" in out
    assert run(["import", "backup.zip", "--update", "--notifications", "recrawl.toml"]) == 0
    assert "canary" not in out + capsys.readouterr().out
    assert (tmp_path / "recrawl.toml").stat().st_mode & 0o777 == 0o600
    told = load(tmp_path / "recrawl.toml").notify
    assert {name: (each.to, each.named_only) for name, each in told.items()} == {
        "all1": ("json://canary", False), "page1": ("tgram://canary/1", True),
    }  # fmt: skip
    with SqliteStore(tmp_path / "recrawl.db") as store:
        assert [each.options.notify_to for each in store.sources()] == [("page1",), ()]
    assert run(["import", "backup.zip", "--update", "--notifications", "recrawl.toml"]) == 2
    assert "cannot write recrawl.toml: file exists" in capsys.readouterr().err


# -- strangers


def refused(data: bytes) -> str:
    with pytest.raises(ParameterError) as caught:
        read_list(data, name="it")
    return str(caught.value)


def test_a_bomb_is_not_unpacked():
    began = time.process_time()
    bomb = packed({"url-watches.json": b"0" * (bounded_zip.LARGEST_FILE + 1)})
    assert len(bomb) < 100_000
    assert "at most 64 MiB" in refused(bomb)
    many = packed({f"u{n}/watch.json": b" " * 2**24 for n in range(20)})
    assert "256 MiB in all" in refused(many)
    assert time.process_time() - began < 20.0


def test_a_zip_that_lies_or_is_something_else_is_refused_in_words():
    good = packed({"url-watches.json": old({"url": "https://a.example/"})})
    assert "whole" in refused(good[:-30])
    place = good.rfind(b"PK\x05\x06")
    assert "fewer files" in refused(good[: place + 12] + struct.pack("<I", 2**31) + good[place + 16 :])
    assert "another zip file" in refused(packed({"../../etc/passwd": b"x", "a/b/watch.json": b"{}"}))
    assert "packed as zip usually" in refused(packed({"url-watches.json": b"{}"}, zipfile.ZIP_LZMA))
    assert "JSON" in refused(packed({"url-watches.json": b"{"}))
    assert "JSON" in refused(b"{" * 100_000)
    assert "without any address" in refused(b"{}")


def test_names_that_lead_elsewhere_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    read_list(packed({"../watch.json": b'{"url":"https://a.example/"}', "/watch.json": b"{}"}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [
    "name: " + "[" * 100_000,
    "name: x\nfilter:\n" + "".join(f"{' ' * n}-\n" for n in range(1, 200)),
    "name: x\n" + "- a\n" * (MOST_NODES + 5),
    "name: &a x\ntags: [" + "*a, " * (MOST_ALIASES + 5) + "]",
    "name: [" + "a, " * (MOST_NODES + 5) + "]",
    "name: x\nurl: [",
    "name: x\n\tname: y",
])  # fmt: skip
def test_yaml_that_nests_or_repeats_without_bound_is_refused(text: str):
    began = time.process_time()
    assert "it" in refused(text.encode())
    assert time.process_time() - began < 5.0


def test_a_billion_laughs_cost_nothing():
    laughs = "name: &a0 [x, x]\n" + "".join(f"k{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 18))
    began = time.process_time()
    (entry,) = read_list((laughs + "url: https://a.example/").encode()).entries
    assert len("; ".join(entry.left)) < 1000
    assert time.process_time() - began < 2.0


def test_merges_that_grow_cost_nothing():
    grown = "name: x\na0: &a0 {x: 1}\n" + "".join(
        f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], y{n}: 1}}\n" for n in range(1, 300)
    )
    began = time.process_time()
    read_list((grown + "url: https://a.example/").encode())
    assert time.process_time() - began < 2.0


def test_tags_of_yaml_make_no_objects():
    (entry,) = read_list(b"url: https://a.example/\nname: !!python/object/apply:os.system ['touch /tmp/x']").entries
    assert entry.fields == {}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["//a", "json:$.a", "/x/i"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = ["url", "title", "tag", "tags", "time_between_check", "time_between_check_use_default", "include_filters",
        "subtractive_selectors", "ignore_text", "trigger_text", "headers", "fetch_backend", "processor", "method",
        "restock_settings", "notification_urls", "time_schedule_limit", "name", "navigate", "filter", "cookies",
        "kind", "enabled"]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=8))
def test_whatever_a_watch_or_a_job_says_is_read_or_refused_in_words(said: dict[str, Any]):
    for data in (old({**said, "url": "https://a.example/"}), b"name: x\n---\n" + json.dumps(said).encode()):
        try:
            found = read_list(data)
        except ParameterError:  # not all of JSON is YAML
            continue
        assert isinstance(found, Listing)
        for entry in found.entries:
            rest = {name: value for name, value in entry.fields.items() if name not in ("title", "state")}
            assert checked_fields(rest) is not None
