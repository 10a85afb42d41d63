"""`recrawl run --serve`: what keeps the page from being shown is said before anything is made or begun."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from recrawl.cli import run


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(["run", "--json", "--once", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)


def test_without_the_packages_nothing_is_begun(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    words = "recrawl: recrawl run --serve needs packages that are not installed: pip install 'recrawl[web]'\n"
    assert ran(capsys, "--serve", "0") == (2, "", words)
    assert not Path("recrawl.db").exists()


def test_nor_where_the_port_is_taken_and_the_way_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        status, out, err = ran(capsys, "--serve", str(port))
    assert (status, out) == (2, "")
    assert err == (
        f"recrawl: cannot listen on 127.0.0.1, port {port}: address already in use; --serve PORT takes another, "
        "0 any free one\n"
    )
    assert not Path("recrawl.db").exists()


def test_with_both_it_says_where_the_page_is(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capsys, "--serve", "0")
    assert status == 0
    assert "http://127.0.0.1:" in err


def test_other_machines_need_a_password_and_without_it_nothing_is_begun(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = ran(capsys, "--serve", "0", "--host", "0.0.0.0")
    assert status == 2
    assert "0.0.0.0 can be reached from other machines: set a password first" in err
    assert not Path("recrawl.db").exists()
    monkeypatch.setenv("RECRAWL_PASSWORD", "long enough to be one")
    status, _, err = ran(capsys, "--serve", "0", "--host", "0.0.0.0")
    assert status == 0
    assert "http://0.0.0.0:" in err


def test_a_host_without_the_page_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ran(capsys, "--host", "0.0.0.0")
    assert status == 2
    assert "give --serve too" in err
