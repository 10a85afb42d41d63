"""robots.txt: protego's own tests with our rules in its place, and real files judged by a port of Google's parser."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from corpora import others_tests
from corpora.packages import has_npm, unpacked
from recrawl.crawl.fetching.robots import RobotsCache, Rules

pytestmark = pytest.mark.corpora
AGENTS = ("recrawl", "googlebot")
_PATH = re.compile(r"^\s*(?:dis)?allow\s*:\s*([/*][^\s#]*)", re.IGNORECASE | re.MULTILINE)
PATHS_PER_FILE = 12


def rules(body: bytes, agent: str) -> Rules:
    """As the crawler makes them from an answer."""
    cache = RobotsCache(agent, load=lambda origin: None)
    return cache.read(cache.judged("https://example.org", 200, body, None, 0.0))


def files() -> Iterator[Path]:
    yield from sorted((unpacked("protego") / "tests/test_data").iterdir())


def paths(text: str) -> list[str]:
    """Addresses that a file's own patterns are about: each as written, with a tail, and without its wildcards."""
    found: dict[str, None] = dict.fromkeys(("/", "/index.html"))
    for pattern in dict.fromkeys(_PATH.findall(text)):
        plain = "/" + pattern.replace("*", "x").replace("$", "").lstrip("/")
        found |= dict.fromkeys((plain, plain + "more", plain.rstrip("/") + "/deep/page.html?a=b"))
    every = list(found)
    step = max(1, len(every) // PATHS_PER_FILE)
    return every[::step]


def _separable(body: bytes) -> bytes:
    """Without lines that have no separator: they mean nothing, and the port falls over them."""
    lines = re.split(rb"[\r\n]+", body)
    return b"\n".join(line for line in lines if re.search(rb"[: \t]", line.partition(b"#")[0].strip()))


def test_real_files_are_read_as_googles_parser_reads_them(judged):
    from gpyrobotstxt.robots_cc import RobotsMatcher

    with judged("robots.txt of sites") as corpus:
        for path in files():
            body = path.read_bytes()
            for agent in AGENTS:
                asked = [f"https://{path.name}{where}" for where in paths(body.decode("utf-8", "replace"))]
                expected = [RobotsMatcher().allowed_by_robots(_separable(body), [agent], url) for url in asked]
                ours = rules(body, agent)
                for url, answer in zip(asked, expected, strict=True):
                    corpus.check(f"{agent} {url}", answer, lambda u=url, o=ours: o.allow(u))


def of_protego(folder: Path) -> list[list[Any]]:
    """Content, agent, address and answer, as in protego's own tests."""
    written = folder / "recorded.json"
    files = ["tests/test_protego.py", "tests/test_on_google_spec.py"]
    environment = {"CORPORA_RECORDED": str(written)}
    said = others_tests.run(unpacked("protego"), "recording", files, environment, "-c", "/dev/null", "--rootdir", ".")
    assert written.exists(), said
    return list(json.loads(written.read_text())["robots"])


def of_robots_parser(folder: Path) -> list[list[Any]]:
    script = Path(__file__).with_name("record_robots.cjs")
    done = subprocess.run(
        ["node", str(script), str(unpacked("robots-parser"))], capture_output=True, text=True, timeout=60, check=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(of_protego, id="protego"),
        pytest.param(of_robots_parser, id="robots-parser", marks=pytest.mark.skipif(not has_npm(), reason="needs npm")),
    ],
)
def test_others_tests_are_answered_alike(judged, request, source, tmp_path):
    with judged(f"{request.node.callspec.id}'s tests") as corpus:
        for number, (content, agent, url, answer) in enumerate(source(tmp_path)):
            name = f"{number} {agent} {url}"
            corpus.check(name, answer, lambda c=content, a=agent, u=url: _allowed(c, a, u))


def _allowed(content: str, agent: str, url: str) -> bool:
    whole = url if "://" in url else "https://example.org" + ("" if url.startswith("/") else "/") + url
    return rules(content.encode("utf-8", "replace"), agent).allow(whole)
