"""Faults are told by place and kind: no value of a variable and no secret in a message gets into any log."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog

import recrawl
from recrawl import logs
from recrawl.redaction import message_of, only_host, program, without_credentials, without_password

CANARY = "canary-4711"


def broken(header: str) -> None:
    """Fails with a secret in an argument, in a local and in the message."""
    kept = {"Authorization": f"Bearer {header}"}
    try:
        int(header)
    except ValueError as error:
        raise KeyError(f"Bearer {header}") from (error if kept else None)


def caught() -> BaseException:
    try:
        broken(CANARY)
    except KeyError as error:
        return error
    raise AssertionError


@pytest.fixture
def configured() -> Iterator[None]:
    before = structlog.get_config()
    handlers = list(logging.getLogger().handlers)
    yield
    structlog.configure(**before)
    logging.getLogger().handlers = handlers


RENDERERS = {
    "console": [structlog.dev.ConsoleRenderer()],
    "console without colours": [structlog.dev.ConsoleRenderer(colors=False)],
    "json": [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()],
    "logfmt": [structlog.processors.LogfmtRenderer()],
    "key and value": [structlog.processors.KeyValueRenderer()],
}


@pytest.mark.parametrize("form", RENDERERS)
def test_a_fault_shows_places_and_no_values_in_any_format(form: str, configured: None) -> None:
    said = io.StringIO()
    structlog.configure(processors=RENDERERS[form], logger_factory=lambda *_: structlog.PrintLogger(said))
    structlog.get_logger("recrawl").error("a fetch went wrong", source=7, **logs.fault(caught()))
    assert "a fetch went wrong" in said.getvalue()
    assert "KeyError" in said.getvalue()
    assert "broken" in said.getvalue()
    assert "ValueError: invalid literal for int() with base 10" in said.getvalue()
    assert CANARY not in said.getvalue()
    if form == "json":
        assert json.loads(said.getvalue())["source"] == 7


def test_the_loggers_of_other_libraries_are_told_the_same_way(
    configured: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure()
    logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=caught())

    async def forgotten() -> None:
        task = asyncio.create_task(asyncio.to_thread(broken, CANARY))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.wait([task])), 10.0)

    asyncio.run(forgotten())
    said = capsys.readouterr().err
    assert "Exception in ASGI application" in said
    assert "Task exception was never retrieved" in said
    assert CANARY not in said


def test_a_line_that_cannot_be_put_together_harms_nobody(configured: None, capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger().handlers = []  # pytest's own fails on such a line
    logs.configure()
    logging.getLogger("aiohttp").error("%d bytes", CANARY)
    logging.getLogger("aiohttp").log(70, "worse than critical")
    said = capsys.readouterr().err
    assert "%d bytes" in said
    assert "worse than critical" in said
    assert CANARY not in said


PROGRAM = """
import threading
from recrawl.logs import guard
guard()
class Unlucky:
    def __del__(self):
        secret = "canary-4711"
        raise ValueError(f"in a destructor: {secret!r}")
def thread(secret):
    raise ValueError(f"in a thread: {secret!r}")
Unlucky()
started = threading.Thread(target=thread, args=("canary-4711",)); started.start(); started.join()
def main(secret):
    raise ValueError(f"uncaught: {secret!r}")
main("canary-4711")
"""


def test_what_nobody_catches_is_told_in_a_line() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60.0)
    assert ended.returncode == 1
    lines = ended.stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "a fault was ignored",
        "a thread ended with a fault",
        "recrawl",
    ]
    assert CANARY not in ended.stderr
    assert all("'…'" in line for line in lines)


@pytest.mark.parametrize(
    "said",
    [
        f"can't convert {CANARY!r} to bytes",
        f"header b'Bearer {CANARY}' is wrong",
        f'it is "{CANARY}"',
        f"it's {CANARY!r} and it's not 'known'",
        f"cut off: 'x{CANARY}",
        f"Source(url='https://a.example', headers={{'Authorization': '{CANARY}'}})",
        f"cannot connect to https://me:{CANARY}@proxy.example:3128/",
        f"no answer of https://hooks.example/services/{CANARY}?x=1",
        f"postgresql://me:{CANARY}@db.example/news is away",
        "an escaped quote: '\\'" + CANARY + "'",
        f"cut off after a backslash: '{CANARY:\\<2000}'",
        f"cut off within a password: {'x' * 1130!r} https://me:{CANARY:x<2000}@proxy.example",
    ],
)
def test_a_message_is_told_without_what_it_repeats(said: str) -> None:
    assert CANARY not in message_of(ValueError(said))


def test_a_message_is_one_short_printable_line() -> None:
    told = message_of(ValueError("a\nb\x1b[31m" + "x" * 100_000))
    assert told.isprintable()
    assert len(told) < 400


@pytest.mark.parametrize(
    ("rule", "given", "left"),
    [
        (only_host, "http://me:pw@proxy:3128", "http://proxy:3128"),
        (only_host, "https://hooks.example/a/b?c", "https://hooks.example/…"),
        (only_host, "https://a@b:c@hooks.example/", "https://hooks.example/"),
        (only_host, "nothing to hide", "nothing to hide"),
        (without_password, "recrawl.db", "recrawl.db"),
        (without_password, "sqlite:////var/lib/a@b:c.db", "sqlite:////var/lib/a@b:c.db"),
        (without_password, "postgresql://me:p@w:x@db/news", "postgresql://me@db/news"),
        (without_password, "postgresql://me@db/news?password=x", "postgresql://me@db/news?…"),
        (without_password, "mysql://me:pw@db/news", "mysql://me@db/news"),
        (without_password, "postgresql://me:secret?more@db/news", "postgresql://…"),
        (program, "./notify.sh", "./notify.sh"),
        (program, "  ", ""),
        (program, "./notify.sh --key abc", "./notify.sh …"),
        (without_credentials, "from https://me:x@a.example/?b=c@d", "from https://a.example/?b=c@d"),
    ],
)
def test_what_is_left_of_a_secret(rule, given: str, left: str) -> None:
    assert rule(given) == left


def test_no_module_hands_an_exception_to_a_log_by_itself() -> None:
    """A renderer that is given one shows what it likes, variables included."""
    ways = {"exception", "print_exc", "print_exception", "format_exc", "format_exception", "print_tb", "print_stack"}
    package = Path(recrawl.__file__).parent
    found = []
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            by_keyword = any(each.arg in ("exc_info", "stack_info", "show_locals") for each in node.keywords)
            named = isinstance(node.func, ast.Attribute) and node.func.attr in ways and bool(node.args or node.keywords)
            if by_keyword or named:
                found.append(f"{path.relative_to(package)}:{node.lineno}")
    assert found == []
