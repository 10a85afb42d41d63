"""Whether a crawler that runs for long stays as it is: memory and open files over accelerated hours, faults on.

A synthetic web in a process of its own publishes in accelerated time and misbehaves in every way that leaves traces
(resets, silence, endless bodies, bombs, redirects, refusals). `recrawl run` crawls it; its memory, open files, threads
and children are sampled from outside. The slopes are of least squares over the time after the warm-up, with a
standard error that allows for samples being alike: residuals are taken as a series with the correlation they show
from one sample to the next.

Run: python -m benchmarks.soak [--sources N] [--minutes M] [--budget R] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks import held

from recrawl.synthweb.faults.rules import Rule
from recrawl.synthweb.ledger import budget_violations, delay_violations, hold_violations
from recrawl.synthweb.process import Served, running

RECRAWL = [sys.executable, "-c", "from recrawl.cli import main; main()"]
TELLING = [
    sys.executable,
    "-c",
    f"import sys; sys.path.append({str(Path(__file__).resolve().parents[1])!r}); from pathlib import Path; "
    "from benchmarks.held import tell_when_asked; tell_when_asked(Path.cwd()); from recrawl.cli import main; main()",
]
"""The same, and says what it holds when it is asked."""
SPEED, DELAY_S, BURST = 3600.0, 0.5, 20
EVERY_S = 3.0
GREW = 12
"""Classes that are named."""
FAULTS = {
    "429_seconds": 0.01, "503": 0.01, "500": 0.02, "reset_before_headers": 0.01, "reset_in_body": 0.01, "drip": 0.002,
    "never": 0.002, "endless": 0.002, "bomb_gzip": 0.002, "bomb_brotli": 0.002, "entity_bomb": 0.002,
    "redirect_loop": 0.005, "redirect_other_host": 0.01, "malformed": 0.01, "changing_ids": 0.01, "huge_title": 0.002,
    "many_entries": 0.002,
}  # fmt: skip
SETTINGS = """
budget = "{budget}/s"
burst = "{burst}"
half_life = "6s"
[fetch]
allow_private = true
timeout = "5s"
idle_timeout = "2s"
[politeness]
delay = "{delay}s"
min_interval = "2s"
backoff = "2s"
max_backoff = "20s"
"""


class Sample(NamedTuple):
    """Of the crawler at one moment: seconds since its start, memory in MB, open files, threads, child processes."""

    at: float
    memory_mb: float
    files: int
    threads: int
    children: int


class Slope(NamedTuple):
    """Growth per hour, its standard error, and the mean it starts from."""

    per_hour: float
    error: float
    mean: float


def sample(pid: int, began: float) -> Sample:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    children = sum(len(each.read_text().split()) for each in Path(f"/proc/{pid}/task").glob("*/children"))
    return Sample(
        time.monotonic() - began,
        int(status["VmRSS"].split()[0]) / 1024.0,
        len(os.listdir(f"/proc/{pid}/fd")),
        int(status["Threads"]),
        children,
    )


def slope(hours: np.ndarray, values: np.ndarray) -> Slope:
    """Least squares, the error widened by the correlation of neighbouring residuals."""
    centred = hours - hours.mean()
    per_hour = float(centred @ values / (centred @ centred))
    rest = values - values.mean() - per_hour * centred
    alike = float(np.clip((rest[1:] @ rest[:-1]) / max(rest @ rest, 1e-12), 0.0, 0.95))
    variance = rest @ rest / max(len(values) - 2, 1) / (centred @ centred) * (1.0 + alike) / (1.0 - alike)
    return Slope(per_hour, math.sqrt(float(variance)), float(values.mean()))


def watched(folder: Path, seconds: float, warm: float) -> tuple[list[Sample], list[dict[str, Any]]]:
    """Let it crawl; samples of its whole life, and what it held when it was warm and at the end."""
    samples: list[Sample] = []
    holds: list[dict[str, Any]] = []
    with open(folder / "output.txt", "wb") as output:
        child = subprocess.Popen([*TELLING, "run", "--json", "--events", "events.jsonl"], cwd=folder,
                                 stdout=output, stderr=output)  # fmt: skip
        began = time.monotonic()
        try:
            while time.monotonic() < began + seconds:
                time.sleep(EVERY_S)
                if child.poll() is not None:
                    sys.exit(f"it ended:\n{(folder / 'output.txt').read_text()[-2000:]}")
                samples.append(sample(child.pid, began))
                if not holds and samples[-1].at >= warm * seconds:
                    holds.append(held.ask(folder))
            holds.append(held.ask(folder))
            child.terminate()
            if child.wait(60.0):
                sys.exit(f"it ended with {child.returncode}")
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
    return samples, holds


def account(web: Served, budget: float) -> dict[str, int]:
    log = web.log()
    return {
        "requests": len(log),
        "met a fault": sum(bool(each.fault) for each in log),
        "budget violations": len(budget_violations(log, budget, BURST, tolerance=1.0 + 0.3 * budget)),
        "delay violations": len(delay_violations(log, DELAY_S, 0.12)),
        "hold violations": len(hold_violations(log, tolerance_s=0.12)),
    }


def soak(sources: int, minutes: float, budget: float, warm: float) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="recrawl-soak-"))
    hosts = max(sources // 20, 10)
    world = ("--sources", sources, "--hosts", hosts, "--speed", SPEED, "--mix", "mixed", "--rate", 0.1)
    try:
        with running(*world) as web:
            (folder / "recrawl.toml").write_text(SETTINGS.format(budget=budget, burst=BURST, delay=DELAY_S))
            (folder / "urls.txt").write_text("\n".join(web.urls()))
            subprocess.run([*RECRAWL, "import", "urls.txt"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            web.set_faults([Rule(name=name, share=share) for name, share in FAULTS.items()])
            samples, holds = watched(folder, 60.0 * minutes, warm)
            accounts = account(web, budget)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    kept = [each for each in samples if each.at >= warm * 60.0 * minutes]
    hours = np.array([each.at for each in kept]) / 3600.0
    found: dict[str, Any] = {"sources": sources, "minutes": minutes, "virtual hours": minutes * SPEED / 60.0}
    for name in ("memory_mb", "files", "threads", "children"):
        found[name] = slope(hours, np.array([float(getattr(each, name)) for each in kept]))._asdict()
    series = [[round(each.at), round(each.memory_mb), each.files] for each in samples]
    found |= {"highest_mb": max(each.memory_mb for each in samples)} | accounts
    for name in ("malloc in use", "malloc free", "python blocks"):
        found[f"more {name}"] = holds[1].get(name, 0) - holds[0].get(name, 0)
    return found | {"series": series, "grown": held.grown(*holds)}


def told(found: dict[str, Any]) -> str:
    """As Markdown: slopes with their intervals, then counts, then the classes whose objects grew most."""
    lines = ["| | on average | more per hour | 95 % interval |", "| --- | ---: | ---: | ---: |"]
    for name, figure in found.items():
        if isinstance(figure, dict):
            low, high = (figure["per_hour"] + way * 1.96 * figure["error"] for way in (-1.0, 1.0))
            lines.append(f"| {name} | {figure['mean']:.1f} | {figure['per_hour']:+.1f} | {low:+.1f} to {high:+.1f} |")
    lines += ["", "| | |", "| --- | ---: |"]
    lines += [f"| {name} | {figure:,.0f} |" for name, figure in found.items() if isinstance(figure, float | int)]
    lines += ["", "| objects that grew since it was warm | more | kB more |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {count:+,} | {size / 1e3:,.0f} |" for name, count, size in found["grown"][:GREW]]
    return "\n".join(lines)


def main() -> None:
    ends = "It takes --minutes and about one more. A third of a core at 80 requests a second."
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0], epilog=ends)
    parser.add_argument("--sources", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--budget", type=float, default=100.0, help="requests per second")
    parser.add_argument("--warm", type=float, default=0.4, help="share of the time left out at the start")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = soak(options.sources, options.minutes, options.budget, options.warm)
    print(told(found))
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
