"""Nothing that looks or complains says a secret: a canary in every setting that may hold one, and in a source's header.

Every command that looks is run over such settings, every typical failure is caused, and every page is asked for.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from crawling import HASTY, crawl, world_of
from processes import RECRAWL
from recrawl.cli import COMMANDS, run
from recrawl.cli.config import as_toml
from recrawl.clock import SystemClock
from recrawl.config import Config, Fetching, Outlets, load
from recrawl.config.secret import SHOWN
from recrawl.errors import RecrawlError
from recrawl.store.opening import open_store
from recrawl.store.records import Source, Subscription
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.server import SynthWeb
from recrawl.wiring import make_outlets
from visitor import Visitor

CANARY = "canary-4711"
SETTINGS = f"""
store = "recrawl.db"
budget = "50/s"
[fetch]
allow_private = true
timeout = "3s"
proxy = "http://me:{CANARY}@127.0.0.1:1/{CANARY}"
[politeness]
delay = "100ms"
min_interval = "100ms"
[outlets]
webhook = "http://me:{CANARY}@127.0.0.1:1/{CANARY}?token={CANARY}"
exec = "false {CANARY}"
[notify.me]
to = "json://me:{CANARY}@127.0.0.1:1/{CANARY}?+X-Key={CANARY}"
"""
LOOKS: dict[str, list[str]] = {
    "sources": [], "status": [], "explain": ["1"], "items": [], "search": ["one"], "changes": ["1"], "whatif": [],
    "vacuum": [], "doctor": [], "config": [], "pause": ["1"], "add": ["https://b.example/feed"],
    "backup": ["copy.db"], "store": ["copy", "recrawl.db", "other.db"], "export": ["-"], "import": ["urls.txt"],
    "crawl": ["1", "--timeout", "5s"], "preview": ["https://a.example/feed"], "release": ["1"], "budget": [],
    "tag": ["1", "--add", "news"], "signal": ["1"], "notify": ["--test"], "rules": ["list"], "reader": ["list"],
    "remove": ["2", "--yes"],
}  # fmt: skip
FAIL = ("crawl", "preview", "notify")
"""They try to fetch, through a proxy that is not there, or to reach somebody who is not."""
OTHERS = {"demo", "run", "compare", "serve", "cluster", "reproduce", "replay", "synthweb", "mcp"}
PAGES = ("/", "/sources", "/sources/1", "/items", "/search?q=one", "/whatif", "/preview", "/fleet", "/metrics",
         "/sources.opml", "/feed.atom", "/api", "/login", "/healthz", "/readyz")  # fmt: skip
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid><title>one</title></item></channel></rss>"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recrawl.toml").write_text(SETTINGS)
    (tmp_path / "urls.txt").write_text("https://c.example/feed\n")
    with SqliteStore(tmp_path / "recrawl.db") as store:
        headers = {"Authorization": f"Bearer {CANARY}"}
        store.add([Source(url="https://a.example/feed", headers=headers), Source(url="https://d.example/feed")])
        asked = {"token": CANARY, "secret": CANARY, "hub": "https://h.example/", "topic": "https://a.example/feed"}
        store.write_subscriptions([Subscription(source=1, asked=1.0, due=2.0, **asked)])
    return tmp_path


def test_every_command_is_looked_at() -> None:
    assert not OTHERS & set(LOOKS)
    assert set(LOOKS) | OTHERS == set(COMMANDS)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_no_command_that_looks_shows_a_secret(form: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, arguments in LOOKS.items():
        with_form = form if command not in ("backup", "export", "import", "add", "remove", "pause", "tag") else []
        status = run([command, *arguments, *with_form])
        said = "".join(capsys.readouterr())
        assert status in (0, 2) or (command in FAIL and status == 1), (command, said)
        assert CANARY not in said, command


def test_what_config_hides_is_marked_shown_when_asked_for_and_not_taken_for_the_value(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config"]) == 0
    hidden = capsys.readouterr().out
    assert 'proxy = "http://127.0.0.1:1/…"' in hidden
    assert 'webhook = "http://127.0.0.1:1/…"' in hidden
    assert 'exec = "false …"' in hidden
    assert 'to = "json://…"' in hidden
    assert run(["config", "--show-secrets"]) == 0
    (home / "again.toml").write_text(capsys.readouterr().out)
    assert load(home / "again.toml") == load(home / "recrawl.toml")
    (home / "hidden.toml").write_text(hidden)
    with pytest.raises(RecrawlError, match="--show-secrets"):
        load(home / "hidden.toml")


def test_settings_without_secrets_are_printed_as_they_are() -> None:
    from recrawl.config.secret import shown

    plain = Config(
        outlets=Outlets(webhook="https://hooks.example", exec="./notify.sh"), fetch=Fetching(proxy="http://p:1")
    )
    assert as_toml(shown(plain)).count("…") == 0


WRONG = {
    "store": [f'["me:{CANARY}"]', f'"mysql://me:{CANARY}@db.example/x"', f'"postgresql://me:{CANARY}@db.example/x"',
              f'"postgresql://me@db.example/x?password={CANARY}"', f'"me:{CANARY}\\u0000"', f'"unended {CANARY}'],
    "fetch.proxy": [f'["http://me:{CANARY}@a.example"]', f'{{ url = "http://me:{CANARY}@a.example" }}',
                    f'"ftp://me:{CANARY}@a.example"', f'"http://me:{CANARY}@ a.example"', f'"me:{CANARY}@a.example"'],
    "outlets.webhook": [f'["https://a.example/{CANARY}"]', f'"htps://a.example/{CANARY}"', f'"a.example/{CANARY}"'],
    "outlets.exec": [f'["curl", "{CANARY}"]', f"\"sh -c 'echo {CANARY}\"", f'"no-such-program-here {CANARY}"'],
}  # fmt: skip


WRONG_TO = [f'["json://{CANARY}"]', f'"{CANARY}"', f'"no-such://{CANARY}"', f'"tgram://{CANARY}"']


@pytest.mark.parametrize(("name", "value"), [
    *((name, value) for name in SHOWN for value in WRONG[name]), *(("notify.me.to", value) for value in WRONG_TO),
])  # fmt: skip
def test_a_wrong_setting_is_named_and_not_repeated(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table, _, key = name.rpartition(".")
    (tmp_path / "recrawl.toml").write_text((f"[{table}]\n" if table else "") + f"{key} = {value}\n")
    for command in (["config"], ["status"], ["doctor"], ["cluster", "status"]):
        run(command)
    with pytest.raises(RecrawlError) as caught:
        begun(tmp_path)
    assert CANARY not in "".join(capsys.readouterr()) + str(caught.value)


def begun(folder: Path) -> None:
    """What `recrawl run` does first."""
    config = load(folder / "recrawl.toml")
    open_store(config.store).close()
    with SqliteStore(folder / "recrawl.db") as store:
        make_outlets(config, store, SystemClock())


# -- failures


class Receiver(BaseHTTPRequestHandler):
    """A source, and a webhook that refuses everything."""

    def do_GET(self) -> None:
        self._answer(404 if self.path == "/robots.txt" else 200, b"" if self.path == "/robots.txt" else FEED)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(self.server.status, b"")  # type: ignore[attr-defined]

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", f"/{CANARY}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def receiving(status: int) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.status = status  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ran(folder: Path, *arguments: str) -> str:
    """All that a crawler says, does and leaves in files to be read."""
    ended = subprocess.run(
        [*RECRAWL, *arguments], cwd=folder, capture_output=True, text=True, timeout=300.0,
        env={**os.environ, "PGPASSWORD": CANARY, "RECRAWL_WEBHOOK_SECRET": CANARY},
    )  # fmt: skip
    events = folder / "events.jsonl"
    return ended.stdout + ended.stderr + (events.read_text() if events.exists() else "")


@pytest.mark.parametrize("status", [400, 401, 500, 302])
def test_outlets_that_fail_say_no_secret(status: int, tmp_path: Path) -> None:
    with receiving(status) as host:
        (tmp_path / "recrawl.toml").write_text(
            SETTINGS.replace(f'http://me:{CANARY}@127.0.0.1:1/{CANARY}"\n[pol', '"\n[pol').replace(
                "@127.0.0.1:1/", f"@{host}/"
            )
        )
        with SqliteStore(tmp_path / "recrawl.db") as store:
            store.add([Source(url=f"http://{host}/feed", headers={"Authorization": f"Bearer {CANARY}"})])
        said = ran(tmp_path, "run", "--once", "--json", "--events", "events.jsonl")
    assert f"webhook:http://{host}/…" in said
    assert f"answered {status}" in said
    assert "false ended with status 1" in said
    assert "one" in said
    assert CANARY not in said
    with SqliteStore(tmp_path / "recrawl.db") as store:
        assert CANARY not in str(store.crawls()) + str(store.holds(0.0)) + str([each.body for each in store.events(0)])


def test_a_proxy_that_does_not_answer_is_not_named_with_its_password(home: Path) -> None:
    with SqliteStore(home / "recrawl.db") as store:
        store.remove([1, 2])
        store.add([Source(url="http://93.184.216.34/feed", headers={"Authorization": f"Bearer {CANARY}"})])
    said = ran(home, "run", "--once", "--json")
    with SqliteStore(home / "recrawl.db") as store:
        crawls = store.crawls()
        assert "no connection through the proxy" in str(crawls)
        assert CANARY not in str(crawls) + str(store.sources()).replace(f"Bearer {CANARY}", "")
    assert CANARY not in said


def test_a_server_that_does_not_answer_or_refuses_is_not_told_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    said = ran(tmp_path, "status", "--store", f"postgresql://me@127.0.0.1:{port}/news?connect_timeout=2")
    assert "the server does not answer" in said
    assert CANARY not in said


def test_a_fault_in_the_program_tells_no_header_and_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from recrawl import logs
    from recrawl.crawl.fetching.fetcher import Fetcher
    from recrawl.crawl.reading import readers

    def unread(document: object, **_: object) -> None:
        secret = f"Bearer {CANARY}"
        raise KeyError(secret, document)

    fetch = Fetcher.visit

    async def lost(self: Fetcher, url: str, headers: dict[str, str], *more: object, **others: object) -> object:
        if "s1" in url:
            raise ValueError(f"Invalid header value {headers!r}")
        return await fetch(self, url, headers, *more, **others)  # type: ignore[arg-type]

    monkeypatch.setattr(readers, "read", unread)
    monkeypatch.setattr(Fetcher, "visit", lost)

    async def scene() -> str:
        async with SynthWeb(world_of(["rss", "rss"])) as web:
            with SqliteStore(tmp_path / "recrawl.db") as store:
                headers = {number: {"Authorization": f"Bearer {CANARY}"} for number in range(2)}
                account = await crawl(web, store, HASTY, once=True, headers=headers)
                return str(account.said(0)) + str(account.said(1))

    logs.configure()
    said = asyncio.run(scene())
    assert "internal error: KeyError" in said
    assert "internal error: ValueError: Invalid header value" in said
    said += "".join(capsys.readouterr())
    assert "a document could not be read" in said
    assert "a fetch went wrong" in said
    assert "test_secrets.py" in said
    assert CANARY not in said


def test_no_page_and_no_answer_of_the_api_shows_a_secret(home: Path) -> None:
    pytest.importorskip("fastapi")
    from recrawl.web.app import make_app

    with SqliteStore(home / "recrawl.db") as store:
        app = make_app(store, load(home / "recrawl.toml"), SystemClock())
        paths = [path for path, calls in app.openapi()["paths"].items() if "get" in calls and path != "/api/v1/stream"]
        assert len(paths) > 10
        for path in [*paths, *PAGES]:
            answer = Visitor(app).ask("GET", path.replace("{id}", "1"))
            assert answer.status < 500, path
            assert CANARY not in answer.body.decode(errors="replace") + str(answer.headers), path
