"""The commands that keep the catalogue and look at what became of it, from the outside, on a store in a file."""

import gzip
import io
import json
import math
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from made_up import learn
from recrawl.cli import run
from recrawl.config import Config
from recrawl.crawl.visit_outcome import change_of
from recrawl.store.opening import open_store
from recrawl.store.records import Batch, Crawl, Hold, Item, Price, Progress, Source, Version, VisitUpdate, item_key
from recrawl.wiring import recall

HOUR, DAY = 3600.0, 86400.0
MU = math.log(2) / (12 * HOUR)
OPML = """<?xml version="1.0"?><opml version="2.0"><body>
<outline text="News"><outline text="World">
<outline text="The &lt;b&gt;A&lt;/b&gt;" xmlUrl="https://a.example/feed"/></outline>
<outline text="B" xmlUrl="ftp://b.example/feed"/>
</outline><outline text="C" xmlUrl="https://c.example/feed"/></body></opml>"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def said(here, capsys):
    def say(*arguments, status=0):
        assert run([str(each) for each in arguments]) == status, capsys.readouterr()
        return capsys.readouterr().out

    return say


@pytest.fixture
def complained(here, capsys):
    def complain(*arguments, status=2):
        assert run([str(each) for each in arguments]) == status
        return capsys.readouterr().err

    return complain


def as_json(text):
    return json.loads(text)


def _item(source, k, now):
    title, link = f"<b>Fish</b> number\x1b[2J {k} [red]", f"https://item.example/{source}/{k}"
    return Item(source=source, key=item_key(str(k)), title=title, first_seen=now - 60 * k, link=link)


@pytest.fixture
def crawled(here):
    """A store in which three sources were crawled and one was not."""
    now = time.time()
    store = open_store("recrawl.db")
    store.add(
        [
            Source(url="https://busy.example/feed", title="Busy [b]\x1b[31mfeed", kind="feed", tags=("news",)),
            Source(url="https://slow.example/page", title="Slow", kind="page", importance=2.0),
            Source(url="https://down.example/feed", title="Down", kind="feed"),
            Source(url="https://fresh.example/feed"),
        ]
    )
    updates = []
    for id, per_day, failures in ((1, 20.0, 0), (2, 0.05, 0), (3, 1.0, 4)):
        value = per_day / DAY / MU
        beliefs = {"value": value, "value_sd": value / 4, "rate": MU, "rate_sd": 0.0, "due": now + HOUR * id}
        held = (
            {"failures": failures, "held_until": now + HOUR, "held_by": "status 503 <i>again</i>"} if failures else {}
        )
        progress = Progress(source=id, last=now - HOUR, visits=5, captured=3.0, **beliefs, **held)
        answer = {"outcome": "failed", "status": 503, "error": "status 503\x07"} if failures else {"outcome": "new"}
        crawl = Crawl(source=id, at=now - HOUR, new=2, captured=1.5, elapsed_s=0.2 * id, **answer)
        items = [] if failures else [_item(id, k, now) for k in range(2)]
        version = Version(source=2, at=now - HOUR, digest="d", diff="-old\x1b[31m\n+new <b>") if id == 2 else None
        items += [change_of(store.source(2), version)] if version else []
        updates.append(VisitUpdate(crawl=crawl, progress=progress, items=items, version=version))
    shared = learn(store.sources(), [*_history(1, 20.0, now), updates[0]])
    price = Price(at=now - 5, price=0.3, budget=1.0, requests=60, captured=9.0)
    hold = Hold(host="down.example", until=now + HOUR, reason="asked to wait\x1b]0;title\x07")
    store.commit(Batch(updates=updates, price=price, holds=[hold], shared=shared))
    store.close()
    return now


def _history(id, per_day, now):
    """A week of visits, every two hours, to a feed with so many items a day."""
    made, draw = [], np.random.default_rng(0)
    for k in range(84):
        at = now - 7 * DAY + 2 * HOUR * k
        born = sorted(draw.uniform(at - 2 * HOUR, at, draw.poisson(2 * HOUR * per_day / DAY)).tolist())
        items = [
            Item(source=id, key=item_key(f"{k} {n}"), published=when, first_seen=at) for n, when in enumerate(born)
        ]
        crawl = Crawl(source=id, at=at, outcome="new", new=len(items))
        made.append(VisitUpdate(crawl=crawl, progress=Progress(source=id, last=at, visits=k + 1), items=items))
    return made


# -- the catalogue


def test_sources_are_added_once_whatever_their_spelling(said):
    assert said("add", "example.org/feed", "https://b.example/") == (
        "added: 1 https://example.org/feed\nadded: 2 https://b.example/\n"
    )
    assert said("add", "HTTPS://EXAMPLE.org:443/feed#top") == "already there: 1 https://example.org/feed\n"
    assert len(as_json(said("sources", "--json"))) == 2


def test_the_good_ones_are_added_and_the_bad_ones_named(complained, said):
    error = complained("add", "https://a.example/", "ftp://b.example/", "nonsense")
    assert "'ftp://b.example/'" in error
    assert "'nonsense'" in error
    assert [each["url"] for each in as_json(said("sources", "--json"))] == ["https://a.example/"]


def test_what_is_said_of_a_source_is_kept(said):
    numbers = ("--importance", "3", "--half-life", "6h", "--max-age", "7d", "--cost", "2")
    words = ("--tag", "x", "--tag", "y", "--kind", "page", "--select", "main")
    said("add", "https://a.example/", *numbers, *words, "--header", "Authorization: Bearer s3cret")
    text = said("sources", "--json")
    (found,) = as_json(text)
    assert (found["importance"], found["half_life_s"], found["max_age_s"], found["cost"]) == (
        3.0,
        21600.0,
        604800.0,
        2.0,
    )
    assert (found["tags"], found["kind"], found["select"], found["has_headers"]) == (["x", "y"], "page", "main", True)
    assert "s3cret" not in text


def test_what_is_for_pages_is_named_where_it_is_said_of_a_feed(complained):
    page = ["add", "https://a.example/x", "--number", "price", "--when", "number < 3", "--step", "click a"]
    assert complained(*page, "--kind", "page", status=0) == ""
    page[1] = "https://a.example/y"
    assert "--number, --step, --when: for pages only, and nothing to a feed" in complained(
        *page, "--kind", "feed", status=0
    )


def test_update_changes_what_is_there(said):
    said("add", "https://a.example/", "--importance", "3", "--tag", "x")
    assert said("add", "https://a.example/", "--importance", "5", "--update") == "updated: 1 https://a.example/\n"
    (found,) = as_json(said("sources", "--json"))
    assert (found["importance"], found["tags"]) == (5.0, ["x"])


def test_a_wrong_option_adds_nothing(complained, here):
    assert "importance must be a number > 0" in complained("add", "https://a.example/", "--importance", "-1")
    assert "select must be a CSS selector" in complained("add", "https://a.example/", "--select", "[[")
    assert not Path("recrawl.db").exists()


def test_a_list_of_subscriptions_comes_with_its_folders(said, complained, here):
    Path("feeds.opml").write_text(OPML)
    assert "line 4: url must be" in complained("import", "feeds.opml", "--importance", "2", "--tag", "imported")
    first, second = as_json(said("sources", "--json"))
    assert (first["url"], first["tags"], first["title"]) == (
        "https://a.example/feed", ["News", "World", "imported"], "The A",
    )  # fmt: skip
    assert (second["tags"], second["importance"]) == (["imported"], 2.0)


def test_text_and_csv_are_told_apart_and_importing_twice_adds_nothing(said, here):
    Path("list.txt").write_text("# mine\nhttps://a.example/ A\nhttps://a.example/\n")
    assert said("import", "list.txt") == "1 added, 0 already there, 1 twice in the list\n"
    Path("list.csv").write_text("url,importance,tags\nhttps://b.example/,4,x;y\nhttps://a.example/,9,\n")
    assert said("import", "list.csv") == "already there: 1 https://a.example/\n1 added, 1 already there\n"
    assert as_json(said("sources", "--json", "--tag", "y"))[0]["importance"] == 4.0


def test_a_long_list_is_taken_in_by_portions_and_counted_as_one(said, here, monkeypatch):
    monkeypatch.setattr("recrawl.cli.adding.PORTION", 2)
    Path("a.txt").write_text("".join(f"https://a.example/{k}\n" for k in (1, 2, 1, 3, 3, 4, 1)))
    assert said("import", "a.txt") == "4 added, 0 already there, 3 twice in the list\n"
    Path("b.txt").write_text("".join(f"https://a.example/{k}\n" for k in (*range(14), 2)))
    lines = said("import", "b.txt", "--importance", "3").splitlines()
    assert lines[0] == "already there: 1 https://a.example/1"
    assert lines[-1] == "10 added, 4 already there, 1 twice in the list"
    said("import", "b.txt", "--importance", "3", "--update")
    assert {each["importance"] for each in as_json(said("sources", "--json"))} == {3.0}


def test_standard_input_is_a_list_too(here):
    done = subprocess.run(
        [sys.executable, "-c", "from recrawl.cli import main; main(['import', '-'])"],
        input="https://a.example/\nnot an address\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == "1 added, 0 already there, 1 refused\n"
    assert "line 2: url must be" in done.stderr


def test_a_file_that_is_no_list_is_refused_in_one_line(complained, here):
    Path("x.opml").write_text("<html><body>no</body></html>")
    assert "not an OPML list" in complained("import", "x.opml")
    assert "cannot be read" in complained("import", "none.opml")
    (here / "empty.txt").write_bytes(b"\n")
    assert "got an empty file" in complained("import", "empty.txt")
    (here / "feeds.opml.gz").write_bytes(gzip.compress(OPML.encode()))
    assert "packed with gzip: unpack it first" in complained("import", "feeds.opml.gz")


@pytest.mark.parametrize("state", ["retired", "paused"])
def test_one_that_is_not_fetched_is_not_explained_by_when_it_would_be(said, crawled, state):
    store = open_store("recrawl.db")
    store.edit([msgspec.structs.replace(store.source(1), state=state, note="gone since May")])
    store.close()
    text = said("explain", "1")
    assert ("Retired and not fetched again: gone since May." if state == "retired" else "Paused by its owner") in text
    assert "at the latest" not in text
    assert not re.search(r"^(meets it|index now|price) ", text, re.MULTILINE), text
    assert re.search(r"^due +never *$", text, re.MULTILINE)


def test_a_picture_is_no_list_and_no_store_is_made_for_it(complained, here):
    (here / "shot.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 200)
    assert complained("import", "shot.png") == ("recrawl: shot.png is neither OPML, CSV nor a list of addresses\n")
    assert not (here / "recrawl.db").exists()


def test_of_many_lines_that_are_refused_a_few_are_shown_and_the_rest_counted(complained, here):
    (here / "bad.txt").write_text("not\n" * 2872)
    lines = complained("import", "bad.txt").splitlines()
    assert len(lines) == 21
    assert lines[19].startswith("recrawl: line 20: url must be")
    assert lines[20] == "recrawl: and 2,852 more lines"
    assert complained("add", *["ftp://a.example/"] * 21).endswith("\nrecrawl: and 1 more address\n")


@pytest.mark.parametrize("form", ["opml", "csv", "text"])
def test_what_is_exported_can_be_imported_again(said, here, form):
    said("add", "https://a.example/", "https://b.example/?x=1&y=2", "--tag", "News", "--tag", "World")
    file = f"out.{form}"
    assert said("export", "--format", form, file) == f"2 sources written to {file}\n"
    said("import", file, "--store", "other.db")
    before, after = as_json(said("sources", "--json")), as_json(said("sources", "--json", "--store", "other.db"))
    assert [each["url"] for each in after] == [each["url"] for each in before]
    if form != "text":
        assert [each["tags"] for each in after] == [each["tags"] for each in before]


def test_headers_are_exported_only_when_asked_for_and_to_a_private_file(said, complained, here):
    said("add", "https://a.example/", "--header", "Authorization: s3cret")
    assert "s3cret" not in said("export") + said("export", "--format", "csv")
    said("export", "secret.csv", "--with-headers")
    assert "s3cret" in Path("secret.csv").read_text()
    assert stat.S_IMODE(Path("secret.csv").stat().st_mode) == 0o600
    assert "CSV" in complained("export", "--with-headers").upper()


def test_paused_sources_stay_and_resume(said):
    said("add", "https://a.example/")
    assert said("pause", "a.example") == "paused: 1 https://a.example/\n"
    assert as_json(said("sources", "--json", "--state", "paused"))[0]["health"] == "paused"
    assert said("pause", "1") == "already paused: 1 https://a.example/\n"
    assert said("pause", "--resume", "1") == "resumed: 1 https://a.example/\n"


def test_removing_asks_first(said, complained, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    said("add", "https://a.example/", "https://b.example/")
    complained("remove", "1", status=130)
    assert said("remove", "1", "--yes").endswith("1 removed\n")
    assert [each["id"] for each in as_json(said("sources", "--json"))] == [2]


def test_an_unknown_or_ambiguous_target_does_nothing(complained, said):
    said("add", "https://a.example/1", "https://a.example/2")
    assert "could be several sources" in complained("remove", "--yes", "1", "a.example")
    assert "no source is called 'qqq'" in complained("pause", "1", "qqq")
    assert [each["state"] for each in as_json(said("sources", "--json"))] == ["active", "active"]


# -- queries


LOOKS = (("sources",), ("status",), ("items",), ("search", "fish"), ("explain", "busy"), ("explain", "down"),
         ("changes", "slow"), ("whatif", "--budget", "2/min"))  # fmt: skip


@pytest.mark.parametrize("arguments", LOOKS)
@pytest.mark.parametrize("width", ["80", "120"])
def test_what_comes_from_the_web_is_shown_as_plain_text_within_the_width(crawled, said, monkeypatch, arguments, width):
    monkeypatch.setenv("COLUMNS", width)
    text = said(*arguments)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "<b>Fish" not in text
    if arguments[0] not in ("items", "search"):
        assert all(len(line) <= int(width) for line in text.splitlines())


@pytest.mark.parametrize("arguments", LOOKS)
def test_every_look_has_json(crawled, said, arguments):
    assert as_json(said(*arguments, "--json"))


def test_the_catalogue_is_listed_by_any_field(crawled, said):
    assert [each["id"] for each in as_json(said("sources", "--json", "--sort", "-value"))] == [1, 3, 2, 4]
    assert [each["id"] for each in as_json(said("sources", "--json", "--text", "slow"))] == [2]
    text = said("sources", "--limit", "2")
    assert "2 of 4 sources" in text
    assert "failing ×4" in said("sources", "--sort", "-failures")


def test_an_unknown_field_to_sort_by_is_a_usage_error(crawled, complained):
    assert "--sort is one of id, url" in complained("sources", "--sort", "beauty")


def test_status_says_how_it_goes(crawled, said):
    found = as_json(said("status", "--json"))
    assert found["sources"] == {"active": 4, "paused": 0, "retired": 0, "never_fetched": 1, "failing": 1}
    assert (found["price"], found["budget_per_s"], found["crawler"]) == (0.3, 1.0, None)
    assert (found["day"]["requests"], found["day"]["new"], found["day"]["failed"]) == (3, 6, 1)
    assert [each["host"] for each in found["slowest_hosts"]] == ["down.example", "slow.example", "busy.example"]
    assert [each["host"] for each in found["failing_hosts"]] == ["down.example"]
    assert [each["host"] for each in found["holds"]] == ["down.example"]
    due = [each["due"] for each in found["next"]]
    assert due == sorted(due)
    explained = [as_json(said("explain", str(each["id"]), "--json"))["due"] for each in found["next"]]
    assert due == pytest.approx(explained, abs=600.0)  # one never fetched is due a moment from now, whenever that is
    assert "none is running" in said("status")


def test_status_names_the_crawler_that_runs(crawled, said):
    store = open_store("recrawl.db")
    store.claim("recrawl run", time.time())
    try:
        assert "recrawl run" in as_json(said("status", "--json"))["crawler"]
    finally:
        store.close()


def test_explain_says_the_numbers_that_rank(crawled, said):
    found = as_json(said("explain", "busy", "--json"))
    store = open_store("recrawl.db")
    ranking = recall(Config(), store.sources(ids=[1]), store.progress([1]), store.shared(), time.time())
    store.close()
    ages = np.array([found["age_s"], 0.98 * found["crossing_age_s"], found["crossing_age_s"]])
    now, before, worth = ranking.curve(1, ages + found["last"])
    assert found["index"] == pytest.approx(now, rel=1e-3)
    assert found["price"] == 0.3
    assert before < 0.3 <= worth * (1.0 + 1e-4)
    assert found["due"] == pytest.approx(found["last"] + found["crossing_age_s"])
    assert found["why"].startswith("Due ")
    assert 14.0 < found["pace_per_day"] < 24.0
    assert found["form"]
    assert found["reasons"]


def test_explain_says_what_holds_a_source_back_and_when_a_new_one_is_fetched(crawled, said):
    held = as_json(said("explain", "down", "--json"))
    reasons = {each["reason"].partition("\x1b")[0] for each in held["held_back"]}
    assert reasons == {"its host is held: asked to wait", "status 503 <i>again</i>"}
    fresh = as_json(said("explain", "fresh", "--json"))
    assert fresh["why"] == "Never fetched yet: new sources are fetched first, within about 2s at this budget."
    assert fresh["value"] is None


def test_items_are_found_by_time_source_tag_and_words(crawled, said):
    assert [each["kind"] for each in as_json(said("items", "--json"))] == ["item"] * 4 + ["change"]
    assert len(as_json(said("items", "--json", "--since", "30s"))) == 2
    assert {each["source"] for each in as_json(said("items", "--json", "--source", "slow"))} == {2}
    assert {each["source"] for each in as_json(said("items", "--json", "--tag", "news"))} == {1}
    assert len(as_json(said("search", "--json", "number", "fis*"))) == 4
    assert said("search", 'nothing "AND') == "no items\n"


def test_changes_of_a_page_are_shown_as_they_were_found(crawled, said):
    (found,) = as_json(said("changes", "slow", "--json"))
    assert (found["diff"], found["source"]) == ("-old\x1b[31m\n+new <b>", 2)
    text = said("changes", "slow")
    assert "-old\n+new <b>\n" in text
    assert said("changes", "busy") == "no changes\n"


def test_changes_of_all_pages_are_shown_in_one_place(crawled, said):
    (found,) = as_json(said("changes", "--json"))
    assert (found["source"], found["source_url"], found["added"]) == (2, "https://slow.example/page", "new <b>")
    assert found["diff"] == "-old\x1b[31m\n+new <b>"
    text = said("changes")
    assert "Slow" in text
    assert "+new <b>" in text
    assert "\x1b[31m" not in text
    assert said("changes", "--since", "1m") == said("changes", "--tag", "news") == "no changes\n"
    assert said("changes", "slow", "--since", "1m") == "no changes\n"
    assert "Slow: changed" in said("items")
    (searched,) = as_json(said("search", "new", "--json"))
    assert (searched["kind"], searched["source"]) == ("change", 2)


def test_whatif_compares_the_present_budget_with_others(crawled, said):
    found = as_json(said("whatif", "--json", "--budget", "2/h", "--budget", "20/h"))
    assert (found["sources"], found["unknown"]) == (4, 1)
    assert [each["budget_per_s"] for each in found["budgets"]] == pytest.approx([1.0, 2 / HOUR, 20 / HOUR])
    assert found["budgets"][1]["spend_per_s"] == pytest.approx(2 / HOUR)
    assert found["budgets"][1]["captured_per_hour"] < found["budgets"][2]["captured_per_hour"]
    assert len(found["cadence"]) == 4
    assert "captured per hour" in said("whatif", "--budget", "2/h")


def test_whatif_says_where_the_policy_knows_no_price(crawled, said):
    Path("recrawl.toml").write_text('policy = "miniflux"\n')
    assert said("whatif", "--budget", "2/h").startswith("the policy that runs (miniflux) knows no price")
    assert "by the rule that runs" in said("explain", "busy")


def test_vacuum_says_what_went(crawled, said, here):
    Path("recrawl.toml").write_text('[retention]\ncrawls = "1m"\n')
    assert as_json(said("vacuum", "--json"))["crawls"] == 3
    assert said("vacuum").startswith("dropped 0 items, 0 crawls")


# -- settings and stores


def test_the_settings_file_may_be_named_before_or_after_the_command_or_by_the_environment(said, here, monkeypatch):
    Path("elsewhere").mkdir()
    Path("elsewhere/my.toml").write_text('store = "mine.db"\n')
    said("--config", "elsewhere/my.toml", "add", "https://a.example/")
    assert Path("elsewhere/mine.db").exists()
    assert len(as_json(said("sources", "--json", "--config", "elsewhere/my.toml"))) == 1
    monkeypatch.setenv("RECRAWL_CONFIG", "elsewhere/my.toml")
    assert len(as_json(said("sources", "--json"))) == 1


def test_the_store_may_be_named_by_the_environment_and_the_option_comes_first(said, here, monkeypatch):
    """Commands in a container all find it so, those of `docker exec` too."""
    monkeypatch.setenv("RECRAWL_STORE", "mine.db")
    said("add", "https://a.example/")
    said("add", "https://b.example/", "--store", "other.db")
    assert sorted(file.name for file in here.glob("*.db")) == ["mine.db", "other.db"]
    assert [each["url"] for each in as_json(said("sources", "--json"))] == ["https://a.example/"]


def test_a_wrong_settings_file_is_one_line(complained, here):
    Path("recrawl.toml").write_text('\nbudgt = "1/s"\n')
    assert complained("sources") == "recrawl: recrawl.toml, line 2: unknown setting budgt (did you mean budget?)\n"


def test_looking_makes_no_store(complained, here):
    assert "no store at recrawl.db" in complained("status")
    assert "no store at x.db" in complained("sources", "--store", "x.db")
    assert not list(here.iterdir())


def test_the_settings_in_force_are_printed_as_a_file_that_means_the_same(said, here):
    import tomllib

    from recrawl.config import load

    Path("recrawl.toml").write_text(
        'budget = "9/s"\n[politeness]\nquiet_hours = ["22:00-07:00"]\n[fetch]\nparallel = 3\n'
    )
    Path("again.toml").write_text(said("config"))
    assert load("again.toml") == load("recrawl.toml")
    assert as_json(said("config", "--json"))["fetch"]["parallel"] == 3
    assert tomllib.loads(said("config"))["budget"] == "9/s"


@pytest.mark.parametrize("arguments", [("items",), ("changes",), ("search", "x"), ("add", "https://a.example/")])
def test_catalogue_commands_do_without_arrays(crawled, arguments):
    program = (
        "import sys\nfrom recrawl.cli import run\n"
        f"run({list(arguments)!r})\n"
        "heavy = {'numpy', 'numba', 'scipy', 'aiohttp', 'lxml'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [("sources",), ("status",), ("explain", "busy"), ("whatif", "--budget", "2/h")])
def test_commands_that_ask_when_a_source_is_due_load_nothing_they_do_not_need(crawled, arguments):
    program = (
        "import sys\nfrom recrawl.cli import run\n"
        f"run({list(arguments)!r})\n"
        "heavy = {'aiohttp', 'fastapi', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_and_field_is_documented(crawled, said):
    from recrawl.cli import COMMANDS

    text = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text()
    assert [name for name in COMMANDS if f"`recrawl {name}" not in text] == []
    for arguments in (*LOOKS, ("vacuum",)):
        found = as_json(said(*arguments, "--json"))
        for name in found[0] if isinstance(found, list) else found:
            assert f"`{name}`" in text, (arguments, name)
