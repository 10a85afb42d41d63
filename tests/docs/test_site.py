"""The documentation as a site: built strictly, whole without a network, and searchable from a folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import recrawl

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SOURCES = {"news wire": (8.6, 1.1), "busy blog": (7.2, 0.34), "forum": (5.6, 0.21), "archive": (1.9, 0.15)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make docs` builds it: a link or a heading that is not there ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_that_is_written_can_be_reached(site: Path) -> None:
    written = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    reached: set[Path] = set()
    for page in site.rglob("*.html"):
        for link in re.findall(r'<a href="([^"#:]+)"', page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.is_relative_to(site.resolve()):
                reached.add(target.relative_to(site.resolve()))
    assert written - reached - {Path("index.html")} == set()


def test_no_link_is_dead(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    ids = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    dead = []
    for page, text in pages.items():
        if page.name == "404.html":
            continue
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            parts = urlsplit(link)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (parts.fragment and parts.fragment not in ids.get(target, {parts.fragment})):
                dead.append(f"{page.relative_to(site)}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in site.rglob("*.html"))
    loaded = re.findall(
        r'(?:src="|<link rel="(?:stylesheet|preconnect|preload)"[^>]*href=")((?:https?:)?//[^"]+)', text
    )
    assert loaded == []


def test_the_code_writes_its_part(site: Path) -> None:
    said = {page.stem: page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")}
    assert "recrawl store copy" in said["commands"]
    assert "recrawl_day_captured_interest" in said["metrics"]
    assert "/api/v1/sources/{id}" in said["api"]
    assert "crossing_age" in said["python"]
    assert "numba" in said["licences"]
    assert "half_life" in said["recrawl.toml"]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_picture_moves_by_the_formula_of_the_program(site: Path, browser: object, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto((site / "idea.html").as_uri())
    slider = page.locator("#price-picture input")
    prices = []
    for budget in (8, 32, 80):
        slider.evaluate("(it, value) => { it.value = value; it.dispatchEvent(new Event('input')); }", str(budget))
        price = float(page.locator("#price-picture").get_attribute("data-price"))
        fetches = [24.0 / float(recrawl.crossing_age(value=v, rate=r, price=price)) for v, r in SOURCES.values()]
        assert sum(fetches) == pytest.approx(budget, rel=1e-3)
        shown = page.locator("#price-picture tbody td:nth-child(3)").all_inner_texts()
        assert [float(each) for each in shown] == pytest.approx(fetches, abs=0.06)
        prices.append(price)
    assert prices == sorted(prices, reverse=True)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def test_it_is_searched_from_a_folder_without_a_network(site: Path, browser: object) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "howto" / "reader.html").as_uri())
    page.wait_for_load_state("load")
    page.locator(".md-search__input").focus()
    page.locator(".md-search__input").press_sequentially("politeness", delay=20)
    page.locator(".md-search-result__item a").first.wait_for(state="attached")
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    page.close()
