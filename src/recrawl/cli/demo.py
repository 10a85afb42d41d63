"""`recrawl demo`: see it at work in under a minute."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="demo", short_help="See policies side by side on simulated sources.")
@click.option("--seconds", type=click.FloatRange(min=1.0), default=20.0, show_default=True,
              help="Time to simulate for; more worlds narrow the intervals.")  # fmt: skip
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write the figures to this file.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo"), show_default=True,
              help="Directory for report.html and figures/.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the simulated worlds.")
def command(seconds: float, json_file: Path | None, out: Path, seed: int) -> None:
    """Put policies side by side on a few hundred simulated sources, and show what each fetch brings."""
    import time

    import msgspec

    from recrawl.cli.console import console, progress_shown, show_table
    from recrawl.errors import OutputError
    from recrawl.papers.reproduction import prepare

    prepare(out)
    try:
        if json_file is not None:
            json_file.open("ab").close()  # say so now, not after all the work
    except OSError as error:
        raise OutputError(f"--json {json_file}: cannot write there ({error.strerror})") from error
    began = time.monotonic()
    with progress_shown() as progress:
        progress("loading", 0.0)
        from recrawl import relaxed_bound
        from recrawl.cli import lab
        from recrawl.report import write_html

        sources = lab.catalogue(seed)
        bound = relaxed_bound(sources, lab.BUDGET)
        progress("loading", 1.0)
        outcomes = lab.compete(sources, seconds, seed, progress)
        progress("writing the report", 0.0)
        page = lab.report(sources, outcomes, bound)
        for figure in page.figures():
            figure.save(out / "figures")
        path = write_html(page, out / "report.html")
        progress("writing the report", 1.0)
    if json_file is not None:
        text = msgspec.json.encode(lab.as_json(outcomes, bound.value, time.monotonic() - began))
        json_file.write_bytes(msgspec.json.format(text, indent=2) + b"\n")
    screen = console()
    show_table(lab.ranking(outcomes, bound.value), screen)
    screen.print(page.lead)
    screen.print(f"report: {path}", soft_wrap=True)
