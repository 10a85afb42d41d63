"""`recrawl config`: the settings in force."""

from __future__ import annotations

from typing import Any

import click

from recrawl.cli.options import config_option, json_option, settings


@click.command(name="config", short_help="Print the settings in force, as a commented file.")
@click.option("--show-secrets", is_flag=True, help="Also print possible secrets, to keep them in a file.")
@json_option
@config_option
def command(show_secrets: bool, as_json: bool) -> None:
    """Print the settings in force as a complete, commented `recrawl.toml`; all defaults if there is no file.

    Passwords, the paths of webhook and proxy, addresses of notifications and the arguments of a command are hidden
    behind an ellipsis.
    """
    import msgspec

    from recrawl.config.secret import shown

    config = msgspec.to_builtins(settings()) if show_secrets else shown(settings())
    if as_json:
        from recrawl.cli.tables import write_json

        write_json(config)
    else:
        click.echo(as_toml(config), nl=False)


def as_toml(config: dict[str, Any]) -> str:
    """The settings as TOML, each under what it is for; of tags and notifications, what is said."""
    named = ("notify", "tags")
    tables = {name: value for name, value in config.items() if isinstance(value, dict) and name not in named}
    text = _pairs({name: value for name, value in config.items() if not isinstance(value, dict)}, "")
    for name, pairs in tables.items():
        text += f"\n[{name}]\n{_pairs(pairs, f'{name}.')}"
    for table in named:
        for name, pairs in config.get(table, {}).items():
            text += f"\n[{table}.{_value(name)}]\n{_pairs(pairs, f'{table}.NAME.')}"
    return text


def _pairs(pairs: dict[str, Any], table: str) -> str:
    from recrawl.config.setting_descriptions import WORDS

    return "".join(f"# {WORDS[table + name]}\n{name} = {_value(value)}\n" for name, value in pairs.items())


def _value(value: Any) -> str:
    """A JSON value of these kinds is a TOML value, but for one character."""
    import msgspec

    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
