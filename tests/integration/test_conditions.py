"""A page whose changes count only under conditions, and the history of its number."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from recrawl.config import SourceOptions
from recrawl.crawl.met_conditions import NO_NUMBER
from recrawl.crawl.reading.number_history import unpacked
from recrawl.store.opening import open_store
from recrawl.web.charts import number_chart, number_words
from watching import Answer, Watched, html


def shop(price: int) -> Answer:
    offer = json.dumps({"@type": "Offer", "price": price, "priceCurrency": "EUR"})
    return html(f"<p>A chair with four legs.</p><script type='application/ld+json'>{offer}</script>")


def test_a_condition_about_a_number_nobody_named_counts_every_change_and_says_so(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    wanted = SourceOptions(when=("number < 100",))
    rounds = [{"chair": html(f"<p>A chair with {legs} legs.")} for legs in ("four", "five", "six")]
    asyncio.run(pages.visit(*rounds, told=[{"chair": {"options": wanted}}]))
    assert pages.outcomes() == {"chair": ["first", "changed", "changed"]}
    with open_store(pages.config.store) as store:
        assert [source.note for source in store.sources()] == [NO_NUMBER]


def test_only_changes_that_meet_a_condition_count_and_the_number_is_kept(tmp_path: Path) -> None:
    pages = Watched(tmp_path)
    wanted = SourceOptions(number="price", when=("number < 100",))
    prices = (120, 110, 110, 95, 94, 101)
    rounds = [{"chair": shop(price), "any": shop(price)} for price in prices]
    asyncio.run(
        pages.visit(*rounds, told=[{"chair": {"options": wanted}, "any": {"options": SourceOptions(number="price")}}])
    )
    assert pages.outcomes() == {
        "chair": ["first", "unchanged", "unchanged", "changed", "unchanged", "unchanged"],
        "any": ["first", "changed", "unchanged", "changed", "changed", "changed"],
    }
    assert [each.note for each in pages.versions("chair")] == ["no condition is met"] * 2 + [
        "",
        "no condition is met",
        "",
    ]
    (told,) = (str(each["diff"]) for each in pages.changes() if "chair" in str(each["source"]))
    assert told.endswith("-price: 110 EUR\n+price: 95 EUR")
    with open_store(pages.config.store) as store:
        histories = [unpacked(store.watched_number(source.id)) for source in store.sources()]
    assert [[value for _, value in history.points] for history in histories] == [[120, 110, 95, 94, 101]] * 2
    assert {history.told for history in histories} == {95.0, 101.0}
    assert number_words(histories[0]) == "Price: now 101 EUR; lowest 94, highest 120, 4 changes."
    drawn = number_chart(histories[0], histories[0].points[-1][0] + 60.0)
    assert drawn is not None
    assert drawn.count("<circle") == 5
    assert " EUR</text>" in drawn
