"""Readers of what strangers write, in a process of their own, with every input under a limit of its own.

An input that takes a reader into a loop it never leaves, or takes the process with it, must be a finding and not a
silence. The kernel ends the process when one input has had its share of processor time, in compiled code too, and the
input is kept in a file that the failure names. What a reader answers is judged where it was read.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path

from recrawl.config.loading import read as read_settings
from recrawl.crawl.catalogue.opml import read_opml
from recrawl.crawl.fetching.robots import RobotsCache
from recrawl.crawl.reading.findings import Findings, UnreadableError
from recrawl.crawl.reading.plain_text import SUMMARY_CHARACTERS, TITLE_CHARACTERS
from recrawl.crawl.reading.readers import Document, read
from recrawl.errors import ConfigError
from recrawl.store.records import item_key

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "out" / "fuzz"
"""Where inputs that broke something are put."""
SLOW_S = 5
"""Seconds of processor time: no document of a few kilobytes takes so long, on any machine."""
PATIENCE_S = 300.0
"""Seconds of waiting for one that does nothing at all."""
MEMORY_BYTES = 4 << 30
NOW = 1_700_000_000.0
URL = "https://example.org/dir/doc"
TYPES = ("", "text/html", "application/xml", "application/rss+xml; charset=utf-16", "text/plain; charset=shift_jis")


class Limited:
    """Reads one input after the other in a child process; a new one takes the place of a child that died."""

    def __init__(self, folder: Path, slow_s: int = SLOW_S) -> None:
        self._folder, self._slow_s, self.patience_s = folder, slow_s, PATIENCE_S
        self._child: subprocess.Popen[bytes] | None = None

    def read(self, kind: str, body: bytes) -> None:
        """Have it read; an error with the input's file if that fails or takes long."""
        child = self._child or self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps({"kind": kind, "size": len(body)}).encode() + b"\n" + body)
        child.stdin.flush()
        if not select.select([child.stdout], [], [], self.patience_s)[0]:
            child.kill()
            self._ended()
            raise AssertionError(f"{kind}: no answer in {self.patience_s:g} s on {_kept(kind, body)}")
        answer = child.stdout.readline()
        if not answer:
            how = self._ended()
            slow = f"took more than {self._slow_s} s of processor time"
            why = slow if how == "SIGXCPU" else f"the process died ({how})"
            raise AssertionError(f"{kind}: {why} on {_kept(kind, body)}\n{self._said()}")
        if complaint := json.loads(answer):
            raise AssertionError(f"{kind}: {complaint}\ninput in {_kept(kind, body)}: {body!r}")

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._ended()

    def _started(self) -> subprocess.Popen[bytes]:
        with (self._folder / "said.txt").open("wb") as said:
            self._child = subprocess.Popen(
                [sys.executable, __file__, str(self._slow_s)], cwd=self._folder,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
            )  # fmt: skip
        return self._child

    def _ended(self) -> str:
        """Close the child's pipes and wait; how it ended."""
        child, self._child = self._child, None
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.close()
        child.stdout.close()
        status = child.wait()
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def _said(self) -> str:
        return (self._folder / "said.txt").read_text(errors="replace")[-2000:]


def _kept(kind: str, body: bytes) -> Path:
    """The file an input is kept in."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{kind}-{hashlib.sha256(body).hexdigest()[:12]}"
    file.write_bytes(body)
    return file


# -- in the child


def check_document(body: bytes, kind: str, content_type: str) -> None:
    document = Document(url=URL, body=body, now=NOW, kind=kind, content_type=content_type)  # type: ignore[arg-type]
    try:
        findings = read(document)
    except UnreadableError:
        return
    check_findings(findings)


def harmless(text: str) -> bool:
    """Whether nothing in it acts on who shows it; characters of private use and of no use yet do not."""
    return all(letter.isprintable() or unicodedata.category(letter) in ("Co", "Cn") for letter in text)


def check_findings(findings: Findings) -> None:
    assert harmless(findings.title)
    assert len(findings.title) <= TITLE_CHARACTERS
    assert len({item.key for item in findings.items}) == len(findings.items)
    for item in findings.items:
        item_key(item.key)
        assert harmless(item.title)
        assert harmless(item.summary)
        assert len(item.title) <= TITLE_CHARACTERS
        assert len(item.summary) <= SUMMARY_CHARACTERS
        assert item.link == "" or item.link.startswith(("http://", "https://"))
        assert item.published is None or (math.isfinite(item.published) and item.published <= NOW)
    for url in (*findings.children, *findings.advertises):
        assert url.startswith(("http://", "https://"))
        assert url.isprintable()


def read_as_feed(body: bytes, chance: random.Random) -> None:
    check_document(body, chance.choice(("auto", "feed")), chance.choice(TYPES))


def read_as_sitemap(body: bytes, chance: random.Random) -> None:
    check_document(body, chance.choice(("auto", "sitemap")), chance.choice(TYPES))


def read_as_page(body: bytes, chance: random.Random) -> None:
    check_document(body, "page", chance.choice(TYPES))


def read_as_robots(body: bytes, _: random.Random) -> None:
    cache = RobotsCache("recrawl", lambda origin: None)
    rules = cache.read(cache.judged("https://example.org", 200, body, None, NOW))
    for path in ("/", "/private/open", "/a" * 50, "/%7Ejoe/中?x=*$"):
        assert rules.allow(f"https://example.org{path}") in (True, False)
    assert 0.0 <= rules.crawl_delay_s <= 3600.0


def read_as_opml(body: bytes, _: random.Random) -> None:
    try:
        found = read_opml(body)
    except UnreadableError:
        return
    for entry in found:
        assert harmless(entry.title)
        assert all(harmless(tag) for tag in entry.tags)


def read_as_config(body: bytes, _: random.Random) -> None:
    file = Path("recrawl.toml")
    file.write_bytes(body)
    try:
        config = read_settings(file)
    except ConfigError as error:
        if "recrawl.toml" not in str(error) or not str(error).isprintable():
            raise AssertionError(f"not a message for people: {error}") from error
        return
    assert config.budget_per_s > 0.0
    assert config.fetch.timeout_s > 0.0
    assert config.fetch.max_size_bytes > 0


def read_for_ever(_: bytes, __: random.Random) -> None:
    """A pattern that goes back and forth in compiled code, so that the limit itself can be tested."""
    re.match(r"(a+)+$", "a" * 60 + "b")


def read_asleep(_: bytes, __: random.Random) -> None:
    """Takes no processor time, and does not end either."""
    time.sleep(3600.0)  # until it is ended


READERS: dict[str, Callable[[bytes, random.Random], None]] = {
    "feed": read_as_feed,
    "sitemap": read_as_sitemap,
    "robots": read_as_robots,
    "page": read_as_page,
    "opml": read_as_opml,
    "config": read_as_config,
    "for ever": read_for_ever,
    "asleep": read_asleep,
}


def _complaint(kind: str, body: bytes) -> str:
    """What is wrong with how an input is read; what a reader is told beside it depends on the input alone."""
    try:
        READERS[kind](body, random.Random(body))
    except Exception:
        return traceback.format_exc()
    return ""


def serve(slow_s: int) -> None:
    """Read inputs until there are no more."""
    inputs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    for line in inputs:
        wish = json.loads(line)
        body = inputs.read(wish["size"])
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = math.ceil(used.ru_utime + used.ru_stime) + slow_s
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        answers.write(json.dumps(_complaint(wish["kind"], body)) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
