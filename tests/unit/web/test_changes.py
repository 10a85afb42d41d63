"""Changes of pages stand beside items wherever what was found is shown."""

from __future__ import annotations

from typing import Any

from lxml import etree

from made_up import NOW
from recrawl.crawl.visit_outcome import change_of
from recrawl.store.records import Batch, Crawl, Progress, Source, Version, VisitUpdate
from recrawl.store.sqlite import SqliteStore
from visitor import Visitor

ATOM = "{http://www.w3.org/2005/Atom}"
DIFF = "@@ -1,2 +1,2 @@\n same\n-Plums 1.00\n+Quinces <b>2.00</b> & more"


def change(store: SqliteStore, at: float = NOW - 1.0, diff: str = DIFF) -> int:
    """A page that changed just now; its source's id."""
    url = "https://quinces.example/list"
    store.add([Source(url=url, title="Quinces <i>today</i>", kind="page", tags=("fruit",))])
    source = store.source(url)
    assert source is not None
    version = Version(source=source.id, at=at, digest=f"{at}", diff=diff)
    crawl, progress = Crawl(source=source.id, at=at, outcome="changed"), Progress(source=source.id, last=at)
    update = VisitUpdate(crawl=crawl, progress=progress, items=[change_of(source, version)], version=version)
    store.commit(Batch(updates=[update]))
    return source.id


def test_pages_show_what_changed_among_the_items(filled: SqliteStore, visitor: Visitor) -> None:
    change(filled)
    for path in ("/", "/items", "/items?order=found", "/items?q=quinces", "/items?kind=change", "/items?tag=fruit"):
        text = visitor.get(path).text
        assert ": changed</h3>" in text, path
        assert "<ins>Quinces &lt;b&gt;2.00&lt;/b&gt; &amp; more</ins>" in text, path
    assert ": changed</h3>" not in visitor.get("/items?kind=item&order=found").text
    assert "Price list" not in visitor.get("/items?kind=item&order=found").text


def test_a_change_whose_version_was_dropped_still_tells_what_was_new(filled: SqliteStore, visitor: Visitor) -> None:
    id = change(filled, NOW - 2.0)
    change(filled, NOW - 1.0, "-Quinces <b>2.00</b> & more")
    with filled._database.writing() as connection:
        connection.execute("DELETE FROM versions WHERE source = ? AND at < ?", (id, NOW - 1.5))
    shown = visitor.get("/items?q=2.00").text
    assert "Quinces" in shown
    assert "What changed" not in shown
    assert "<del>Quinces" in visitor.get("/items?order=found&kind=change").text


def entries(visitor: Visitor, path: str) -> list[Any]:
    return etree.fromstring(visitor.get(path).body).findall(f"{ATOM}entry")


def test_the_feed_has_changes_with_the_difference_line_by_line_and_no_markup_of_strangers(
    filled: SqliteStore, visitor: Visitor
) -> None:
    change(filled)
    first, *_ = entries(visitor, "/feed.atom")
    assert first.findtext(f"{ATOM}title") == "Quinces today: changed"
    assert first.find(f"{ATOM}link").get("href") == "https://quinces.example/list"
    content = first.find(f"{ATOM}content")
    shown = "@@ -1,2 +1,2 @@\n same\n-Plums 1.00\n+Quinces &lt;b&gt;2.00&lt;/b&gt; &amp; more"
    assert (content.text, content.get("type"), len(content)) == (f"<pre>{shown}</pre>", "html", 0)
    same, *_ = entries(visitor, "/feed.atom?kind=change")
    assert same.findtext(f"{ATOM}id") == first.findtext(f"{ATOM}id")
    ids = [each.findtext(f"{ATOM}id") for each in entries(visitor, "/feed.atom")]
    assert len(set(ids)) == len(ids)


def test_programs_tell_changes_from_items(filled: SqliteStore, program: Visitor) -> None:
    id = change(filled)
    found = program.get("/api/v1/items?limit=200").json["items"]
    assert (found[0]["kind"], found[0]["source"], found[0]["summary"]) == ("change", id, "Quinces <b>2.00</b> & more")
    assert {each["kind"] for each in found} == {"item", "change"}
    assert {each["kind"] for each in program.get("/api/v1/items?kind=item&limit=200").json["items"]} == {"item"}
    assert [each["kind"] for each in program.get("/api/v1/search?q=quinces").json["items"]] == ["change"]
    changes = program.get("/api/v1/changes").json
    assert changes["changes"][0] == {
        "id": found[0]["id"],
        "source": id,
        "source_url": "https://quinces.example/list",
        "source_title": "Quinces <i>today</i>",
        "at": NOW - 1.0,
        "added": "Quinces <b>2.00</b> & more",
        "diff": DIFF,
    }
    assert len(changes["changes"]) == 6
    first, second = (program.get(f"/api/v1/changes?limit=4&page={page}").json for page in (1, 2))
    assert (first["more"], second["more"]) == (True, False)
    assert first["changes"] + second["changes"] == changes["changes"]
    assert len(program.get(f"/api/v1/changes?source={id}").json["changes"]) == 1
    assert program.get("/api/v1/items?kind=other").status == 422


def test_opening_a_change_leads_to_the_page_and_is_no_click(filled: SqliteStore, visitor: Visitor) -> None:
    id = change(filled)
    (item,) = filled.items(source=id)
    answer = visitor.get(f"/go/{item.id}")
    assert (answer.status, dict(answer.headers)["location"]) == (303, "https://quinces.example/list")
    assert filled.click_totals(id).clicks == 0
