import subprocess
import sys

import click
import pytest

import recrawl
from recrawl import cli
from recrawl.errors import MissingExtraError, ParameterError


def failing_with(error, monkeypatch):
    @click.command(name="fail")
    def command():
        raise error

    monkeypatch.setattr(cli.Commands, "get_command", lambda self, ctx, name: command)


def test_version_is_that_of_the_package(capsys):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"recrawl {recrawl.__version__}\n"


def test_help_lists_every_command(capsys):
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name, capsys):
    assert cli.run([name, "--help"]) == 0
    assert name in capsys.readouterr().out


def test_a_mistake_is_one_line_and_status_2(monkeypatch, capsys):
    failing_with(ParameterError("budget", "> 0", -1), monkeypatch)
    assert cli.run(["fail"]) == 2
    assert capsys.readouterr().err == "recrawl: budget must be > 0, got -1\n"


def test_an_error_over_several_lines_is_still_one_line(monkeypatch, capsys):
    failing_with(recrawl.errors.RecrawlError("first\n   second"), monkeypatch)
    assert cli.run(["fail"]) == 2
    assert capsys.readouterr().err == "recrawl: first second\n"


def test_a_missing_extra_says_what_to_install(monkeypatch, capsys):
    failing_with(MissingExtraError("drawing figures", "lab"), monkeypatch)
    assert cli.run(["fail"]) == 2
    assert "pip install 'recrawl[lab]'" in capsys.readouterr().err


def test_interruption_is_a_message_and_status_130(monkeypatch, capsys):
    failing_with(KeyboardInterrupt(), monkeypatch)
    assert cli.run(["fail"]) == 130
    assert capsys.readouterr().err.strip() == "recrawl: interrupted"


def test_a_bug_is_not_hidden(monkeypatch):
    failing_with(ZeroDivisionError("bug"), monkeypatch)
    with pytest.raises(ZeroDivisionError):
        cli.run(["fail"])


def test_an_unknown_command_or_option_is_a_usage_error(capsys):
    assert cli.run(["nonsense"]) == 2
    assert cli.run(["reproduce", "--nonsense"]) == 2
    assert "No such" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["rnu"], "'run'"),
        (["Status"], "'status'"),
        (["source"], "'sources'"),
        (["store", "cpy", "a", "b"], "'copy'"),
        (["run", "--budjet", "60/min"], "'--budget'"),
        (["--confg", "x.toml", "run"], "'--config'"),
    ],
)
def test_a_misspelt_command_or_option_is_answered_with_the_nearest(typed, meant, capsys):
    assert cli.run(typed) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("No such") == complaint.count("Did you mean") == 1
    assert meant in complaint.partition("Did you mean")[2]


def test_a_command_like_no_other_is_answered_without_a_guess(capsys):
    assert cli.run(["xyzzy"]) == 2
    assert "No such command 'xyzzy'.\n" in capsys.readouterr().err


def test_showing_help_imports_nothing_heavy():
    program = (
        "import sys\n"
        "from recrawl.cli import run\n"
        "run(['--help'])\n"
        "heavy = {'numpy', 'numba', 'scipy', 'rich', 'matplotlib', 'jinja2', 'msgspec'} & set(sys.modules)\n"
        "sys.exit(str(sorted(heavy)) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
