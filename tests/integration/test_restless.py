"""Text that changes at every visit: after a few visits nobody is told of it, and the page says so."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.store.opening import open_store
from servers import serving
from watching import Answer, Watched, html

STILL = "".join(f"<p>Paragraph {number} says what it has always said.</p>" for number in range(8))


def comments(count: int, price: int = 5) -> Answer:
    return html(f"<p>It costs {price} euros today.</p>{STILL}<p>{count} comments</p>")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Seven visits, and a change of the price at the last."""
    pages = Watched(tmp_path_factory.mktemp("watched"))
    rounds = [{name: comments(visit, 6 if visit == 6 else 5) for name in ("learned", "told")} for visit in range(7)]
    asyncio.run(pages.visit(*rounds, told=[{"told": {"options": SourceOptions(restless=False)}}]))
    return pages


def test_after_four_changes_only_the_rest_of_the_page_counts(watched: Watched) -> None:
    assert watched.outcomes() == {
        "learned": ["first", *["changed"] * 4, "unchanged", "changed"],
        "told": ["first", *["changed"] * 6],
    }
    told = [str(each["diff"]) for each in watched.changes() if "learned" in str(each["source"])]
    assert len(told) == 5
    assert "+It costs 6 euros today." in told[-1]
    assert "comments" not in told[-1]


def test_a_change_that_was_asked_for_is_told_even_of_restless_text(tmp_path: Path) -> None:
    pages, wanted = Watched(tmp_path), SourceOptions(when=("appears 6 comments",))
    asyncio.run(pages.visit(*({"page": comments(visit)} for visit in range(7)), told=[{"page": {"options": wanted}}]))
    assert pages.outcomes() == {"page": ["first", *["unchanged"] * 5, "changed"]}
    (told,) = pages.changes()
    assert "+6 comments" in str(told["diff"])
    assert "\n@@ noise" not in str(told["diff"])


def test_every_state_is_kept_and_what_is_noise_in_it_is_marked(watched: Watched) -> None:
    latest, noise = watched.versions("learned")[:2]
    assert noise.note == "only text that changes at nearly every visit"
    assert noise.diff.splitlines()[-2:] == ["-4 comments", "+5 comments"]
    assert noise.diff.startswith("@@ ")
    assert noise.diff.splitlines()[0].endswith(" @@ restless")
    assert [line for line in latest.diff.splitlines() if not line.startswith(" ")] == [
        "@@ -1,3 +1,3 @@",
        "-It costs 5 euros today.",
        "+It costs 6 euros today.",
        "@@ -8,3 +8,3 @@ restless",
        "-5 comments",
        "+6 comments",
    ]
    assert latest.note == ""


def test_what_is_ignored_is_said_with_the_way_out(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "learned", "--store", watched.config.store]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Ignored, because it changes at nearly every visit (6 times so far" in said
    assert "“6 comments”; --no-restless makes it count" in said
    assert run(["explain", "told", "--store", watched.config.store]) == 0
    assert "Ignored" not in capsys.readouterr().out


def test_a_preview_shows_what_is_restless(watched: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    async def previewed() -> list[list[dict[str, str]]]:
        async with serving(lambda _: _soon(comments(20))) as url:
            with open_store(watched.config.store) as store:
                (source,) = (each for each in store.sources() if each.url.endswith("learned"))
                source.url = f"{url}/learned"
                store.edit([source])
            given = ["preview", str(source.id), "--json", "--allow-private", "--store", watched.config.store]
            assert await asyncio.to_thread(run, given) == 0
        found: list[list[dict[str, str]]] = json.loads(capsys.readouterr().out)["lines"]
        return found

    lines = asyncio.run(previewed())
    marked = [part for line in lines for part in line if part["why"]]
    assert marked == [{"text": "20 comments", "why": "it changes at nearly every visit"}]


async def _soon(answer: Answer) -> object:
    return answer()
