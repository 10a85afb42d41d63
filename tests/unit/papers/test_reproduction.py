import errno
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paper_results import read_results
from recrawl import cli
from recrawl.errors import OutputError
from recrawl.papers import registry
from recrawl.papers.reproduction import Reproduction, write
from recrawl.papers.results import compare
from recrawl.report.output_folder import prepare


def found(paper: str) -> Reproduction:
    return Reproduction(paper, f"The paper {paper}", "As published.", [compare(f"{paper}/some/number", 1.0, "1")], [])


def papers_in(out: Path) -> list[str]:
    return [result.id.partition("/")[0] for result in read_results(out / "results.json")]


@pytest.fixture
def reproducing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which papers are reproduced in no time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "reproduce", lambda paper, *_: found(paper))
    return tmp_path


def test_a_folder_with_another_papers_results_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    page = write([found("icc2021")], prepare(tmp_path))
    before = page.read_bytes()
    with pytest.raises(OutputError, match="the results of icc2021 are there"):
        prepare(tmp_path, others=("allerton2019", "icc2021"))
    assert page.read_bytes() == before


def test_what_to_remember_of_each_paper_stands_at_the_top_before_every_number(tmp_path: Path) -> None:
    told = [replace(found(paper), remember=f"Of {paper} this.") for paper in ("tcns2018", "icc2021")]
    page = write(told, prepare(tmp_path)).read_text(encoding="utf-8")
    assert page.index("To remember") < page.index("Of tcns2018 this.") < page.index("Of icc2021 this.")
    assert page.index("Of icc2021 this.") < page.index("<table")


def test_the_same_papers_again_and_more_papers_replace_the_results(tmp_path: Path) -> None:
    """What is there already is no reason to refuse."""
    write([found("icc2021")], prepare(tmp_path))
    prepare(tmp_path, others=("tcns2018",))


def test_a_file_of_results_that_is_none_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("mine")
    with pytest.raises(OutputError, match=r"results\.json in it cannot be read"):
        prepare(tmp_path, others=("tcns2018",))


def test_papers_one_after_the_other_go_into_folders_of_their_own(reproducing: Path) -> None:
    for paper in ("tcns2018", "icc2021", "all", "tcns2018"):
        assert cli.run(["reproduce", paper]) == 0
    out = reproducing / "out" / "papers"
    assert papers_in(out / "tcns2018") == ["tcns2018"]
    assert papers_in(out / "icc2021") == ["icc2021"]
    assert papers_in(out) == list(registry.PAPERS)


def test_what_is_finished_is_kept_when_a_later_paper_fails(
    reproducing: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def until_the_third(paper: str, *_: object) -> Reproduction:
        if paper == list(registry.PAPERS)[2]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return found(paper)

    monkeypatch.setattr(registry, "reproduce", until_the_third)
    assert cli.run(["reproduce", "all"]) == 2
    assert papers_in(reproducing / "out" / "papers") == list(registry.PAPERS)[:2]
    said = " ".join(capsys.readouterr().err.split())
    assert "only tcns2018, allerton2019 finished: out/papers/report.html" in said
    assert "the disk is full" in said


@pytest.mark.parametrize("module", ["matplotlib", "jinja2"])
def test_an_extra_that_is_missing_is_said_before_any_work(
    module: str, reproducing: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(registry, "reproduce", lambda *_: pytest.fail("work was begun"))
    assert cli.run(["reproduce", "tcns2018", "--out", "here"]) == 2
    assert "recrawl[lab]" in capsys.readouterr().err
    assert not (reproducing / "here").exists()


def test_ctrl_c_keeps_what_is_finished_and_is_one_line(
    reproducing: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def until_the_second(paper: str, *_: object) -> Reproduction:
        if paper == list(registry.PAPERS)[1]:
            raise KeyboardInterrupt
        return found(paper)

    monkeypatch.setattr(registry, "reproduce", until_the_second)
    assert cli.run(["reproduce", "all"]) == 130
    said = capsys.readouterr().err
    assert "only tcns2018 finished" in said
    assert said.rstrip().endswith("recrawl: interrupted")
    assert papers_in(reproducing / "out" / "papers") == ["tcns2018"]


def test_two_papers_into_one_folder_are_refused_before_any_work(
    reproducing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["reproduce", "tcns2018", "--out", "here"]) == 0
    assert cli.run(["reproduce", "icc2021", "--out", "here"]) == 2
    assert "the results of tcns2018 are there" in capsys.readouterr().err
    assert papers_in(reproducing / "here") == ["tcns2018"]
    assert cli.run(["reproduce", "all", "--out", "here"]) == 0
    assert cli.run(["reproduce", "tcns2018", "--out", "here"]) == 2
