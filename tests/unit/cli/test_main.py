import subprocess
import sys
from importlib import import_module

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
    out = " ".join(capsys.readouterr().out.split())
    assert all(f" {name} {sentence}" in out for name, (_, sentence) in cli.COMMANDS.items())


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_list_of_commands_says_what_the_help_of_each_begins_with(name):
    home, sentence = cli.COMMANDS[name]
    assert import_module(home).command.get_short_help_str(limit=1000) == sentence


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


OURS_FOR_HELP = {
    "recrawl", "recrawl.arguments", "recrawl.cli", "recrawl.cli.options", "recrawl.cli.suggestions",
    "recrawl.compiled_code", "recrawl.errors", "recrawl.logs", "recrawl.redaction",
}  # fmt: skip
HEAVY = {
    "aiohttp", "asyncio", "difflib", "fastapi", "jinja2", "lxml", "matplotlib", "msgspec", "numba", "numpy", "rich",
    "scipy", "sqlite3", "ssl", "structlog",
}  # fmt: skip


def loaded_by(program):
    """The names of the modules that a process has at its end."""
    program = f"{program}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_showing_help_loads_no_command_and_nothing_heavy():
    loaded = loaded_by("from recrawl.cli import run; run(['--help'])")
    assert {name for name in loaded if name.startswith("recrawl")} <= OURS_FOR_HELP
    assert loaded & HEAVY == set()


def test_the_help_of_a_command_loads_that_command_and_nothing_heavy():
    program = "from recrawl.cli import COMMANDS, run\nfor name in COMMANDS: run([name, '--help'])"
    loaded = loaded_by(program)
    assert {name for name in loaded if name.startswith("recrawl")} <= OURS_FOR_HELP | {
        name for name in loaded if name.startswith("recrawl.cli.")
    }
    assert loaded & HEAVY == set()
