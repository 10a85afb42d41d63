"""`recrawl reproduce`: the papers, published beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from recrawl.papers.reproduction import Reproduction

OUT = Path("out/papers")


@click.command(name="reproduce")
@click.argument("paper", default="all")
@click.option("--out", type=click.Path(path_type=Path),
              help="Directory for report.html, results.json and figures/; out/papers/PAPER (of all, out/papers) if not "
                   "given.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer runs: seconds instead of minutes, wider intervals.")
@click.option("--data", type=click.Path(path_type=Path),
              help="Folder of recorded pages (traces and scenarios.toml): also play the policies of icc2021 on "
                   "them.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every simulated world.")
def command(paper: str, out: Path | None, quick: bool, data: Path | None, seed: int) -> None:
    """Reproduce a PAPER, or all of them: every number and figure, published beside measured.

    PAPER is the key of a paper, such as tcns2018, or "all".
    """
    from recrawl.cli.console import console, progress_shown, show_table
    from recrawl.errors import require
    from recrawl.papers import registry
    from recrawl.papers.claims import brief_claims
    from recrawl.papers.reproduction import write
    from recrawl.papers.results import brief_table
    from recrawl.report.output_folder import prepare

    papers = registry.chosen(paper)
    out = out or (OUT if paper == registry.EVERYTHING else OUT / paper)
    needed = {"matplotlib": "drawing the figures", "jinja2": "writing the report", "scipy": "reproducing papers"}
    for module, feature in needed.items():
        require(module, feature, "lab")  # before work of minutes, not after it
    recordings = registry.read_recordings(papers, data) if data is not None else None
    prepare(out, others=[other for other in registry.PAPERS if other not in papers])
    options = f"{' --quick' if quick else ''}{' --data DIR' if data is not None else ''} --seed {seed}"
    found: list[Reproduction] = []
    with progress_shown() as progress:
        try:
            found.extend(registry.reproduce(name, quick, seed, progress, recordings) for name in papers)
        finally:  # what is done is worth minutes, whatever ends the rest
            if found:
                progress("writing the report", 0.0)
                path = write(found, out, how=f"recrawl reproduce {paper}{options}")
                progress("writing the report", 1.0)
                if len(found) < len(papers):
                    click.echo(f"only {', '.join(each.paper for each in found)} finished: {path}", err=True)
    screen = console()
    for each in found:
        show_table(brief_table(each.results, caption=each.title), screen)
        if each.claims:
            show_table(brief_claims(each.claims, caption="What it says in words"), screen)
        screen.print(each.lead)
    screen.print(f"report: {path}", soft_wrap=True)
