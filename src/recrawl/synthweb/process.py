"""The synthetic web in a process of its own, so that a crawler under test has its core to itself.

The child ends when its standard input does: whatever becomes of the parent, nothing is left running.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from recrawl.errors import RecrawlError
from recrawl.synthweb.admin import DESK
from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.hub import HubFaults, HubTruth
from recrawl.synthweb.ledger import SeenRequest, SourceTruth, read_log, read_truth
from recrawl.synthweb.site_lists import ListTruth
from recrawl.synthweb.world import Robots

COMMAND = "from recrawl.cli import main; main()"
STOP_S = 5.0


class Served(msgspec.Struct, frozen=True):
    """A synthetic web running elsewhere: its first host's URL, its process, its hosts."""

    base: str
    pid: int
    hosts: list[str]
    sources: int

    def ask(self, page: str, body: bytes | None = None, method: str | None = None, timeout_s: float = 60.0) -> bytes:
        """A page of its admin; a body is posted. Blocks: from a coroutine, call it in a thread."""
        request = Request(f"{self.base}{DESK}{page}", data=body, method=method)
        with build_opener(ProxyHandler({})).open(request, timeout=timeout_s) as answer:
            return bytes(answer.read())

    def urls(self) -> list[str]:
        """Where all sources are."""
        return self.ask("text").decode().split()

    def log(self, since: float = float("-inf")) -> list[SeenRequest]:
        """Every request since a Unix time, the admin's own excepted."""
        return read_log(self.ask(f"log?since={since}"))

    def truths(self, until: float | None = None) -> list[SourceTruth]:
        """The truth of every source."""
        return read_truth(self.ask("truth" if until is None else f"truth?until={until}"))

    def lists(self, until: float | None = None) -> list[ListTruth]:
        """What the list of every host is, and what it has said."""
        return msgspec.json.decode(self.ask("lists" if until is None else f"lists?until={until}"), type=list[ListTruth])

    def hub(self) -> HubTruth:
        """Whom the hub tells, and what happened so far; it was asked for with `--hub`."""
        return msgspec.json.decode(self.ask("hub"), type=HubTruth)

    def set_hub(self, faults: HubFaults) -> None:
        """Let the hub misbehave."""
        self.ask("hub", msgspec.json.encode(faults))

    def robots(self) -> dict[str, Robots]:
        """Every host's rules, as `robots_violations` takes them."""
        return msgspec.json.decode(self.ask("robots"), type=dict[str, Robots])

    def set_faults(self, rules: Sequence[Rule]) -> None:
        """Replace the faults in force."""
        self.ask("faults", msgspec.json.encode(list(rules)))


@contextmanager
def running(*options: str | int | float) -> Iterator[Served]:
    """`recrawl synthweb` with these options, on free ports, until the block ends.

    For example ``with running("--sources", 500, "--hosts", 50, "--speed", 3600) as web: web.urls()``.
    """
    command = [sys.executable, "-c", COMMAND, "synthweb", "--port", "0", "--json", "--until-eof", *map(str, options)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line:
            raise RecrawlError(f"the synthetic web did not start (exit status {child.wait(STOP_S)})")
        yield msgspec.json.decode(line, type=Served)
    finally:
        child.stdin.close()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()
