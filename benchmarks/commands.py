"""What it costs to begin: processor time and seconds of `import recrawl` and of short commands, over many runs.

Each run is a process of its own. With `--beside` the same is measured of another checkout, run by run in turn, so that
whatever else the machine does weighs on both alike. What Python itself takes is the first line.

Run: python -m benchmarks.commands [--runs 10] [--beside CHECKOUT]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = "import sys; from recrawl.cli import main; main(sys.argv[1:])"
HERE = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "python": ("pass",),
    "import recrawl": ("import recrawl",),
    "recrawl --help": (COMMAND, "--help"),
    "recrawl run --help": (COMMAND, "run", "--help"),
    "recrawl run --for 0.1s": (COMMAND, "run", "--for", "0.1s"),
}


def once(checkout: Path, program: tuple[str, ...], folder: str) -> tuple[float, float]:
    """Milliseconds of processor time and of the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", *program],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(checkout / "src")},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * spent, 1e3 * (time.perf_counter() - began)


def measured(program: tuple[str, ...], checkouts: list[Path], runs: int) -> list[list[tuple[float, float]]]:
    """The runs of a program in each checkout, in turn, after one that is not counted."""
    with tempfile.TemporaryDirectory(prefix="recrawl-commands-") as folder:
        for checkout in checkouts:
            once(checkout, program, folder)
        rounds = [[once(checkout, program, folder) for checkout in checkouts] for _ in range(runs)]
    return [list(found) for found in zip(*rounds, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout, measured in turn with this")
    options = parser.parse_args()
    checkouts = [HERE] if options.beside is None else [options.beside.resolve(), HERE]
    print(f"{'':24}" + "".join(f"{checkout.name[-28:]:>30}" for checkout in checkouts))
    print(f"{'':24}" + f"{'CPU ms: least, median; wall':>30}" * len(checkouts))
    for name, program in PROGRAMS.items():
        words = []
        for found in measured(program, checkouts, options.runs):
            cpu, wall = zip(*found, strict=True)
            words.append(
                f"{min(cpu):.0f}, {statistics.median(cpu):.0f}; {min(wall):.0f}, {statistics.median(wall):.0f}"
            )
        print(f"{name:24}" + "".join(f"{each:>30}" for each in words), flush=True)


if __name__ == "__main__":
    main()
