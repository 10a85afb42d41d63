"""Every erratum on the page is stated, shown by lines that run and print what the page says, and corrected."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errata.md"
OPENING, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
TITLES = [section.splitlines()[0] for section in SECTIONS]
PARTS = ("**As printed.**", "**Counter-example.**", "**Correction.**")
KNOWN = (
    "tcns2018, Lemma 1",
    "tcns2018, Theorem 1: at and above saturation",
    "tcns2018, Theorem 1: the ceiling",
    "tcns2018, remark after Theorem 1",
    "tcns2018, (21)",
    "tcns2018, (22)",
    "tcns2018, §VIII, (26)",
    "tcns2018, §VIII: the state space",
    "tcns2018, (30)",
    "tcns2018, (33)–(35)",
    "mas2016, (7)",
    "allerton2019, (6)",
    "allerton2019, (8)",
    "allerton2019, §V: q₁",
    "allerton2019, §IV: the factors",
    "allerton2019, §IV: the first step",
    "icc2021, §V",
    "icc2021, (4)",
    "icc2021, appendix",
)


def run(text: str, names: dict[str, object]) -> doctest.TestResults:
    """Run the examples of some text; names they define are added to `names`."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    examples = parser.get_doctest(text, names, "errata", str(PAGE), 0)
    found = runner.run(examples, clear_globs=False)
    names.update(examples.globs)
    return found


@pytest.mark.parametrize("title", KNOWN)
def test_the_page_has_the_known_errata(title: str) -> None:
    assert any(each.startswith(title) for each in TITLES)


@pytest.mark.parametrize("section", SECTIONS, ids=TITLES)
def test_each_erratum_is_stated_shown_and_corrected(section: str) -> None:
    assert [section.count(part) for part in PARTS] == [1, 1, 1]
    places = [section.index(part) for part in PARTS]
    assert places == sorted(places)
    shown = section[places[1] : places[2]]
    assert any(example.want for example in doctest.DocTestParser().get_examples(shown))


@pytest.mark.parametrize("section", SECTIONS, ids=TITLES)
def test_each_counter_example_prints_what_the_page_says(section: str) -> None:
    """On its own: no erratum leans on the names of another."""
    names: dict[str, object] = {}
    run(OPENING, names)
    found = run(section, names)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_page_is_linked_from_the_readme() -> None:
    assert "(docs/errata.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
