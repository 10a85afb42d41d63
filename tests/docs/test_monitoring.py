"""Metrics that people can use: Prometheus scrapes them, its tool takes the alerts, and what is named is exposed."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import ProxyHandler, build_opener

import pytest

from recrawl.store.opening import open_store
from recrawl.store.records import Source
from releasing import script
from until import until

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
PROGRAM = [sys.executable, "-c", "from recrawl.cli import main; main()"]
TOKEN = "scraped by a test of ours"
SUFFIX = re.compile(r"_(bucket|count|sum|created)$")
needs_prometheus = pytest.mark.skipif(PROMETHEUS is None or PROMTOOL is None, reason="needs Debian's prometheus")


@pytest.fixture(scope="module")
def exposed() -> set[str]:
    return {name for name, _, _ in script("docs_reference").all_metrics()}


def named(text: str) -> set[str]:
    found = {SUFFIX.sub("", each) for each in re.findall(r"\brecrawl_[a-z_]+", text)}
    return {each for each in found if not each.endswith("_")}


@pytest.mark.parametrize("file", ["prometheus/alerts.yml", "prometheus/alerts_test.yml", "grafana/recrawl.json"])
def test_every_metric_that_is_named_is_exposed(file: str, exposed: set[str]) -> None:
    assert named((DEPLOY / file).read_text()) <= exposed


def test_the_words_about_metrics_name_all_of_them(exposed: set[str]) -> None:
    said = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    assert {each for each in exposed if not each.endswith("_created")} <= set(re.findall(r"recrawl_\w+", said))


def test_every_alert_is_explained() -> None:
    alerts = set(re.findall(r"alert: (\w+)", (DEPLOY / "prometheus" / "alerts.yml").read_text()))
    assert alerts == set(re.findall(r"`(Recrawl\w+)`", (DEPLOY.parent / "docs" / "monitoring.md").read_text()))


@needs_prometheus
@pytest.mark.parametrize("arguments", [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]])
def test_prometheus_takes_the_alerts(arguments: list[str]) -> None:
    done = subprocess.run([PROMTOOL, *arguments], cwd=DEPLOY / "prometheus", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_prometheus
def test_every_question_of_the_dashboard_is_one_that_prometheus_takes(tmp_path: Path) -> None:
    """Grafana itself is not to be had here: its format is held to what it asks of one, by hand."""
    board = json.loads((DEPLOY / "grafana" / "recrawl.json").read_text())
    panels = [panel for panel in board["panels"] if panel["type"] != "row"]
    asked = [target["expr"].replace("$instance", ".*") for panel in panels for target in panel["targets"]]
    rules = [{"record": f"asked:{k}:now".replace(":", "_"), "expr": each} for k, each in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}))  # JSON is YAML
    done = subprocess.run([PROMTOOL, "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_has_what_grafana_asks_of_one() -> None:
    board = json.loads((DEPLOY / "grafana" / "recrawl.json").read_text())
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= board.keys()
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert panel["description"]
            assert all(target["expr"] and target["refId"] for target in panel["targets"])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def ask(url: str) -> bytes:
    with build_opener(ProxyHandler({})).open(url, timeout=10) as answer:
        return bytes(answer.read())


@pytest.fixture
def page(tmp_path: Path) -> Iterator[int]:
    """`recrawl serve` with a token, over a store with three sources."""
    with open_store(str(tmp_path / "recrawl.db")) as store:
        store.add([Source(url=f"https://a.example/{k}", added=time.time()) for k in range(3)])
    port = free_port()
    command = [*PROGRAM, "serve", "--port", str(port), "--store", str(tmp_path / "recrawl.db")]
    served = subprocess.Popen(command, env=os.environ | {"RECRAWL_TOKEN": TOKEN}, cwd=tmp_path)
    try:
        until(lambda: served.poll() is not None or answers(f"http://127.0.0.1:{port}/readyz"))
        assert served.poll() is None
        yield port
    finally:
        served.terminate()
        served.wait(30)


def answers(url: str) -> bool:
    try:
        return bool(ask(url)) or True
    except OSError:
        return False


@needs_prometheus
def test_prometheus_scrapes_a_page_with_the_configuration_that_is_shipped(page: int, tmp_path: Path) -> None:
    for name in ("prometheus.yml", "alerts.yml"):
        text = (DEPLOY / "prometheus" / name).read_text()
        (tmp_path / name).write_text(text.replace("localhost:8080", f"127.0.0.1:{page}").replace("15s", "1s"))
    (tmp_path / "recrawl.token").write_text(TOKEN)
    check = subprocess.run(
        [PROMTOOL, "check", "config", "prometheus.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stdout + check.stderr
    port = free_port()
    command = [PROMETHEUS, "--config.file=prometheus.yml", "--storage.tsdb.path=data",
               f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]  # fmt: skip
    started = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        question = quote('recrawl_sources{state="active"}')

        def scraped() -> bool:
            if not answers(f"http://127.0.0.1:{port}/-/ready"):
                return False
            found = json.loads(ask(f"http://127.0.0.1:{port}/api/v1/query?query={question}"))["data"]["result"]
            return [each["value"][1] for each in found] == ["3"]

        until(scraped)
        rules = json.loads(ask(f"http://127.0.0.1:{port}/api/v1/rules"))["data"]["groups"][0]["rules"]
        assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    finally:
        started.terminate()
        started.wait(30)
