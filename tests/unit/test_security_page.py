"""docs/security.md is held to the tests and to the code: what it names exists, and what it counts is so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from recrawl.config import Web
from recrawl.crawl import work_limit
from recrawl.crawl.fetching import answer_limits, http1
from recrawl.crawl.reading import diffs, readers
from recrawl.synthweb.faults import FAULTS
from recrawl.web import editing, live
from recrawl.web.connections import Limits
from recrawl.web.safety import authentication as asked
from recrawl.web.safety.throttle import Throttle

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
LOG = "tests/faults/test_hostile_servers.py::test_the_log_says_what_happened"
FOLDER, FILE = re.compile(r"without a folder are in `([^`]+)`"), re.compile(r"without a file in `([^`]+)`")
REFERENCE = re.compile(r"`((?:log\[|…::|(?:[a-z_]+/)*test_\w+|Test[A-Z]\w+)[^`]*)`")
THROTTLE = Throttle()
KIB, MIB = 1024, 1024 * 1024


class Row(NamedTuple):
    """A row of a table, its last cell, and the tests named there."""

    text: str
    last: str
    tests: tuple[str, ...]


def references(text: str, folder: str, file: str) -> Iterator[str]:
    """The tests a text names, as pytest writes them."""
    before = file
    for found in REFERENCE.findall(text):
        named = found
        if named.startswith("log["):
            yield LOG + named.removeprefix("log")
            continue
        if named.startswith("…::"):
            named = before + named.removeprefix("…")
        elif ".py" not in named:
            named = f"{file}::{named}"
        elif not named.startswith("tests/"):
            named = f"{folder}/{named}"
        before = named.partition("::")[0]
        yield named


def sections() -> Iterator[tuple[str, str, str]]:
    """Every section with the folder and the file that are meant where none is named."""
    for section in PAGE.split("\n## "):
        folder, file = FOLDER.search(section), FILE.search(section)
        yield section, folder[1] if folder else "tests", file[1] if file else ""


def rows() -> Iterator[Row]:
    """Every row of every table, without their heads."""
    for section, folder, file in sections():
        lines = section.splitlines()
        heads = {number - 1 for number, line in enumerate(lines) if line.startswith("| ---")}
        for number, line in enumerate(lines):
            if line.startswith("|") and not {number, number - 1} & heads:
                last = line.rpartition(" | ")[2]
                yield Row(line, last, tuple(references(last, folder, file)))


NAMED = sorted({name for section, folder, file in sections() for name in references(section, folder, file)})


@cache
def parsed(path: str) -> tuple[str, list[ast.stmt]]:
    text = (ROOT / path).read_text(encoding="utf-8")
    return text, ast.parse(text).body


def exists(name: str) -> bool:
    """Whether a file has such a test, or a class of tests; of its parameters, whether the file has such a word."""
    path, *names = name.partition("[")[0].split("::")
    if not (ROOT / path).is_file():
        return False
    text, inside = parsed(path)
    for each in names:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = next((node for node in inside if isinstance(node, kinds) and node.name == each), None)
        if found is None:
            return False
        inside = found.body
    parameter = name.partition("[")[2].removesuffix("]")
    if name.startswith(LOG):
        return any(fnmatchcase(fault, parameter) for fault in FAULTS) or parameter == "fault"
    return parameter in text


def test_every_test_it_names_exists() -> None:
    assert [name for name in NAMED if not exists(name)] == []


def test_it_names_very_many_and_one_that_is_not_there_would_be_noticed() -> None:
    assert len(NAMED) > 250
    assert not exists("tests/unit/test_nowhere.py")
    assert not exists("tests/unit/test_security_page.py::test_nothing")
    assert not exists(LOG + "[no_such_fault]")


def test_every_row_names_a_test_or_leads_to_a_section_that_does() -> None:
    headings = {re.sub(r"[^\w-]", "", text.lower().replace(" ", "-")) for text in re.findall(r"^#+ (.+)$", PAGE, re.M)}
    for row in rows():
        led_to = re.findall(r"\(#([\w-]+)\)", row.text)
        assert row.tests or led_to, row.text
        assert len(row.tests) == row.last.count("`") / 2, f"not all of it is the name of a test: {row.last}"
        assert set(led_to) <= headings, row.text


def test_every_fault_of_the_synthetic_web_has_a_row() -> None:
    told = [name.removeprefix(LOG)[1:-1] for row in rows() for name in row.tests if name.startswith(LOG)]
    assert [fault for fault in FAULTS if not any(fnmatchcase(fault, each) for each in told)] == []


@pytest.mark.parametrize(
    "words",
    [
        f"bodies over {answer_limits.SMALL_BYTES // KIB} KiB have {answer_limits.MOST_BYTES // 10**6} MB together",
        f"{readers.MEMORY // 2**30} GiB of memory, and {readers.LEAST_S:g} s and {readers.PER_MB_S:g} s more per MB",
        f"given up after {answer_limits.MAX_INTERIM};",
        f"exceeds {answer_limits.MAX_BESIDE_BYTES // KIB} KiB and a quarter",
        f"past {http1.MAX_HEADERS} of them, or {http1.MAX_FIELD_BYTES // KIB} KiB in one",
        f"past {work_limit.SLOW_CHARACTERS} characters",
        f"past {diffs.MOST_LINES} changed lines",
        f"passed over for {asked.LINGER_S:g} seconds, of {asked.MOST_LINGERING} at a time",
        f"at most {asked.MOST_BODY // KIB} KiB are read",
        f"{asked.MOST_IMPORT // MIB} MiB and {editing.MOST_IMPORTED:,} entries at most, {asked.MOST_IMPORTS} at once",
        f"does not arrive within {Limits().head_s:g} s |",
        f"within {Limits().body_s:g} s, and a second more for each {Limits().least_pace // KIB} KiB",
        f"given up after {Limits().stall_s:g} s without progress",
        f"{Web().connections} in all, {Web().connections_per_address} from one address",
        f"{THROTTLE._burst:g} per address, then one every {THROTTLE._every_s:g} seconds",
        f"over all addresses: {THROTTLE._burst_of_all:g}, then one every second",
        f"{live.MOST_LISTENERS} in all, {live.MOST_PER_PLACE} from one address",
    ],
)
def test_its_figures_are_those_of_the_code(words: str) -> None:
    assert words in PAGE
