from __future__ import annotations

import gzip
import json

import msgspec
import numpy as np
import pytest

from made_up import NOW
from recrawl.clock import ManualClock
from recrawl.config import Config, SourceOptions
from recrawl.config.loading import replaced
from recrawl.config.notification_settings import Notification
from recrawl.crawl import live_budget
from recrawl.crawl.stored_settings import leave_settings
from recrawl.store.records import Batch, Crawl, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.views import prospects
from recrawl.wiring import recall
from visitor import Visitor


class TestSources:
    def test_a_source_lives_its_life(self, store: SqliteStore, program: Visitor) -> None:
        made = program.send("POST", "/api/v1/sources", {"url": "example.org/feed", "importance": 2, "half_life": "6h"})
        assert (made.status, made.json) == (201, {"id": 1, "new": True})
        again = program.send("POST", "/api/v1/sources", {"url": "https://example.org/feed"})
        assert (again.status, again.json) == (200, {"id": 1, "new": False})
        changed = program.send("PATCH", "/api/v1/sources/1", {"max_age": 3600, "tags": ["a"], "half_life": None})
        assert (changed.json["importance"], changed.json["max_age"], changed.json["half_life"]) == (
            2.0,
            3600.0,
            43200.0,
        )
        assert program.send("POST", "/api/v1/sources/1/pause").json["state"] == "paused"
        assert program.send("POST", "/api/v1/sources/1/resume").json["state"] == "active"
        assert program.send("POST", "/api/v1/sources/1/crawl").status == 200
        assert program.send("DELETE", "/api/v1/sources/1").status == 204
        assert program.get("/api/v1/sources/1").status == 404

    def test_its_options_are_said_and_taken_back(self, store: SqliteStore, program: Visitor) -> None:
        given = {"url": "example.org/feed", "interval": "2h", "robots": False, "ignore": ["nav"], "select": "main"}
        program.send("POST", "/api/v1/sources", given)
        shown = program.get("/api/v1/sources/1").json
        assert (shown["options"], shown["select"]) == ({"interval": 7200.0, "robots": False, "ignore": ["nav"]}, "main")
        changed = program.send("PATCH", "/api/v1/sources/1", {"interval": None, "ignore": [], "notify": False})
        assert changed.json["options"] == {"robots": False, "notify": False}
        for wrong in ({"ignore": ["p["]}, {"ignore_text": ["("]}, {"active_hours": ["noon"]}, {"interval": "soon"}):
            assert program.send("PATCH", "/api/v1/sources/1", wrong).status == 422

    def test_nobody_is_notified_whom_the_settings_do_not_know(self, store: SqliteStore, clock: ManualClock) -> None:
        """A name that leads nowhere would have everybody told."""
        config = Config(notify={"phone": Notification(to="json://127.0.0.1")})
        program = Visitor(make_app(store, config, clock), browser=False)
        wrong = program.send("POST", "/api/v1/sources", {"url": "example.org/a", "notify_to": ["phon"]})
        assert wrong.status == 422
        assert (
            "[notify.NAME] of the settings (phone), got 'phon'; did you mean 'phone'?" in wrong.json["error"]["detail"]
        )
        assert program.send("POST", "/api/v1/sources", {"url": "example.org/a", "notify_to": ["phone"]}).status == 201
        store.edit([msgspec.structs.replace(store.sources()[0], options=SourceOptions(notify_to=("gone",)))])
        kept = program.send("PATCH", "/api/v1/sources/1", {"notify_to": ["gone"], "importance": 2})
        assert (kept.status, kept.json["importance"]) == (200, 2.0)

    def test_another_budget_is_asked_of_the_crawler_that_runs(self, store: SqliteStore, program: Visitor) -> None:
        nobody = program.send("PUT", "/api/v1/budget", {"budget": "120/min"})
        assert (nobody.status, "no crawler runs" in nobody.text) == (409, True)
        store.claim("process 1 here", 0.0)
        assert "takes no other budget" in program.send("PUT", "/api/v1/budget", {"budget": "120/min"}).text
        live_budget.begin(store, "process 1 here", 1.0)
        answer = program.send("PUT", "/api/v1/budget", {"budget": "120/min"})
        assert (answer.status, answer.json) == (200, {"budget": 2.0})
        assert live_budget.read(store).wanted == 2.0  # type: ignore[union-attr]
        assert program.get("/api/v1/status").json["budget"] == 2.0
        assert program.send("PUT", "/api/v1/budget", {"budget": "much"}).status == 422

    def test_a_page_of_them(self, filled: SqliteStore, program: Visitor) -> None:
        answer = program.get("/api/v1/sources?limit=5&page=2&order=-value").json
        assert (answer["total"], answer["pages"], len(answer["sources"])) == (12, 3, 5)

    def test_headers_are_never_told(self, store: SqliteStore, program: Visitor) -> None:
        store.add([Source(url="https://a.example/", headers={"Authorization": "secret"})])
        for path in ("/api/v1/sources", "/api/v1/sources/1", "/api/v1/explain/1", "/api/v1/export", "/sources/1"):
            assert b"secret" not in program.get(path).body

    def test_lists_go_in_and_out(self, store: SqliteStore, program: Visitor) -> None:
        body = b"https://a.example/feed\n# a remark\nhttp://10.0.0.1/\nnonsense\n"
        answer = program.ask("POST", "/api/v1/import", body, {"content-type": "text/plain"}).json
        assert (answer["added"], answer["known"], len(answer["refused"])) == (1, 0, 2)
        out = program.get("/api/v1/export").body
        again = program.ask("POST", "/api/v1/import", out, {"content-type": "text/x-opml"}).json
        assert (again["added"], again["known"]) == (0, 1)

    def test_of_very_many_lines_that_are_refused_the_rest_is_counted(self, program: Visitor) -> None:
        answer = program.ask("POST", "/api/v1/import", b"not\n" * 1500, {"content-type": "text/plain"}).json
        assert (len(answer["refused"]), answer["refused_more"]) == (1000, 500)

    def test_csv_is_read_as_on_the_command_line(self, store: SqliteStore, program: Visitor) -> None:
        body = (
            b"title;url;importance;tags;state;headers\n"
            b"A list;https://a.example/feed;2.5;news,local;paused;Authorization: x\n"
            b"B;https://b.example/;many;;;\n"
        )
        answer = program.ask("POST", "/api/v1/import", body, {"content-type": "text/csv"}).json
        assert (answer["added"], answer["known"]) == (1, 0)
        (refused,) = answer["refused"]
        assert refused.startswith("line 3: importance must be")
        (source,) = store.sources()
        assert (source.url, source.title, source.importance) == ("https://a.example/feed", "A list", 2.5)
        assert (source.tags, source.state, source.headers) == (("news", "local"), "paused", {})

    @pytest.mark.parametrize(
        ("body", "said"),
        [(b"", "an empty file"), (b" \n\n", "an empty file"), (b"# nothing\n", "without any address"),
         (gzip.compress(b"https://a.example/", mtime=0), "packed with gzip: unpack it first"),
         (b"<opml><body/></opml>", "without any"), (b"<html></html>", "OPML, CSV"),
         (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "the list is neither OPML, CSV nor a list of addresses")],
    )  # fmt: skip
    def test_what_is_no_list_is_said_so(self, store: SqliteStore, program: Visitor, body: bytes, said: str) -> None:
        answer = program.ask("POST", "/api/v1/import", body, {"content-type": "text/plain"})
        assert (answer.status, store.count()) == (422, 0)
        assert said in answer.text


class TestQueries:
    def test_items_and_search(self, filled: SqliteStore, program: Visitor) -> None:
        items = program.get("/api/v1/items?source=1&limit=3").json["items"]
        assert [item["source"] for item in items] == [1, 1, 1]
        found = program.get("/api/v1/search?q=library").json["items"]
        assert found
        assert all("library" in (item["title"] + item["summary"]).lower() for item in found)
        assert program.get(f"/api/v1/items/{items[0]['id']}").json == items[0]

    def test_explain_says_the_numbers_that_rank(self, filled: SqliteStore, program: Visitor) -> None:
        told = program.get("/api/v1/explain/1").json
        ranking = recall(Config(), filled.sources(ids=[1]), filled.progress([1]), filled.shared(), NOW)
        ages = np.array([told["age"], 0.99 * told["crossing_age"], told["crossing_age"]])
        now, before, worth = ranking.curve(1, told["last"] + ages)
        assert told["index"] == pytest.approx(now, rel=1e-9)
        assert before < told["price"] <= worth * (1.0 + 1e-4)
        assert told["due"] == pytest.approx(told["last"] + told["crossing_age"])
        assert told["form"]
        assert told["reasons"]

    def test_crawls_and_versions(self, filled: SqliteStore, program: Visitor) -> None:
        assert program.get("/api/v1/sources/1/crawls?limit=2").json[0]["outcome"] in ("new", "unchanged")
        assert program.get("/api/v1/sources/11/versions").json[0]["diff"].startswith("@@")

    def test_whatif_under_freshness_says_the_share_that_is_up_to_date(
        self, filled: SqliteStore, program: Visitor
    ) -> None:
        leave_settings(filled, replaced(Config(), {"objective": "freshness", "budget": "40/day"}))
        told = program.get("/api/v1/whatif?budget=400/day").json
        for each in (told["now"], told["then"]):
            assert each["captured"] is each["inflow"] is each["share"] is None
        assert 0.0 < told["now"]["freshness"] < told["then"]["freshness"] <= 1.0
        text = program.get("/whatif?budget=400/day").text
        assert "Up to date, on average" in text
        assert "Captured per hour" not in text

    def test_whatif_more_budget_brings_more(self, filled: SqliteStore, program: Visitor) -> None:
        told = program.get("/api/v1/whatif?budget=400/day").json
        assert told["then"]["captured"] > told["now"]["captured"]
        assert told["then"]["price"] < told["now"]["price"]
        assert 0.0 < told["now"]["freshness"] < told["then"]["freshness"] < 1.0
        assert told["then"]["median_delay"] < told["now"]["median_delay"]
        assert told["movers"][0]["interval_then"] < told["movers"][0]["interval_now"]

    def test_whatif_leaves_out_what_was_never_fetched(self, filled: SqliteStore, program: Visitor) -> None:
        before = program.get("/api/v1/whatif").json
        filled.add([Source(url="https://down.example/")])
        crawl = Crawl(source=13, at=NOW, outcome="failed")
        expected = Progress(source=13, failures=1, value=3.0, value_sd=1.0, rate=1e-5, rate_sd=0.0)
        filled.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=expected)]))
        after = Visitor(make_app(filled, Config(), ManualClock(NOW)), browser=False).get("/api/v1/whatif").json
        assert (after["sources"], after["known"]) == (before["sources"] + 1, before["known"])
        assert after["now"]["inflow"] == pytest.approx(before["now"]["inflow"])
        told = program.get("/api/v1/sources/13").json
        assert (told["value"], told["pace_per_day"], told["index"]) == (None, None, None)

    def test_of_a_very_large_catalogue_a_part_is_looked_at(
        self, filled: SqliteStore, program: Visitor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = program.get("/api/v1/whatif?budget=80/day").json
        monkeypatch.setattr(prospects, "MOST", 6)
        part = Visitor(make_app(filled, Config(), ManualClock(NOW)), browser=False).get("/api/v1/whatif?budget=80/day")
        assert (part.json["sources"], part.json["known"]) == (whole["sources"], whole["known"])
        for name in ("now", "then"):
            assert part.json[name]["budget"] == whole[name]["budget"]
            assert part.json[name]["spend"] == pytest.approx(whole[name]["spend"], rel=1e-3)
            assert part.json[name]["inflow"] == pytest.approx(whole[name]["inflow"], rel=0.6)

    def test_status(self, filled: SqliteStore, program: Visitor) -> None:
        told = program.get("/api/v1/status").json
        assert told["sources"] == {"active": 11, "paused": 1, "retired": 0, "never_fetched": 0}
        assert told["crawler"] is None


class TestFeedback:
    def test_counts_of_others_are_taken(self, filled: SqliteStore, program: Visitor) -> None:
        clicks = [{"item": 1, "time": NOW - 60, "count": 40}, {"item": 1, "count": 2}, {"item": 999_999}]
        assert program.send("POST", "/api/v1/feedback", {"clicks": clicks}).json == {"counted": 2}
        item = filled.item(1)
        assert item is not None
        assert filled.click_totals(item.source).clicks == 42

    @pytest.mark.parametrize(
        "click", [{}, {"item": 0}, {"item": 1, "count": 0}, {"item": 1, "count": 10**9}, {"item": 1, "time": -1}]
    )
    def test_nonsense_is_refused(self, filled: SqliteStore, program: Visitor, click: dict[str, object]) -> None:
        assert program.send("POST", "/api/v1/feedback", {"clicks": [click]}).status == 422


class TestTrouble:
    @pytest.mark.parametrize(
        "body",
        [b"", b"{", b"[]", b"null", b'{"url": "\\ud800"}', b'{"url": 1}', b'{"url": "x", "evil": 1}', b"\xff\xfe",
         b'{"url": "https://a.example", "importance": 1e999}', b'{"\\ud800": 1}', b"[" * 10_000],
    )  # fmt: skip
    def test_a_bad_body_is_told_what_is_wrong(self, store: SqliteStore, program: Visitor, body: bytes) -> None:
        answer = program.ask("POST", "/api/v1/sources", body, {"content-type": "application/json"})
        assert answer.status in (400, 422)
        assert answer.json["error"]["detail"]
        assert store.count() == 0

    @pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/v1/sources/0", "/api/v1/sources/9", "/api/v2/sources"])
    def test_errors_are_json(self, program: Visitor, path: str) -> None:
        answer = program.get(path)
        assert answer.status in (404, 422)
        assert answer.json["error"]["status"] == answer.status

    def test_a_store_that_is_gone_is_said_so(self, store: SqliteStore, program: Visitor) -> None:
        store.close()
        assert program.get("/api/v1/sources").status == 503
        assert program.get("/readyz").status == 503
        assert program.get("/healthz").status == 200
        assert "closed" in program.get("/sources").text

    def test_openapi_describes_it(self, program: Visitor) -> None:
        told = program.get("/api/v1/openapi.json").json
        assert "/api/v1/sources/{id}" in told["paths"]
        assert all(path.startswith("/api/v1/") for path in told["paths"])
        assert "Infinity" not in json.dumps(told)


class TestMetrics:
    def test_names_are_documented_and_labels_bounded(self, filled: SqliteStore, program: Visitor) -> None:
        from pathlib import Path

        program.get("/nowhere/https://evil.example")
        program.get("/sources/7")
        text = program.get("/metrics").text
        documented = (Path(__file__).parents[3] / "docs" / "api.md").read_text()
        for line in text.splitlines():
            if line.startswith("# TYPE"):
                name = line.split()[2]
                assert f"`{name}`" in documented, name
        assert 'recrawl_sources{state="active"} 11.0' in text
        assert "evil" not in text
        assert 'route="/sources/{id:int}"' in text
