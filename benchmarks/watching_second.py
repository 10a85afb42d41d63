"""Ten more shapes of pages for `benchmarks.watching`, thought up without a look at what tells restless text.

Three of them (`UNSEEN`) were run for the first time when nothing was to be changed any more.
"""

from __future__ import annotations

from benchmarks.watching import Page, document, paragraphs, shape, text

UNSEEN = ("weather", "also_bought", "discount")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
AGO = ("{} hours ago", "vor {} Stunden", "il y a {} heures", "hace {} horas", "{} uur geleden", "{} 時間前")


def in_words(number: int) -> str:
    """A number from 20 to 99 in words."""
    return TENS[number // 10 - 2] + (f"-{NUMBERS[number % 10 - 1]}" if number % 10 else "")


@shape
def testimonials(page: Page) -> tuple[str, bytes]:
    k = page.noise.randrange(5)
    said = (
        f"<blockquote>{page.sentence(('said', k), 12)}</blockquote><p>{page.words(('who', k), 2).title()}, customer</p>"
    )
    return document(page, f"<h1>Service</h1>{text(page, 6)}<h2>What people say</h2>{said}<p>Write to us</p>")


@shape
def ages_abroad(page: Page) -> tuple[str, bytes]:
    ago = AGO[page.number % len(AGO)]
    items = "".join(
        f"<li><a href='/{k}'>{page.sentence(('item', k), 7)}</a> <span>{ago.format(page.visit - k + 30)}</span></li>"
        for k in range(page.version + 6, page.version, -1)
    )
    return document(page, f"<h1>Latest</h1><ul>{items}</ul>{paragraphs(page, 0, 3)}")


@shape
def three_variants(page: Page) -> tuple[str, bytes]:
    which = page.noise.randrange(3)
    button = ("Buy now", "Add to basket", "Get yours today")[which]
    box = f"<p>{button}</p><p>{page.sentence(('pitch', which), 8)}</p>"
    parts = [f"<h1>{page.words('name', 2)}</h1>{box}", text(page, 6)]
    return document(page, "".join(parts if which != 1 else reversed(parts)))


@shape
def shuffled_products(page: Page) -> tuple[str, bytes]:
    changed = {(each * 3) % 8: each for each in range(1, page.version + 1)}
    cards = [
        f"<div><h3>{page.words(('product', k), 3)}</h3><p>{20 + 7 * k + changed.get(k, 0)}.90 €</p></div>"
        for k in range(8)
    ]
    page.noise.shuffle(cards)
    return document(page, f"<h1>Shop</h1>{''.join(cards)}{paragraphs(page, 0, 3)}")


@shape
def token_in_a_sentence(page: Page) -> tuple[str, bytes]:
    token = f"{page.noise.getrandbits(48):012x}"
    said = f"<p>If you write to us about this page, mention {token} so that we find it.</p>"
    return document(page, f"<h1>Help</h1>{text(page, 4)}{said}{paragraphs(page, 0, 3)}<p>Case {token.upper()[:6]}</p>")


@shape
def readers_in_words(page: Page) -> tuple[str, bytes]:
    count = in_words(page.noise.randrange(20, 100))
    total = f"{in_words(20 + page.visit // 3)} thousand {in_words(page.noise.randrange(20, 100))}"
    return document(page, f"<p>{count} people are reading this</p>{text(page)}<p>{total} visits so far</p>")


@shape
def shifting_pages(page: Page) -> tuple[str, bytes]:
    last = 120 + page.visit
    items = "".join(f"<li>{page.sentence(('entry', page.version + k), 8)}</li>" for k in range(8))
    links = " ".join(f"<a href='?p={k}'>{k}</a>" for k in (1, 2, 3, last - 1, last))
    return document(
        page, f"<h1>Archive</h1><ul>{items}</ul><p>Page 2 of {last}</p><p>{links}</p><p>{last * 8} entries</p>"
    )


@shape
def weather(page: Page) -> tuple[str, bytes]:
    degrees = 12 + page.noise.randrange(-3, 9)
    sky = page.noise.choice(["Light rain", "Cloudy", "Sunny spells", "Clear", "Showers"])
    box = f"<div><p>Harbour town</p><p>{degrees}°</p><p>{sky}</p><p>Wind {page.noise.randrange(3, 30)} km/h</p></div>"
    return document(page, f"<h1>Town hall</h1>{box}{text(page)}")


@shape
def also_bought(page: Page) -> tuple[str, bytes]:
    chosen = page.noise.sample(range(30), page.noise.randrange(7))
    others = "".join(f"<li>{page.words(('bought', k), 3)} {9 + k}.50 €</li>" for k in chosen)
    box = f"<h2>People also bought</h2><ul>{others}</ul>" if chosen else "<p>Loading…</p>"
    amount = f"<p>{30 + page.number + 2 * (page.version % 5)}.00 €</p>"
    return document(
        page, f"<h1>{page.words('name', 2)}</h1>{amount}{paragraphs(page, 0, 5)}{box}<p>Delivery in days</p>"
    )


@shape
def discount(page: Page) -> tuple[str, bytes]:
    full = 40 + page.number + 3 * (page.version % 6)
    reduced = f"<p><s>{full}.00 €</s> {full * 0.8:.2f} €</p><p>20 % off today only</p>"
    said = reduced if page.noise.random() < 0.4 else f"<p>{full}.00 €</p>"
    return document(page, f"<h1>{page.words('name', 2)}</h1>{said}{paragraphs(page, 0, 6)}")


def main_shapes() -> list[str]:
    """All of them but those not to be seen yet."""
    return [name for name in SHAPES_HERE if name not in UNSEEN]


SHAPES_HERE = (
    "testimonials", "ages_abroad", "three_variants", "shuffled_products", "token_in_a_sentence", "readers_in_words",
    "shifting_pages", *UNSEEN,
)  # fmt: skip
