"""Real crawlers for tests to kill: a process that has imported everything and forks a crawler in milliseconds.

Starting Python with all its imports takes seconds; hundreds of starts need a nursery. What it forks is the command line
itself with arguments of the caller's, with its own output file and nothing shared with the nursery but its memory.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from recrawl.config import Config
from recrawl.crawl.decider_setup import make_policy
from recrawl.policies.compile_ahead import warm_up
from recrawl.policies.learned_whittle import LearnedWhittle
from recrawl.synthweb.process import Served, running
from until import until

SETTINGS = """
half_life = "6s"
[fetch]
allow_private = true
[politeness]
delay = "0.1s"
min_interval = "0.5s"
"""
PATIENCE_S = 120.0
"""Far more than anything here takes: only what never happens is waited for so long."""
RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]


class Nursery:
    """The parent of crawlers. `run` runs a command line in the nursery itself, which warms it up."""

    def __init__(self, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
        self._errors = open(folder / "nursery.txt", "wb")  # noqa: SIM115 - closed with the nursery
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            cwd=folder, env=kept,
        )  # fmt: skip

    def run(self, *arguments: str, output: Path) -> int:
        """Run to the end without a fork; the exit status."""
        return int(self._ask({"run": arguments, "output": str(output)}))

    def start(self, *arguments: str, output: Path) -> int:
        """Fork a crawler; its process id."""
        return int(self._ask({"start": arguments, "output": str(output)}))

    def wait(self, pid: int) -> int:
        """Its exit status when it has ended; minus the signal that killed it."""
        return int(self._ask({"wait": pid}))

    def close(self) -> None:
        """End the nursery; nothing it started is left by then unless it was never waited for."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()
        self._errors.close()

    def _ask(self, wish: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(wish).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the nursery died: {Path(self._errors.name).read_text()[-2000:]}"
        return json.loads(answer)


@contextmanager
def nursery(folder: Path) -> Iterator[Nursery]:
    """A nursery until the block ends."""
    parent = Nursery(folder)
    try:
        yield parent
    finally:
        parent.close()


@contextmanager
def crawling(folder: Path, *arguments: str, output: str = "output.txt") -> Iterator[subprocess.Popen[bytes]]:
    """`recrawl` with these arguments as a fresh process in a folder, killed at the end of the block if still there."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RECRAWL_")}
    with open(folder / output, "wb") as said:
        child = subprocess.Popen([*RECRAWL, *arguments], cwd=folder, stdout=said, stderr=said, env=kept)
        try:
            yield child
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()


def come_first(pid: int) -> None:
    """A witness must not be late: where that is allowed, its process goes before all others."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, pid, -15)


@contextmanager
def witness(*options: str | int | float) -> Iterator[Served]:
    """A synthetic web in a process of its own that says when it was asked what, on a busy machine too."""
    with running(*options) as web:
        come_first(web.pid)
        yield web


def compile_all() -> None:
    """Compile what a crawler runs, so that no process of a test has another one that compiles."""
    policy = make_policy(Config())
    assert isinstance(policy, LearnedWhittle)
    warm_up(policy, time.time())


class Stage:
    """A synthetic web and a nursery warmed up on it, for the tests of a module; each test has a folder of its own."""

    def __init__(self, web: Served, parent: Nursery, home: Path) -> None:
        self.web, self.parent = web, parent
        compile_all()
        warming = Place(self, home)
        assert warming.ran("run", "--for", "2s", "--json") == 0


class Place:
    """A folder with settings and a filled store."""

    def __init__(self, stage: Stage, folder: Path, settings: str = "", urls: Sequence[str] | None = None) -> None:
        self.stage, self.folder, self.store = stage, folder, folder / "recrawl.db"
        self.output, self.events = folder / "output.txt", folder / "events.jsonl"
        text = f'store = "{self.store}"\nbudget = "20/s"\n{settings}\n{SETTINGS}'
        (folder / "recrawl.toml").write_text(text)
        (folder / "urls.txt").write_text("\n".join(stage.web.urls() if urls is None else urls))
        assert self.ran("import", str(folder / "urls.txt")) == 0

    def ran(self, command: str, *arguments: str) -> int:
        """Run a command to its end; its exit status."""
        return self.stage.parent.run(command, *self._all(arguments), output=self.output)

    def started(self, *arguments: str) -> int:
        """Start to crawl; the process id, once it has fetched something."""
        crawls = self.count("crawls")
        pid = self.stage.parent.start(
            "run", "--json", "--events", str(self.events), *self._all(arguments), output=self.output
        )
        until(lambda: self.count("crawls") > crawls)
        return pid

    def ended(self, pid: int, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, and wait for the end."""
        os.kill(pid, how)
        return self.stage.parent.wait(pid)

    def count(self, table: str) -> int:
        """Rows of a table, as committed."""
        return len(self.ids(table))

    def ids(self, table: str) -> set[int]:
        """Row numbers of a table, as committed."""
        with closing(sqlite3.connect(f"file:{self.store}?mode=ro", uri=True, timeout=30.0)) as connection:
            return {row[0] for row in connection.execute(f"SELECT rowid FROM {table}")}

    def said(self) -> str:
        """All its output so far."""
        return self.output.read_text(errors="replace")

    def _all(self, arguments: Sequence[str]) -> tuple[str, ...]:
        return (*arguments, "--config", str(self.folder / "recrawl.toml"))


@contextmanager
def stage(home: Path, *options: str | int | float) -> Iterator[Stage]:
    """A stage until the block ends."""
    world = ("--sources", 40, "--hosts", 20, "--speed", 3600, "--rate", 0.5, "--mix", "mixed", *options)
    with witness(*world) as web, nursery(home) as parent:
        yield Stage(web, parent, home)


def _command(arguments: Sequence[str], output: str) -> int:
    """The command line with its output in a file, the nursery's own put back afterwards."""
    from recrawl.cli import run

    kept = os.dup(1), os.dup(2)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        return run(list(arguments))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for each in (*kept, file):
            os.close(each)


def _forked(arguments: Sequence[str], output: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = _command(arguments, output)
    finally:
        os._exit(status)


def serve() -> None:
    """What the nursery does: a wish per line of its input, an answer per line of its output, until the input ends."""
    import gc

    from recrawl import wiring  # noqa: F401 - so that children need not import it

    gc.freeze()
    wishes, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in wishes:
        wish = json.loads(line)
        if "run" in wish:
            answer = _command(wish["run"], wish["output"])
        elif "start" in wish:
            answer = _forked(wish["start"], wish["output"])
        else:
            answer = os.waitstatus_to_exitcode(os.waitpid(wish["wait"], 0)[1])
        answers.write(f"{answer}\n")
        answers.flush()


if __name__ == "__main__":
    serve()
