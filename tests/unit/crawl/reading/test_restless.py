"""Which text of a page is noise because it changes at nearly every visit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.reading.regions import (
    FIRM_AFTER,
    FLIPS,
    LEAST,
    MEMORY,
    RESTLESS,
    RESTS,
    Record,
    Region,
    packed,
    unpacked,
)
from recrawl.crawl.reading.restless import compared, restless_lines

STILL = [f"Paragraph {number} says what it has always said" for number in range(12)]
ADS = [f"Buy {what} at half price" for what in ("shoes", "hats", "cars", "boats", "phones", "socks")]


def noticed(page: Callable[[int], Sequence[str]], visits: int, record: Record | None = None) -> Iterator[str]:
    """Of each visit after the first: "!" a change was noticed, "~" only noise differed, "." nothing did."""
    record, before = record or Record(), [*page(0)]
    for visit in range(1, visits):
        now = [*page(visit)]
        if now == before:
            yield "."
            continue
        learned = compared(record, before, now, visit=visit, gap_s=3600.0)
        record = learned.record
        yield "~" if without(before, learned.old) == without(now, learned.new) else "!"
        before = now


def without(lines: Sequence[str], noise: frozenset[int]) -> list[str]:
    return [line for number, line in enumerate(lines) if number not in noise]


def told(page: Callable[[int], Sequence[str]], visits: int = 30) -> str:
    return "".join(noticed(page, visits))


def counter(visit: int) -> list[str]:
    return [*STILL, f"{visit} comments"]


def advertised(visit: int) -> list[str]:
    return [*STILL[:4], ADS[visit % 6], *STILL[4:]]


def others_read(visit: int) -> list[str]:
    links = [f"Others also read article {number}" for number in range(12)]
    return [*STILL, "Read on", *random.Random(visit).sample(links, 4), "Imprint"]


def shuffled(visit: int) -> list[str]:
    links = [f"Link {number} of the week" for number in range(6)]
    return [*STILL, "Links", *random.Random(visit).sample(links, 6), "Imprint"]


@pytest.mark.parametrize("page", [counter, advertised, others_read, shuffled])
def test_what_changes_at_every_visit_is_noise_after_four_changes(page: Callable[[int], list[str]]) -> None:
    assert told(page) == "!" * LEAST + "~" * (29 - LEAST)


def test_the_rest_of_the_page_still_counts() -> None:
    def page(visit: int) -> list[str]:
        return [
            line + ("" if visit < 20 or number != 9 else " and more") for number, line in enumerate(advertised(visit))
        ]

    assert told(page) == "!!!!" + "~" * 15 + "!" + "~" * 9


def test_what_goes_back_to_what_it_said_before_is_noise_after_a_while() -> None:
    def page(visit: int) -> list[str]:
        slogan = random.Random(visit).choice(["Try it for free", "Start now, pay later"])
        return [STILL[0], slogan if visit != 55 else "Everything must go", *STILL[1:]]

    noticed = told(page, 60)
    assert noticed[:40].count("!") <= FLIPS + 1
    assert "!" not in noticed[40:54]
    assert noticed[54] == "!"


def test_what_is_there_every_other_time_is_noise_after_a_while() -> None:
    def page(visit: int) -> list[str]:
        wall = ["We value your privacy", "Accept all"] if random.Random(visit).random() < 0.5 else []
        return [*wall, *STILL[:6], *([] if visit != 55 else ["A notice"]), *STILL[6:]]

    noticed = told(page, 60)
    assert noticed[:40].count("!") <= FLIPS + 1
    assert "!" not in noticed[40:54]
    assert noticed[54] == "!"


def test_what_goes_and_comes_back_now_and_then_counts() -> None:
    page = told(lambda visit: [*STILL, "In stock" if visit // 7 % 2 else "Sold out"], 200)
    assert page.count("!") == 28
    assert "~" not in page


def test_a_steady_line_beside_it_still_counts() -> None:
    def page(visit: int) -> list[str]:
        lines = advertised(visit)
        lines[5] = lines[5] if visit < 20 else "Another paragraph"
        return lines

    assert told(page)[19] == "!"
    assert told(page)[25:] == "~~~~"


def test_a_line_that_comes_beside_it_still_counts() -> None:
    def page(visit: int) -> list[str]:
        lines = advertised(visit)
        return [*lines[:5], "Out of stock", *lines[5:]] if visit >= 20 else lines

    assert told(page)[19] == "!"


def offer(visit: int, stock: str, price: int | None = None) -> list[str]:
    advertisement = f"Buy {visit} hats at half price"
    return [*STILL[:6], f"€ {100 + (visit if price is None else price)}", stock, advertisement, *STILL[6:]]


def in_stock(visit: int) -> str:
    return {9: "Only 2 left", 11: "Sold out", 12: "Sold out", 13: "Sold out"}.get(visit, "In stock")


@pytest.mark.parametrize("turned", [False, True])
def test_a_line_between_two_that_always_change_counts_and_its_return_as_well(turned: bool) -> None:
    def page(visit: int) -> list[str]:
        lines = offer(visit, in_stock(visit))
        return lines[::-1] if turned else lines

    assert told(page) == "!!!!~~~~!!!~~!" + "~" * 15


@pytest.mark.parametrize("until", [10, 16, 20])
def test_what_stands_still_at_last_beside_it_makes_no_news_of_the_rest(until: int) -> None:
    expected = "!!!!~~~~!!!~~!" + "~" * 45
    assert told(lambda visit: offer(visit, in_stock(visit), min(visit, until)), 60) == expected
    assert told(lambda visit: offer(visit, in_stock(visit), min(visit, until))[::-1], 60) == expected


def test_a_line_that_came_before_anything_was_known_counts_once_it_has_stood_for_long() -> None:
    said = {2: "Only 2 left", 10: "Only 2 left", 11: "Sold out"}
    assert told(lambda visit: offer(visit, said.get(visit, "In stock"))) == "!!!!~~~~~!!!" + "~" * 17


def test_what_comes_to_change_as_the_lines_around_it_do_is_noise_as_they_are() -> None:
    assert (
        told(lambda visit: offer(visit, f"{7 * visit} sold" if visit >= 20 else "In stock"))
        == "!!!!" + "~" * 15 + "!" * LEAST + "~" * 6
    )


def test_a_line_that_stands_still_between_noise_is_not_named_as_noise() -> None:
    record = Record()
    for visit in range(1, 12):
        before, now = offer(visit - 1, in_stock(visit - 1)), offer(visit, in_stock(visit))
        record = compared(record, before, now, visit=visit, gap_s=60.0).record
    assert [*restless_lines(record, offer(12, "Sold out"))] == [6, 8]
    assert unpacked(packed(record)) == record


def cards(visit: int, price: Callable[[int, int], int]) -> list[str]:
    made = [(f"Chair {number}", f"{price(number, visit)} euros") for number in range(8)]
    random.Random(visit).shuffle(made)
    return [*STILL, "Shop", *(line for card in made for line in card), "Imprint"]


def test_another_price_in_a_list_that_only_changes_its_order_counts() -> None:
    changes = (15, 20, 21, 27)

    def price(number: int, visit: int) -> int:
        return 10 * number + (number == 3) * sum(change <= visit for change in changes)

    found = told(lambda visit: cards(visit, price), 40)
    assert found[LEAST:] == "".join("!" if visit in changes else "~" for visit in range(LEAST + 1, 40))


def test_a_card_that_goes_out_of_a_list_that_only_changes_its_order_counts() -> None:
    def page(visit: int) -> list[str]:
        made = [f"Chair {number}" for number in range(8) if number != 3 or visit < 20]
        random.Random(visit).shuffle(made)
        return [*STILL, "Shop", *made, "Imprint"]

    assert told(page, 30).count("!") == LEAST + 1


def test_where_one_line_counts_in_a_restless_list_the_others_are_greyed() -> None:
    record, before = Record(), cards(0, lambda number, visit: 10 * number)
    for visit in range(1, 20):
        now = cards(visit, lambda number, visit: 10 * number + (number == 3 and visit == 19))
        learned = compared(record, before, now, visit=visit, gap_s=60.0)
        record = learned.record
        if visit == 19:
            left = without(before, learned.old), without(now, learned.new)
            assert set(left[0]) - set(left[1]) == {"30 euros"}
            assert set(left[1]) - set(left[0]) == {"31 euros"}
            assert len(left[0]) == len(STILL) + 3
        before = now


def test_where_a_steady_line_counts_between_restless_ones_these_are_greyed() -> None:
    record, before = Record(), offer(0, in_stock(0))
    for visit in range(1, 12):
        now = offer(visit, in_stock(visit) if visit < 11 else "Sold out")
        learned = compared(record, before, now, visit=visit, gap_s=60.0)
        record = learned.record
        if visit == 11:
            gone, come = (set(without(*each)) for each in ((before, learned.old), (now, learned.new)))
            assert come - gone == {"Sold out"}
            assert gone - come == {in_stock(10)}
        before = now


def test_other_words_in_a_restless_line_still_count() -> None:
    def page(visit: int) -> list[str]:
        return [*STILL, f"{visit} people look at this for {99 if visit < 20 else 89} euros"]

    assert told(page)[18:21] == "~!~"


def test_a_region_is_known_by_what_stands_around_it_wherever_that_is() -> None:
    def page(visit: int) -> list[str]:
        return [*(["A notice above it all"] if visit >= 15 else []), *advertised(visit)]

    assert told(page)[13:] == "~!" + "~" * 14


def test_news_is_not_noise() -> None:
    def page(visit: int) -> list[str]:
        return [*STILL, "News", *(f"Something happened, part {visit + 8 - place}" for place in range(8)), "Imprint"]

    assert told(page) == "!" * 29


def test_a_page_of_which_the_most_part_changes_is_about_that() -> None:
    assert told(lambda visit: ["Price", f"{visit} euros and some cents and some words", "Imprint"]) == "!" * 29


def test_what_is_kept_counts_for_good() -> None:
    record, before, noisy = Record(), counter(0), ""
    for visit in range(1, 20):
        now = counter(visit)
        learned = compared(record, before, now, visit=visit, gap_s=1.0, kept=[12] if visit == 10 else [])
        record, before = learned.record, now
        noisy += "~" if learned.new else "!"
    assert noisy == "!!!!" + "~" * 5 + "!" * 10


def test_what_rests_counts_again() -> None:
    assert told(lambda visit: [*STILL, f"{visit if visit < 15 else 99 if visit < 30 else 100} comments"], 35) == (
        "!!!!" + "~" * 11 + "." * 14 + "!" + "...."
    )


def test_a_page_that_stood_still_for_long_takes_longer_to_be_restless() -> None:
    page = told(lambda visit: [*STILL, f"{max(visit - 50, 0)} comments"], 80)
    assert page.startswith("." * 50)
    assert page[50:].rstrip("~") == "!" * 8


def test_what_is_known_is_kept_and_a_record_of_another_version_is_none() -> None:
    record = Record(3, [Region(1, 2, "a", 3.0, 2.0, 4, 5, True)], {7: 3})
    assert unpacked(packed(record)) == record
    assert unpacked(b"\xc1") == unpacked(None) == Record()


def test_lines_of_a_text_are_found_by_what_stands_around_them() -> None:
    record = Record()
    for visit in range(1, 8):
        record = compared(record, advertised(visit - 1), advertised(visit), visit=visit, gap_s=60.0).record
    found = restless_lines(record, ["New on top", *advertised(9)])
    assert {number: region.soonest_s for number, region in found.items()} == {5: 60.0}


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_counts_are_as_if_every_comparison_had_been_weighed(changed: list[bool]) -> None:
    """Changes alone are looked at: how often it stood still is told by the number of the visit."""
    region, still, since, restless = Region(0, 0), 0, 0, False
    for visit, each in enumerate(changed, 1):
        weights = [MEMORY**back for back in range(visit)][::-1]
        share = sum(weight for weight, moved in zip(weights, changed, strict=False) if moved) / sum(weights)
        since = (since + each) if share >= RESTS else int(each)
        restless = (restless or (each and since >= LEAST and share >= RESTLESS)) and share >= RESTS
        if not each:
            still += 1
            continue
        region.pass_by(still)
        region.note_turnover(1.0)
        still = 0
        assert region.share == pytest.approx(share)
    region.pass_by(still)
    assert region.restless == restless


@given(st.lists(st.sampled_from(["In stock", "Only 2 left", "Sold out"]), max_size=25))
def test_another_line_where_one_has_long_stood_between_noise_is_never_noise(history: list[str]) -> None:
    said = [*history, *["Preorder"] * (FIRM_AFTER + 1), "Discontinued"]
    assert told(lambda visit: offer(visit, said[visit]), len(said))[-1] == "!"


@given(st.data())
def test_a_steady_line_that_goes_is_never_noise(data: st.DataObject) -> None:
    """Whatever else happens on a page: what has stood for long and goes is a change."""
    words = st.sampled_from([f"line {number}" for number in range(8)])
    record, before = Record(), [*STILL]
    for visit in range(1, data.draw(st.integers(1, 12))):
        place = data.draw(st.integers(0, 11))
        now = [*STILL[:place], *data.draw(st.lists(words, max_size=3)), *STILL[place:]]
        record = compared(record, before, now, visit=visit, gap_s=1.0).record if now != before else record
        before = now
    gone = data.draw(st.sampled_from(STILL))
    now = [line for line in before if line != gone]
    learned = compared(record, before, now, visit=20, gap_s=1.0)
    assert without(before, learned.old) != without(now, learned.new)
