"""Liferea, driven on a screen nobody sees, reads from a real server. Not needed: where it is not, this is passed over.

    apt-get install --no-install-recommends liferea xvfb xdotool dbus

It asks for the contents of items with its token in the form alone (1.14), and for all else as others do.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from desk import Desk
from recrawl.store.sqlite import SqliteStore
from until import until

NEEDED = ("liferea", "Xvfb", "xdotool", "dbus-run-session")
pytestmark = pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="Liferea or a screen for it is not here")
FEEDS = """<?xml version="1.0"?>
<opml version="1.0"><head><title>Liferea Feed List Export</title></head><body>
<outline title="Mine" text="Mine" type="source" sourceType="fl_google_reader" id="abcdefg" updateInterval="-1"
 xmlUrl="{address}" sourceUrl="{address}" username="{name}" password="{password}"/>
</body></opml>
"""


@pytest.fixture
def screen() -> Iterator[str]:
    """A display of our own, on any free number."""
    with subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", "1000x700x24"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout is not None
        yield f":{server.stdout.readline().decode().strip()}"
        server.terminate()


@pytest.fixture
def desk(store: SqliteStore, show: Callable[[FastAPI], str]) -> Desk:
    return Desk(store, show)


@pytest.fixture
def press(desk: Desk, screen: str, tmp_path: Path) -> Iterator[Callable[[str], bool]]:
    """Presses keys in a Liferea that has an account."""
    kept, private = tmp_path / ".config" / "liferea", tmp_path / "run"
    kept.mkdir(parents=True)
    private.mkdir(mode=0o700)
    address = f"{desk.address}/api/greader.php"
    feeds = FEEDS.format(address=address, name=desk.reader.name, password=desk.password)
    (kept / "feedlist.opml").write_text(feeds)
    knows = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(private), "DISPLAY": screen}
    knows |= {"NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory"}
    with subprocess.Popen(
        ["dbus-run-session", "--", "liferea"],
        env=knows, cwd=tmp_path, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as program:  # fmt: skip
        try:
            yield lambda key: not subprocess.run(["xdotool", "key", key], env=knows, check=False).returncode
        finally:
            os.killpg(program.pid, signal.SIGTERM)


def test_items_are_opened_one_after_the_other_and_one_is_starred(desk: Desk, press: Callable[[str], bool]) -> None:
    """The next unread item is opened until all were, which is as soon as Liferea has loaded them."""
    until(lambda: press("ctrl+n") and len(desk.store.clicks()) == 5, again_s=1.0)
    assert not desk.titles(read=False)
    assert {(each.item, each.client) for each in desk.store.clicks()} == {(k, "reader:1") for k in range(1, 6)}
    assert press("ctrl+t")
    until(lambda: len(desk.store.clicks()) == 6)
    assert len(desk.titles(starred=True)) == 1
