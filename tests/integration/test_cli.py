"""The program as its users meet it: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from processes import crawling
from recrawl.store.sqlite import SqliteStore
from recrawl.synthweb.process import running as serving
from until import until

PROGRAM = [sys.executable, "-c", "from recrawl.cli import main; main()"]
LOADED_S = 240.0
"""Within so long a crawler is at work, even if its kernels have to be compiled first."""
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


def recrawl(*arguments, **options):
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    place = tmp_path_factory.mktemp("demo")
    options = ("--seconds", "12", "--sources", "60", "--budget", "30/s")
    done = recrawl("demo", *options, "--out", place / "out", "--json", place / "demo.json")
    assert done.returncode == 0, done.stderr
    return place, done


def test_the_demo_ends_in_a_table_and_says_where_to_look(demo):
    place, done = demo
    assert "Interest captured at the same budget" in done.stdout
    for name in ("recrawl", "round_robin", "miniflux", "nutch_adaptive", "oracle"):
        assert name in done.stdout
    assert f"recrawl explain 1 --store {place / 'out' / 'demo.db'}" in done.stdout
    looked = recrawl("explain", "1", "--store", place / "out" / "demo.db")
    assert looked.returncode == 0, looked.stderr


def test_the_demo_writes_its_figures_as_json(demo):
    written = json.loads((demo[0] / "demo.json").read_text())
    assert (written["seconds"], written["budget_per_s"]) == (12.0, 30.0)
    assert 0 < written["fetches"] <= 30 * 13
    assert set(written["policies"]) == {"recrawl", "oracle", "round_robin", "miniflux", "nutch_adaptive"}
    assert set(written["equal"]["policies"]) == set(written["policies"])
    for policies in (written["policies"], written["equal"]["policies"]):
        assert all(set(each) == {"captured", "per_fetch"} for each in policies.values())


def test_the_demo_says_who_is_told_what_and_compares_without_that_too(demo):
    first, second = demo[1].stdout.split("The same with all items alike")
    for table, told in ((first, "worth and fading"), (second, "–")):
        assert re.search(rf"^ +recrawl +{told} +[\d,]+ ", table, re.MULTILINE)
        assert re.search(r"^ +miniflux +– +[\d,]+ ", table, re.MULTILINE)
    assert re.search(r"^ +oracle +pace +[\d,]+ ", second, re.MULTILINE)


def test_with_all_items_alike_the_demo_captures_no_less_than_going_round(demo):
    """All are replayed, so that a busy machine makes no difference; who comes second is not the point."""
    captured = {
        name: each["captured"]
        for name, each in json.loads((demo[0] / "demo.json").read_text())["equal"]["policies"].items()
    }
    assert captured["oracle"] > captured["recrawl"] > captured["round_robin"]


def test_the_demo_shows_a_lying_sitemap_found_out_and_writes_the_same_figures(demo):
    """A machine that compiles meanwhile may not be done in time, and says so."""
    lists = json.loads((demo[0] / "demo.json").read_text())["lists"]
    if lists is None:
        assert "How a lying sitemap is found out is not ready" in demo[1].stdout
        return
    assert lists["learned"] >= lists["without"]
    shares = [f"{100.0 * lists[name]:.1f}" for name in ("without", "believed", "learned")]
    shown = demo[1].stdout.split("Share of time fresh")[1]
    assert re.findall(r"^  [a-z ]+ (\d+\.\d) *$", shown, re.MULTILINE) == shares
    honest, _, rebuilt = (each["trust"][-1] for each in lists["lists"])
    assert honest > 0.9 > 0.1 > rebuilt


def test_the_demo_captures_more_than_going_round(demo):
    """The others are replayed with no machine in their way; one too busy to spend the budget proves nothing."""
    written = json.loads((demo[0] / "demo.json").read_text())
    if written["fetches"] < 0.9 * 12 * 30:
        pytest.skip(f"the machine was busy: {written['fetches']} fetches of {12 * 30}")
    captured = {name: each["captured"] for name, each in written["policies"].items()}
    assert 1.1 * captured["oracle"] > captured["recrawl"] > captured["round_robin"]


def test_a_demo_too_short_for_a_second_visit_ends_in_a_table_and_leaves_a_catalogue_alone(tmp_path):
    (tmp_path / "recrawl.db").write_text("mine")
    done = recrawl("demo", "--seconds", "1", "--sources", "100", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "round_robin" in done.stdout
    assert (tmp_path / "recrawl.db").read_text() == "mine"


def is_one_line_and_no_traceback(done):
    return done.returncode == 2 and done.stderr.startswith("recrawl: ") and done.stderr.count("\n") == 1


def test_an_unknown_paper_is_named_with_those_there_are():
    done = recrawl("reproduce", "nature1905")
    assert is_one_line_and_no_traceback(done)
    assert "tcns2018" in done.stderr


def test_a_file_in_the_place_of_the_output_directory_is_said_at_once(tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = recrawl("reproduce", "tcns2018", "--quick", "--out", tmp_path / "taken")
    assert is_one_line_and_no_traceback(done)
    assert "taken" in done.stderr
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.parametrize("command", [["reproduce", "tcns2018", "--quick"], ["demo"]])
def test_a_place_that_cannot_be_written_to_is_said_at_once(tmp_path, command):
    (tmp_path / "file").write_text("")
    done = recrawl(*command, "--out", tmp_path / "file" / "below")
    assert is_one_line_and_no_traceback(done)
    assert "cannot write" in done.stderr


def test_a_missing_extra_is_named(tmp_path):
    program = "import sys; sys.modules['matplotlib'] = None; from recrawl.cli import main; main()"
    command = [sys.executable, "-c", program, "reproduce", "tcns2018", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "recrawl[lab]" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupting_leaves_a_message_and_no_traceback(tmp_path):
    # A program started in the background may have inherited that SIGINT is ignored.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    paper = ["reproduce", "tcns2018", "--quick", "--out", str(tmp_path)]
    command = [sys.executable, "-c", heeding + PROGRAM[-1], *paper]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline()
        running.send_signal(signal.SIGINT)
        _, complaint = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "recrawl: interrupted" in complaint
    assert "Traceback" not in complaint


def test_in_a_terminal_progress_is_a_bar_and_goes_with_an_interruption(tmp_path):
    with closing(Terminal(tmp_path, "reproduce", "tcns2018", "--quick", "--out", tmp_path)) as terminal:
        until(lambda: "━" in terminal.drawn(), LOADED_S)
        terminal.process.send_signal(signal.SIGINT)
        until(lambda: terminal.drawn() and terminal.process.poll() is not None, LOADED_S)
        assert terminal.process.returncode == 130
        drawn = terminal.drawn()
    assert 0 <= drawn.rfind(HIDE_CURSOR) < drawn.rfind(SHOW_CURSOR)


def test_one_round_of_an_empty_catalogue_ends_with_how_to_fill_it(tmp_path):
    done = recrawl("run", "--once", "--store", tmp_path / "recrawl.db")
    assert done.returncode == 0, done.stderr
    assert "recrawl add URL" in done.stdout
    assert "recrawl import FILE" in done.stdout


def test_a_run_on_an_empty_catalogue_says_so_and_fetches_what_is_added_meanwhile(tmp_path):
    def said():
        return [json.loads(line) for line in (tmp_path / "output.txt").read_text().splitlines() if line[:1] == "{"]

    def fetches():
        shown = recrawl("status", "--json", cwd=tmp_path)
        return json.loads(shown.stdout)["day"]["crawls"]

    with serving("--sources", 1) as web, crawling(tmp_path, "run", "--json", "--allow-private") as child:
        until(lambda: any(each["type"] == "note" and "recrawl add URL" in each["text"] for each in said()), LOADED_S)
        assert recrawl("add", *web.urls(), cwd=tmp_path).returncode == 0
        until(lambda: fetches() > 0, LOADED_S)
        child.send_signal(signal.SIGTERM)
        assert child.wait(LOADED_S) == 0
    assert said()[-1]["crawls"] > 0


class Terminal:
    """A program with a terminal of its own, and all it has drawn there."""

    def __init__(self, folder, *arguments):
        self._ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], stdout=theirs, stderr=theirs, cwd=folder, env=environment
        )
        os.close(theirs)
        self._drawn = b""

    def drawn(self):
        while select.select([self._ours], [], [], 0.0)[0]:
            try:
                self._drawn += os.read(self._ours, 65536)
            except OSError:  # the other end is closed
                break
        return self._drawn.decode(errors="replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_while_it_hands_on_one_interruption_is_answered_and_two_leave_a_terminal_as_it_was(tmp_path):
    busy, store = tmp_path / "busy", tmp_path / "recrawl.db"
    busy.touch()
    options = ("--once", "--allow-private", "--exec", f"sh -c 'while [ -e {busy} ]; do sleep 0.1; done'")

    def handing_on():
        """Whether the accounts of all it fetched are stored, which comes last.

        A terminal nobody reads would hold the program up.
        """
        terminal.drawn()
        with SqliteStore(store, read_only=True) as opened:
            made = sum(crawl.requests for crawl in opened.crawls())
            return 0 < made <= sum(price.requests for price in opened.prices(since=0.0))

    with serving("--sources", 1, "--rate", 100) as web:
        assert recrawl("add", *web.urls(), cwd=tmp_path).returncode == 0
        with closing(Terminal(tmp_path, "run", *options)) as terminal:
            until(handing_on, LOADED_S)
            terminal.process.send_signal(signal.SIGINT)
            until(lambda: "stopping: delivering events" in terminal.drawn(), LOADED_S)
            assert terminal.process.poll() is None
            terminal.process.send_signal(signal.SIGINT)
            assert terminal.process.wait(LOADED_S) == 130
            drawn = terminal.drawn()
            busy.unlink()
    assert 0 <= drawn.rfind(HIDE_CURSOR) < drawn.rfind(SHOW_CURSOR)
    assert drawn.rstrip().endswith("recrawl: interrupted")


def test_help_takes_less_than_a_fifth_of_a_second_of_processor_time():
    def seconds():
        """Of this child alone, whatever others end meanwhile."""
        child = os.posix_spawn(sys.executable, [*PROGRAM, "--help"], os.environ, file_actions=quiet)
        _, status, used = os.wait4(child, 0)
        assert status == 0
        return used.ru_utime + used.ru_stime

    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]

    assert min(seconds() for _ in range(5)) < 0.2


def test_the_console_script_is_installed():
    script = Path(sys.executable).parent / "recrawl"
    if not script.exists():
        pytest.skip("recrawl is not installed as a script beside this Python")
    assert subprocess.run([script, "--version"], capture_output=True, check=True).stdout.startswith(b"recrawl ")
