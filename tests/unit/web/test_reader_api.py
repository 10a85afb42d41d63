"""The Google Reader API: what readers' programs ask, and what they get."""

from __future__ import annotations

import json

import msgspec
import pytest

from made_up import NOW
from reading import FORM, READ, READING_LIST, STARRED, Program, found, made_reader, reader_of_two
from recrawl.clock import ManualClock
from recrawl.config import Config
from recrawl.crawl.reading.content import packed
from recrawl.store.reader_records import Reader, Wanted
from recrawl.store.records import Batch, Content, Crawl, Item, Progress, Source, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from recrawl.web.app import make_app
from recrawl.web.metrics import Measures
from recrawl.web.reader_api import credentials, routes
from recrawl.web.reader_api.stream_ids import long_form
from visitor import Visitor

NEWS, TECH = "user/-/label/News", "user/-/label/Tech"


@pytest.fixture
def ann(store: SqliteStore) -> Reader:
    """Reads two sources with three items each; items 1 to 3 are of the first."""
    return reader_of_two(store, NOW)


@pytest.fixture
def program(visitor: Visitor, ann: Reader) -> Program:
    return Program.of(Visitor(visitor.app, browser=False), ann, NOW)


class TestLettingIn:
    def test_a_password_buys_a_token(self, visitor: Visitor, store: SqliteStore) -> None:
        reader, password = credentials.new_reader("Bob", NOW)
        store.add_reader(reader)
        someone = Program(Visitor(visitor.app, browser=False))
        for prefix in ("", "/api/greader.php"):
            answer = someone.post(f"{prefix}/accounts/ClientLogin", ("Email", "bob"), ("Passwd", password))
            lines = dict(line.split("=") for line in answer.text.splitlines())  # programs split there: no other one
            assert lines.keys() == {"SID", "LSID", "Auth"}
            someone.auth = lines["Auth"]
            assert someone.get(f"{prefix}/reader/api/0/user-info").json["userName"] == "bob"
        answer = someone.post("/accounts/ClientLogin", ("Email", " BOB"), ("Passwd", password), ("output", "json"))
        assert answer.json["Auth"] == someone.auth
        answer = someone.post("/accounts/ClientLogin", query=[("Email", "bob"), ("Passwd", password)])
        assert answer.status == 200

    @pytest.mark.parametrize(
        ("name", "password"), [("ann", "wrong"), ("eve", "wrong"), ("", ""), ("a" * 5000, "x" * 5000)]
    )
    def test_wrong_ones_are_told_nothing(self, program: Program, name: str, password: str) -> None:
        answer = program.post("/accounts/ClientLogin", ("Email", name), ("Passwd", password))
        assert (answer.status, answer.text) == (401, "Error=BadAuthentication\n")

    def test_guessing_is_slow(self, program: Program, clock: ManualClock) -> None:
        tries = [("Email", "ann"), ("Passwd", "wrong")]
        statuses = [program.post("/accounts/ClientLogin", *tries).status for _ in range(7)]
        assert statuses == [401] * 5 + [429] * 2
        clock.advance(12.0)
        assert program.post("/accounts/ClientLogin", *tries).status == 401

    def test_the_right_one_is_no_guess(self, visitor: Visitor, store: SqliteStore) -> None:
        reader, password = credentials.new_reader("bob", NOW)
        store.add_reader(reader)
        someone = Program(Visitor(visitor.app, browser=False))
        right = [("Email", "bob"), ("Passwd", password)]
        assert {someone.post("/accounts/ClientLogin", *right).status for _ in range(8)} == {200}

    def test_another_password_makes_tokens_worthless(self, program: Program, ann: Reader, store: SqliteStore) -> None:
        assert program.get("user-info").status == 200
        store.change_password(ann.id, *credentials.new_password()[1:])
        assert program.get("user-info").status == 401
        store.remove_reader(ann.id)
        assert program.get("user-info").status == 401

    def test_a_token_ends_after_a_year_and_is_not_from_the_future(
        self, program: Program, ann: Reader, clock: ManualClock
    ) -> None:
        assert Program.of(program.visitor, ann, NOW + 60.0).get("user-info").status == 401
        clock.advance(credentials.LIFE_S - 60.0)
        assert program.get("user-info").status == 200
        clock.advance(120.0)
        assert program.get("user-info").status == 401

    def test_guessing_tokens_is_slow_and_keeps_nobody_else_out(self, program: Program, clock: ManualClock) -> None:
        guesser = Program(Visitor(program.visitor.app, browser=False, address="192.0.2.1"), program.auth[:-1] + "x")
        statuses = [guesser.get("token").status for _ in range(22)]
        assert statuses == [401] * 20 + [429] * 2
        assert program.get("token").status == 200

    def test_the_token_for_changes_has_57_characters(self, program: Program) -> None:
        assert len(program.get("token").text.strip()) == 57


class TestSubscriptions:
    def test_they_are_listed(self, program: Program) -> None:
        first, second = program.get("subscription/list", ("output", "json")).json["subscriptions"]
        assert first["id"] == "feed/1"
        assert first["title"] == first["url"] == "https://1.example/feed"
        assert first["htmlUrl"] == "https://1.example/"
        assert second["categories"] == [{"id": NEWS, "label": "News"}, {"id": TECH, "label": "Tech"}]
        tags = program.get("tag/list").json["tags"]
        assert [each["id"] for each in tags] == [STARRED, NEWS, TECH]

    def test_one_is_added_by_its_address(self, program: Program, store: SqliteStore) -> None:
        answer = program.post("subscription/quickadd", ("quickadd", "feed/https://new.example/rss")).json
        assert (answer["numResults"], answer["streamId"]) == (1, "feed/3")
        assert program.post("subscription/quickadd", query=[("quickadd", "https://new.example/rss")]).json == {
            **answer, "query": "https://new.example/rss"
        }  # fmt: skip
        source = store.source(3)
        assert source is not None
        assert (source.url, source.state) == ("https://new.example/rss", "active")

    @pytest.mark.parametrize(
        "address",
        [
            "http://127.0.0.1/",
            "http://192.168.1.1/feed",
            "http://[::1]/",
            "file:///etc/passwd",
            "localhost",
            "",
            "x" * 20_000,
        ],
    )
    def test_what_the_crawler_may_not_fetch_is_refused(
        self, program: Program, store: SqliteStore, address: str
    ) -> None:
        answer = program.post("subscription/quickadd", ("quickadd", address)).json
        assert answer["numResults"] == 0
        assert answer["error"]
        assert program.post("subscription/edit", ("ac", "subscribe"), ("s", f"feed/{address}")).status == 400
        assert store.count() == 2

    def test_they_are_edited_in_every_way_programs_do_it(self, program: Program) -> None:
        def listed() -> dict[str, tuple[str, list[str]]]:
            lines = program.get("subscription/list").json["subscriptions"]
            return {each["id"]: (each["title"], [c["label"] for c in each["categories"]]) for each in lines}

        change = "subscription/edit"
        assert (
            program.post(change, ("ac", "edit"), ("s", "feed/1"), ("t", "One"), ("a", TECH), ("r", NEWS)).text == "OK"
        )
        assert listed()["feed/1"] == ("One", ["Tech"])
        program.post(change, ("ac", "edit"), ("s", "feed/https://1.example/feed"), ("a", "user/ann/label/ x \t y "))
        assert listed()["feed/1"] == ("One", ["Tech", "x y"])
        program.post(change, ("s", "feed/https://3.example/"), ("t", "Three"), query=[("ac", "subscribe"), ("a", NEWS)])
        assert listed()["feed/3"] == ("Three", ["News"])
        program.post(change, ("ac", "unsubscribe"), ("s", "feed/2"), ("s", "feed/3"))
        assert list(listed()) == ["feed/1"]
        assert program.post(change, ("ac", "unsubscribe"), ("s", "feed/2")).status == 404

    def test_labels_are_renamed_and_dropped(self, program: Program) -> None:
        program.post("edit-tag", ("i", "1"), ("a", NEWS))
        assert program.post("rename-tag", ("s", NEWS), ("dest", "user/-/label/World")).text == "OK"
        assert [each["id"] for each in program.get("tag/list").json["tags"]] == [STARRED, TECH, "user/-/label/World"]
        assert program.ids(("s", "user/-/label/World"))[-1] == 1
        program.post("disable-tag", ("s", "user/-/label/World"))
        assert [each["id"] for each in program.get("tag/list").json["tags"]] == [STARRED, TECH]
        program.post("subscription/edit", ("ac", "edit"), ("s", "feed/1"), ("a", NEWS))
        program.post("disable-tag", ("s", TECH), ("s", NEWS))
        assert [each["id"] for each in program.get("tag/list").json["tags"]] == [STARRED]
        assert program.post("disable-tag").status == 400

    def test_a_folder_made_beforehand_is_there_when_something_is_in_it(self, program: Program) -> None:
        assert program.post("edit-tag", ("a", "user/-/label/Empty")).text == "OK"
        assert program.post("edit-tag", ("a", READ)).status == 400
        assert [each["id"] for each in program.get("tag/list").json["tags"]] == [STARRED, NEWS, TECH]

    def test_lists_go_out_and_come_in(self, program: Program, store: SqliteStore, visitor: Visitor) -> None:
        out = program.get("subscription/export")
        assert b'xmlUrl="https://2.example/feed"' in out.body
        bob = Program.of(program.visitor, made_reader(store, "bob"), NOW)
        answer = bob.visitor.ask(
            "POST", "/reader/api/0/subscription/import", out.body,
            {"authorization": f"GoogleLogin auth={bob.auth}", "content-type": "text/xml"},
        )  # fmt: skip
        assert (answer.status, answer.text) == (200, "OK: 2\n")
        lines = bob.get("subscription/list").json["subscriptions"]
        assert [(each["id"], len(each["categories"])) for each in lines] == [("feed/1", 1), ("feed/2", 2)]

    def test_a_list_that_is_none_or_cut_is_refused(self, program: Program) -> None:
        for body in (b"<html/>", b"", b'<opml><body><outline xmlUrl="https://x.example/"/>', b"\xff\xfe\x00"):
            shown = {"authorization": f"GoogleLogin auth={program.auth}"}
            answer = program.visitor.ask("POST", "/reader/api/0/subscription/import", body, shown)
            assert answer.status == 400


class TestStreams:
    def test_numbers_come_latest_first_and_go_on(self, program: Program) -> None:
        first = program.get("stream/items/ids", ("s", READING_LIST), ("n", "4")).json
        assert [each["id"] for each in first["itemRefs"]] == ["6", "5", "4", "3"]
        second = program.get("stream/items/ids", ("s", READING_LIST), ("n", "4"), ("c", first["continuation"])).json
        assert [each["id"] for each in second["itemRefs"]] == ["2", "1"]
        assert "continuation" not in second
        assert program.ids(("s", READING_LIST), ("n", "2"), ("r", "o")) == [1, 2, 3, 4, 5, 6]

    def test_streams_are_narrowed(self, program: Program) -> None:
        program.post("edit-tag", ("i", "2"), ("i", "5"), ("a", READ))
        program.post("edit-tag", ("i", "3"), ("i", "6"), ("a", STARRED))
        program.post("edit-tag", ("i", "1"), ("a", TECH))
        cases: list[tuple[list[tuple[str, str]], list[int]]] = [
            ([("s", "feed/1")], [3, 2, 1]),
            ([("s", "feed/https://2.example/feed")], [6, 5, 4]),
            ([("s", NEWS)], [6, 5, 4, 3, 2, 1]),
            ([("s", TECH)], [6, 5, 4, 1]),
            ([("s", READ)], [5, 2]),
            ([("s", STARRED)], [6, 3]),
            ([("s", READING_LIST), ("xt", READ)], [6, 4, 3, 1]),
            ([("s", READING_LIST), ("it", READ), ("xt", TECH)], [2]),
            ([("s", READING_LIST), ("xt", READ), ("xt", STARRED), ("xt", "feed/2")], [1]),
            ([("s", STARRED), ("xt", TECH)], [3]),
            ([("s", READING_LIST), ("it", READ), ("xt", READ)], []),
            ([("s", "user/-/state/com.google/broadcast")], []),
            ([("s", "feed/99")], []),
            ([("s", "user/-/label/Nothing")], []),
        ]
        for given, expected in cases:
            assert program.ids(*given) == expected, given

    def test_times_bound_them(self, program: Program) -> None:
        since, until = int(NOW - 101), int(NOW - 200)
        assert program.ids(("s", READING_LIST), ("ot", str(since))) == [6, 5, 4]
        assert program.ids(("s", READING_LIST), ("nt", str(until))) == [3, 2, 1]
        assert program.ids(("s", READING_LIST), ("ot", str(int(NOW - 299)))) == [6, 5, 4, 3, 2, 1], (
            "found a moment before"
        )
        assert program.ids(("s", READING_LIST), ("ot", str(until)), ("nt", str(until * 1_000_000))) == []

    def test_contents_have_what_programs_need(self, program: Program) -> None:
        program.post("edit-tag", ("i", "6"), ("a", READ), ("a", STARRED))
        answer = program.contents("feed/2", ("n", "1"))
        (item,) = answer["items"]
        assert answer["id"] == "feed/2"
        assert answer["continuation"] == "6"
        assert item["id"] == "tag:google.com,2005:reader/item/0000000000000006"
        assert item["timestampUsec"] == str(int((NOW - 100.125) * 1e6))
        assert item["crawlTimeMsec"] == str(int((NOW - 100.125) * 1e3))
        assert item["published"] == int(NOW - 160.625)
        assert item["canonical"] == [{"href": "https://2.example/2"}]
        assert item["alternate"] == [{"href": "https://2.example/2", "type": "text/html"}]
        assert item["categories"] == [READING_LIST, READ, STARRED, NEWS, TECH]
        assert item["origin"] == {
            "streamId": "feed/2",
            "title": "https://2.example/feed",
            "htmlUrl": "https://2.example/",
        }
        assert item["summary"]["content"] == "a &lt; b"

    def test_items_say_in_full_what_is_kept_of_them(self, program: Program, store: SqliteStore) -> None:
        update = VisitUpdate(
            crawl=Crawl(source=1, at=NOW, outcome="new"),
            progress=Progress(source=1),
            items=[Item(source=1, key=77, first_seen=NOW)],
            contents={77: Content("Ann Other", packed("<p>whole</p>"))},
        )
        store.commit(Batch(updates=[update]))
        (item,) = program.contents("feed/1", ("n", "1"))["items"]
        assert (item["author"], item["summary"]["content"]) == ("Ann Other", "<p>whole</p>")

    def test_items_are_given_by_any_spelling_of_their_numbers(self, program: Program) -> None:
        asked = [("i", "6"), ("i", "0000000000000001"), ("i", long_form(3)), ("i", "99"), ("i", "-4")]
        answer = program.post("stream/items/contents", *asked, query=[("output", "json")]).json
        assert [each["id"] for each in answer["items"]] == [long_form(6), long_form(1), long_form(3)]
        assert program.get("stream/items/contents", ("i", "2")).json["items"][0]["title"] == "T1"

    def test_a_page_ends_where_it_gets_too_large(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(routes, "MOST_ANSWER", 20)
        seen, more = [], []
        while True:
            answer = program.contents(READING_LIST, *more)
            assert len(answer["items"]) <= 2
            seen += [int(each["id"][-16:], 16) for each in answer["items"]]
            if "continuation" not in answer:
                break
            more = [("c", answer["continuation"])]
        assert seen == [6, 5, 4, 3, 2, 1]

    def test_old_programs_get_atom(self, program: Program) -> None:
        program.post("edit-tag", ("i", "3"), ("a", READ))
        answer = program.get("/reader/atom/feed/1", ("n", "2"))
        assert answer.header("content-type") == "application/atom+xml"
        assert answer.body.count(b"<entry>") == 2
        assert b'label="read"' in answer.body


class TestStates:
    def test_items_are_read_and_unread_again(self, program: Program) -> None:
        assert program.unread() == {"feed/1": 3, "feed/2": 3, NEWS: 6, TECH: 3, READING_LIST: 6}
        newsboats = [("i", long_form(2)), ("a", READ), ("r", "user/-/state/com.google/kept-unread"), ("ac", "edit")]
        assert program.post("edit-tag", *newsboats, ("T", "x")).text == "OK"
        assert program.unread()["feed/1"] == 2
        kept = [
            ("r", READ),
            ("a", "user/-/state/com.google/kept-unread"),
            ("a", "user/-/state/com.google/tracking-kept-unread"),
        ]
        program.post("edit-tag", ("i", "2"), *kept)
        assert program.unread()["feed/1"] == 3

    def test_a_stream_is_marked_up_to_a_time(self, program: Program, store: SqliteStore, clock: ManualClock) -> None:
        seen = program.contents("feed/1", ("n", "1"))["items"][0]["timestampUsec"]
        clock.advance(10.0)
        found(store, 1, range(3, 4), NOW + 5.0)
        assert program.post("mark-all-as-read", ("s", "feed/1"), ("ts", seen)).text == "OK"
        assert program.unread()["feed/1"] == 1
        program.post("mark-all-as-read", ("s", TECH))
        assert program.unread() == {"feed/1": 1, NEWS: 1, READING_LIST: 1}
        program.post("mark-all-as-read", query=[("s", READING_LIST)])
        assert program.unread() == {READING_LIST: 0}
        assert program.get("unread-count", ("all", "1")).json["unreadcounts"][0]["count"] == 0

    def test_many_items_at_once(self, program: Program, store: SqliteStore) -> None:
        found(store, 1, range(10, 2010), NOW)
        items = [("i", long_form(k)) for k in range(1, 2001)]
        assert program.post("edit-tag", *items, ("a", READ)).text == "OK"
        assert program.unread()[READING_LIST] == 6

    def test_stars_are_full_at_some_point(self, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("recrawl.store.sql_reading.MOST_KEPT", 1)
        assert program.post("edit-tag", ("i", "1"), ("a", STARRED)).status == 200
        answer = program.post("edit-tag", ("i", "2"), ("a", STARRED))
        assert (answer.status, "more than 1 starred" in answer.text) == (409, True)


class TestInterest:
    def test_opening_and_starring_are_clicks_once_each(self, program: Program, store: SqliteStore) -> None:
        for _ in range(2):
            program.post("edit-tag", ("i", "1"), ("a", READ))
            program.post("edit-tag", ("i", "1"), ("a", STARRED))
        assert [(each.item, each.client, each.at) for each in store.clicks()] == [
            (1, "reader:1", NOW), (1, "star:1", NOW)
        ]  # fmt: skip

    def test_sweeping_away_is_no_sign_of_interest(self, program: Program, store: SqliteStore) -> None:
        found(store, 1, range(10, 40), NOW)
        program.post("mark-all-as-read", ("s", "feed/2"))
        program.post("edit-tag", *[("i", str(k)) for k in range(7, 20)], ("a", READ))
        program.post("edit-tag", *[("i", str(k)) for k in range(20, 25)], ("i", "4"), ("a", READ))
        assert [each.item for each in store.clicks()] == [4]
        program.post("edit-tag", ("i", "30"), ("r", READ))
        program.post("edit-tag", ("i", "30"), ("r", STARRED))
        assert len(store.clicks()) == 1


ROUTES = [
    ("GET", "token"), ("GET", "user-info"), ("GET", "subscription/list"), ("GET", "subscription/export"),
    ("GET", "tag/list"), ("GET", "unread-count"), ("GET", "stream/items/ids"), ("POST", "stream/items/ids"),
    ("GET", "stream/items/contents"), ("POST", "stream/items/contents"), ("GET", "stream/contents"),
    ("GET", "stream/contents/feed/1"), ("POST", "edit-tag"), ("POST", "mark-all-as-read"), ("POST", "rename-tag"),
    ("POST", "disable-tag"), ("POST", "subscription/edit"), ("POST", "subscription/quickadd"),
    ("POST", "subscription/import"), ("GET", "/reader/atom/feed/1"), ("GET", "/reader/subscriptions/export"),
]  # fmt: skip


class TestStrangers:
    @pytest.mark.parametrize(("method", "path"), ROUTES)
    def test_nobody_gets_in_without_a_token(self, program: Program, method: str, path: str) -> None:
        forged = ("", "ann/00000000-" + "0" * 64, "\xff", "x" * 4000)
        place = path if path.startswith("/") else f"/reader/api/0/{path}"
        body = b"i=1" if method == "POST" else b""
        for shown in (None, "Bearer x", *(f"GoogleLogin auth={each}" for each in forged)):
            answer = program.visitor.ask(method, place, body, {**FORM, "authorization": shown})  # type: ignore[dict-item]
            assert (answer.status, answer.text) == (401, "Unauthorized\n")
        assert program.visitor.ask(method, "/api/greader.php" + place, body, FORM).status == 401

    def test_items_are_given_for_a_token_in_a_short_form_and_nothing_else_is(self, program: Program) -> None:
        """As Liferea 1.14 asks."""
        stranger, path = Program(program.visitor), "stream/items/contents"
        answer = stranger.post(path, ("output", "json"), ("T", program.auth), ("i", "2"), ("i", "1"))
        assert [each["id"] for each in answer.json["items"]] == [long_form(2), long_form(1)]
        wrong = [
            stranger.post(path, ("T", program.auth[:-1] + "x"), ("i", "1")).status,
            stranger.post(path, ("i", "1"), query=[("i", "1")]).status,
            stranger.get(path, ("T", program.auth), ("i", "1")).status,
            stranger.post(path, ("i", "1"), query=[("T", program.auth)]).status,
            stranger.post("edit-tag", ("T", program.auth), ("i", "1"), ("a", READ)).status,
            stranger.post(path, ("T", program.auth), ("i", "1" * routes.MOST_OF_STRANGERS)).status,
        ]
        assert wrong == [401, 401, 401, 401, 401, 413]

    def test_every_route_is_asked_that(self, visitor: Visitor) -> None:
        """The list above is whole."""
        here = {
            (method, route.path.removeprefix("/reader/api/0/").replace("{stream:path}", "feed/1"))
            for route in routes.router(visitor.app.state.context, Measures(visitor.app.state.context)).routes  # type: ignore[attr-defined]
            if getattr(route, "path", "").startswith("/reader/")
            for method in route.methods
        }
        assert here - {("POST", "stream/contents"), ("POST", "stream/contents/feed/1")} == set(ROUTES)

    def test_a_session_or_the_token_of_the_page_is_not_enough(self, stranger: Visitor, ann: Reader) -> None:
        answer = stranger.ask("GET", "/reader/api/0/token", b"", {"authorization": "Bearer 0123456789abcdef-token"})
        assert answer.status == 401
        stranger.ask("GET", "/login")
        assert stranger.ask("GET", "/reader/api/0/token").status == 401

    def test_a_readers_token_opens_nothing_else(self, stranger: Visitor, ann: Reader) -> None:
        program = Program.of(Visitor(stranger.app, host="0.0.0.0", browser=False), ann, NOW)
        assert program.get("/reader/api/0/token").status == 200
        assert [program.get(path).status for path in ("/api/v1/sources", "/sources", "/metrics")] == [401, 303, 401]

    def test_one_reader_sees_nothing_of_another(self, program: Program, store: SqliteStore) -> None:
        eve = made_reader(store, "eve")
        store.subscribe(eve.id, [Wanted(source=Source(url="https://eve.example/"))], NOW)
        found(store, 3, range(2), NOW)
        evil = Program.of(program.visitor, eve, NOW)
        assert evil.ids(("s", READING_LIST)) == [8, 7]
        assert evil.post("stream/items/contents", ("i", "1"), ("i", "7")).json["items"][0]["id"] == long_form(7)
        assert len(evil.post("stream/items/contents", ("i", "1"), ("i", "7")).json["items"]) == 1
        for stream in (
            "user/ann/state/com.google/starred",
            "user/1/label/News",
            "user/ann/state/com.google/reading-list",
        ):
            assert evil.get("stream/items/ids", ("s", stream)).status == 404
        assert evil.ids(("s", "feed/1")) == evil.ids(("s", NEWS)) == []
        for acts in ([("a", READ)], [("a", STARRED)], [("a", NEWS)], [("r", READ)]):
            evil.post("edit-tag", ("i", "1"), ("i", "2"), *acts)
        evil.post("mark-all-as-read", ("s", "feed/1"))
        evil.post("disable-tag", ("s", NEWS))
        assert evil.post("subscription/edit", ("ac", "unsubscribe"), ("s", "feed/1")).status == 404
        assert program.unread()[READING_LIST] == 6
        assert program.ids(("s", STARRED)) == []
        assert program.get("subscription/list").json["subscriptions"][0]["categories"]
        assert evil.get("tag/list").json["tags"] == [{"id": STARRED}]
        assert not store.clicks()

    @pytest.mark.parametrize(
        "item", ["x", "", "1g3", "9" * 30, "tag:google.com,2005:reader/item/", long_form(1) + "0", "٣"]
    )
    def test_forged_numbers_are_refused(self, program: Program, item: str) -> None:
        answer = program.post("edit-tag", ("i", item), ("a", READ))
        assert (answer.status, "no item" in answer.text) == (400, True)

    @pytest.mark.parametrize(
        ("given", "status"),
        [
            ([("s", "x" * 5000)], 404),
            ([("s", "user/-/nothing")], 404),
            ([("n", "-1")], 400),
            ([("n", "9" * 19)], 200),
            ([("n", "1e9")], 400),
            ([("c", "forged")], 400),
            ([("c", "9" * 20)], 200),
            ([("ot", "yesterday")], 400),
            ([("ot", "9" * 20), ("nt", "1")], 200),
        ],
    )
    def test_strange_questions_are_answered_in_words(
        self, program: Program, given: list[tuple[str, str]], status: int
    ) -> None:
        answer = program.get("stream/items/ids", *given)
        assert answer.status == status
        assert status == 200 or answer.text.endswith("\n")

    def test_what_is_huge_is_refused_unread(self, program: Program) -> None:
        assert program.post("edit-tag", ("i", "1" * 2**20), ("a", READ)).status == 413
        assert program.post("edit-tag", *[("i", "1")] * 20_000, ("a", READ)).status == 413
        assert program.post("edit-tag", *[("i", "1")] * 10_001, ("a", READ)).status == 413
        assert program.post("stream/items/contents", *[("i", "1")] * 1001).status == 413
        narrowed = [("it", READ)] * 50 + [("xt", "feed/1")] * 50
        assert program.post("stream/items/ids", *narrowed).status == 200
        assert program.post("stream/items/ids", *narrowed, ("xt", "feed/1")).status == 413
        shown = {"authorization": f"GoogleLogin auth={program.auth}"}
        answer = program.visitor.ask("POST", "/reader/api/0/subscription/import", b"x" * (10 * 2**20 + 1), shown)
        assert answer.status == 413

    def test_a_page_of_a_huge_stream_is_bounded(self, program: Program, store: SqliteStore) -> None:
        found(store, 1, range(10, 11_010), NOW)
        for place, most, name in (
            ("stream/items/ids", routes.MOST_IDS, "itemRefs"),
            ("stream/contents", routes.MOST_ITEMS, "items"),
        ):
            answer = program.get(place, ("n", "9" * 15)).json
            assert len(answer[name]) == most
            assert "continuation" in answer

    def test_a_form_in_parts_is_refused(self, program: Program) -> None:
        shown = {"authorization": f"GoogleLogin auth={program.auth}", "content-type": "multipart/form-data; boundary=x"}
        assert program.visitor.ask("POST", "/reader/api/0/edit-tag", b"--x--", shown).status == 415

    def test_private_addresses_are_for_those_who_may(self, store: SqliteStore, clock: ManualClock, ann: Reader) -> None:
        usual = Config()
        config = msgspec.structs.replace(usual, fetch=msgspec.structs.replace(usual.fetch, allow_private=True))
        app = make_app(store, config, clock)
        program = Program.of(Visitor(app, browser=False), ann, NOW)
        assert program.post("subscription/quickadd", ("quickadd", "http://127.0.0.1:9/feed")).json["numResults"] == 1

    def test_text_of_strangers_is_sent_as_it_should_be(self, program: Program, store: SqliteStore) -> None:
        odd = Item(
            source=1, key=-9, title="\x00<b>\u2028", link="javascript:alert(1)", summary="<script>", first_seen=NOW
        )
        crawl = Crawl(source=1, at=NOW, outcome="new")
        store.commit(Batch(updates=[VisitUpdate(crawl=crawl, progress=Progress(source=1), items=[odd])]))
        item = program.contents("feed/1", ("n", "1"))["items"][0]
        assert item["canonical"] == [{"href": "https://1.example/"}], "the feed's site where there is no link to open"
        assert item["summary"]["content"] == "&lt;script&gt;"
        assert program.get("/reader/atom/feed/1").status == 200
        json.dumps(item).encode("ascii")
