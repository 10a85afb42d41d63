"""Dates from the tests of others' readers, each with the moment they expect; None for what is no date."""

from __future__ import annotations

import ast
import re
from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from corpora.feeds_of_others import of_everybody
from corpora.packages import unpacked
from recrawl.crawl.reading import dates

pytestmark = pytest.mark.corpora


_IN_FEEDS = re.compile(
    rb"<(?:\w+:)?(?:pubdate|date|updated|published|issued|created|modified|lastbuilddate)"
    rb"(?: [^<>]*)?>([^<>&]{4,100})</",
    re.IGNORECASE,
)
Pairs = Iterator[tuple[str, float | None]]


def of_feedparser() -> Pairs:
    """The table `date_tests`: parser → pairs of text and time tuple."""
    for node in ast.walk(_parsed("feedparser", "tests/runtests.py")):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "date_tests":
            for pairs in node.value.values:  # type: ignore[attr-defined]
                for text, fields in ast.literal_eval(pairs):
                    yield text, None if fields is None else float(timegm(fields))


def of_fastfeedparser() -> Pairs:
    """Pairs in `pytest.mark.parametrize("value, expected", …)`, the moment in ISO 8601."""
    for name in ("test_date_fast_paths.py", "test_date_robustness.py", "test_date_limits.py"):
        for node in ast.walk(_parsed("fastfeedparser", f"tests/{name}")):
            pair = node.args[:2] if isinstance(node, ast.Call) else getattr(node, "elts", ())
            values = [_constant(part) for part in pair]
            if len(values) == 2 and isinstance(values[0], str) and _is_moment(values[1]):
                yield values[0], None if values[1] is None else _moment(values[1])


def of_iso8601() -> Pairs:
    yield from _with_datetimes(_parsed("iso8601", "iso8601/test_iso8601.py"), refused="Unable to parse")


def of_isodate() -> Pairs:
    yield from _with_datetimes(_parsed("isodate", "tests/test_datetime.py"))


def of_dateutil() -> Pairs:
    """The table that needs no settings."""
    for node in ast.walk(_parsed("python-dateutil", "tests/test_parser.py")):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "PARSER_TEST_CASES":
            yield from _with_datetimes(node.value)


def of_feeds() -> Pairs:
    """Every date in everybody's feeds, as feedparser's own readers of dates see it."""
    from feedparser import datetimes

    texts = (
        found.decode("utf-8", "replace").strip() for _, body in of_everybody() for found in _IN_FEEDS.findall(body)
    )
    for text in dict.fromkeys(texts):
        fields = datetimes._parse_date(text)
        yield text, None if fields is None else float(timegm(fields))


def _with_datetimes(tree: ast.AST, refused: str = "\0") -> Pairs:
    """Tuples of a text and a `datetime(…)`; a text and the words of a refusal, or None, are no date."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Tuple) or len(node.elts) < 2 or not isinstance(_constant(node.elts[0]), str):
            continue
        text, second = str(_constant(node.elts[0])), node.elts[1]
        if isinstance(second, ast.Call):
            yield text, _written_moment(second)
        elif _constant(second) is None or str(_constant(second)).startswith(refused):
            yield text, None


def _written_moment(call: ast.Call) -> float:
    """Of `datetime(2007, 1, 1, 8, 0, tzinfo=FixedOffset(2, 0, "+02:00"))`, by position or name; UTC where none is."""
    numbers = [int(part.value) for part in call.args if isinstance(part, ast.Constant)]
    zone = next((word.value for word in call.keywords if word.arg == "tzinfo"), call.args[-1])
    offset = timedelta(0)
    if isinstance(zone, ast.Call):
        hours, minutes = (ast.literal_eval(part) for part in zone.args[:2])
        offset = timedelta(hours=hours, minutes=minutes)
    return datetime(*numbers, tzinfo=timezone(offset)).timestamp()  # type: ignore[arg-type, misc]


def _parsed(package: str, path: str) -> ast.Module:
    return ast.parse((unpacked(package) / path).read_text())


def _constant(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else ...


def _is_moment(value: Any) -> bool:
    try:
        return value is None or (isinstance(value, str) and _moment(value) is not None)
    except ValueError:
        return False


def _moment(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def test_dates_are_the_moments_that_others_expect(judged):
    with judged("dates") as corpus:
        for source in (of_feedparser, of_fastfeedparser, of_iso8601, of_isodate, of_dateutil, of_feeds):
            for text, expected in dict(source()).items():
                name = f"{source.__name__.removeprefix('of_')}: {text}"
                corpus.check(name, expected, lambda t=text, e=expected: _as_exact(dates.parse(t), e))


def _as_exact(moment: float | None, expected: float | None) -> float | None:
    """The moment, but the expected one where they differ by less than what others round away."""
    if moment is None or expected is None:
        return moment
    return expected if abs(moment - expected) < (1e-3 if expected % 1 else 1.0) and moment >= expected else moment
