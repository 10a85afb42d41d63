"""What the README and the documentation show runs as shown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

import recrawl
from recrawl import cli
from recrawl.cli import tour
from recrawl.config.loading import load
from recrawl.synthweb.process import Served, running
from shown_commands import unknown

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, PYTHON = ROOT / "README.md", DOCS / "python.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md",
         *(page for page in sorted(DOCS.rglob("*.md")) if "design" not in page.parts)]  # fmt: skip
ELSEWHERE = {"environments.md", "errata.md"}
"""Their examples have tests of their own: tests/unit/sim/test_environments.py, tests/papers/test_errata.py."""
TRACES = {"replay.md"}
"""Its TOML is a file of scenarios, not of settings."""
WALKED = ["index.md", "howto/reader.md", "howto/watcher.md"]
"""Pages whose commands are run one after the other, on a web of our own."""
NOT_HERE = {
    "docker": "tests/container runs what the image is for",
    "make": "the Makefile is what runs this",
    "pip": "tests/release installs the wheel into an empty environment",
    "python3": "the same",
    "promtool": "tests/docs/test_monitoring.py",
    "cp": "of a file to its place",
    "export": "of a secret",
    "jq": "reads JSON of its input",
    "rm": "of what was installed",
    "chgrp": "of a store of another user",
    "curl": "tests/web asks the API",
    "python": "benchmarks and scripts have tests of their own",
    "createdb": "tests/postgres.py makes databases",
    "pg_dump": "tests/integration/test_backup.py",
    "pg_restore": "the same",
    "pg_basebackup": "PostgreSQL's own",
    "ray": "fleets are tested by tests/integration/test_fleet.py",
    "kubectl": "no Kubernetes is to be had for tests",
    "systemctl": "no systemd runs where the tests do; tests/docs/test_units.py looks at the units",
    "install": "of a file to its place",
    "useradd": "needs to be root",
}


class Block(NamedTuple):
    """A fenced block of a page."""

    page: Path
    kind: str
    text: str


def blocks(kind: str, pages: list[Path] = PAGES) -> list[Block]:
    found = []
    for page in pages:
        fenced = re.findall(rf"^( *)```{kind}\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.DOTALL | re.M)
        found += [Block(page, kind, re.sub(rf"^{indent}", "", text, flags=re.M)) for indent, text in fenced]
    return found


def named(block: Block) -> str:
    return str(block.page.relative_to(ROOT))


def python_pages() -> list[Path]:
    return [page for page in dict.fromkeys(block.page for block in blocks("python")) if page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", python_pages(), ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a line that shows one call closes nothing
def test_the_python_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not run raises."""
    monkeypatch.chdir(tmp_path)  # some of them make a store
    names: dict[str, object] = {"__name__": "shown", "recrawl": recrawl}
    for block in blocks("python", [page]):
        exec(compile(block.text, str(page), "exec"), names)


def test_the_pages_that_should_have_examples_have_them() -> None:
    assert len(blocks("python", [README])) >= 3
    assert len(blocks("python", [PYTHON])) >= 6


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_it_points_to_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    made = ("reference/", "tour.md")  # by the code, when the site is built
    missing = [each for each in targets if not (page.parent / each).exists() and not any(m in each for m in made)]
    assert missing == []


@pytest.mark.parametrize("block", [b for b in blocks("toml") if b.page.name not in TRACES], ids=named)
def test_settings_that_are_shown_are_settings(block: Block, tmp_path: Path) -> None:
    """Others are refused."""
    (tmp_path / "recrawl.toml").write_text(block.text)
    load(tmp_path / "recrawl.toml")


@pytest.mark.parametrize("block", blocks("json"), ids=named)
def test_json_that_is_shown_is_json(block: Block) -> None:
    """Anything else raises."""
    for line in filter(None, block.text.split("\n\n")):
        msgspec.json.decode(line)


def lines(block: Block) -> Iterator[str]:
    """The commands of a block for a shell, without what they print, and without the contents of here-documents."""
    ending = None
    for line in block.text.replace("\\\n", " ").splitlines():
        if ending is not None:
            ending = None if line.strip() == ending else ending
            continue
        if block.kind == "sh" or line.startswith("$ "):
            if begun := re.search(r"<<'?(\w+)'?", line):
                ending = begun[1]
            yield line.removeprefix("$ ")


def commands(line: str) -> Iterator[list[str]]:
    """The commands of a line, in words, without where their output goes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, found, skip = True, [], False
    try:
        for word in [*lexer, ";"]:
            if word in (";", "&&", "||", "|"):
                if found:
                    yield found
                found = []
            elif set(word) <= {"<", ">"}:
                skip = True
            elif skip:
                skip = False
            elif found or not re.match(r"\w+=", word):
                found.append(word)
    except ValueError as reason:
        raise AssertionError(f"no shell takes {line!r}: {reason}") from None


SHELL = [*blocks("sh"), *blocks("console")]


@pytest.mark.parametrize("page", list(dict.fromkeys(block.page for block in SHELL)), ids=lambda page: page.name)
def test_every_command_in_a_block_is_one_that_a_test_runs(page: Path) -> None:
    known = {"recrawl", "mkdir", "cat", "cd", ".", "echo", *NOT_HERE}
    of_page = [block for block in SHELL if block.page == page]
    shown = [each[0] for block in of_page for line in lines(block) for each in commands(line)]
    assert {Path(each).name or each for each in shown} <= known


def written(page: Path) -> Iterator[list[str]]:
    """Every command line of recrawl on a page, in blocks and in the text."""
    shown = [line for block in SHELL if block.page == page for line in lines(block)]
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    shown += [code.replace("\\|", "/") for code in re.findall(r"`(recrawl [^`<]+)`", text)]
    for line in shown:
        for found in commands(line):
            if found[0] in ("recrawl", "docker") and "recrawl" in found:
                yield found[found.index("recrawl") + 1 :]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_is_named_is_there_with_its_options(page: Path) -> None:
    wrong = [" ".join(each) for each in written(page) if unknown(each)]
    assert wrong == []


def test_the_tour_names_commands_that_are_there() -> None:
    assert [step.command for step in tour.STEPS if unknown(step.command.split())] == []


@pytest.fixture(scope="module")
def web() -> Iterator[Served]:
    with running("--sources", 24, "--hosts", 4, "--mix", "mixed", "--speed", 600) as served:
        yield served


@pytest.mark.parametrize("name", WALKED)
def test_the_commands_of_a_page_run_one_after_the_other(
    name: str, web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, with addresses of a web of our own in place of the examples, and a shorter run."""
    settings = tmp_path / "recrawl.toml"
    settings.write_text(tour.SETTINGS)
    monkeypatch.setenv("RECRAWL_CONFIG", str(settings))
    monkeypatch.chdir(tmp_path)
    stands_for = examples(web)
    for block in blocks("sh", [DOCS / name]):
        text = block.text.replace("--for 10s", "--for 2s")
        for address, ours in stands_for.items():
            text = text.replace(address, ours)
        for line in carried_out(text, monkeypatch):
            assert cli.run(line) == 0, f"recrawl {' '.join(line)}: {capsys.readouterr().err}"


def examples(web: Served) -> dict[str, str]:
    urls = web.urls()
    first = {
        kind: next(url for url in urls if url.endswith(f"{kind}")) for kind in ("rss.xml", "page.html", "sitemap.xml")
    }
    return {
        "https://example.org/feed.xml": first["rss.xml"],
        "https://example.net/blog/": next(url for url in urls if "atom" in url),
        "https://example.org/page": first["page.html"],
        "https://example.net/sitemap.xml": first["sitemap.xml"],
    }


def carried_out(text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The calls of recrawl in a block; files and folders it makes are made on the way."""
    rest = iter(text.splitlines())
    for line in rest:
        if begun := re.fullmatch(r"cat > (\S+) <<'(\w+)'", line):
            kept = list(iter(lambda: next(rest), begun[2]))
            Path(begun[1]).write_text("\n".join(kept) + "\n")
            continue
        for found in commands(line):
            if found[0] == "mkdir":
                Path(found[1]).mkdir()
            elif found[0] == "cd":
                monkeypatch.chdir(found[1])
            else:
                assert found[0] == "recrawl", line
                yield found[1:]
