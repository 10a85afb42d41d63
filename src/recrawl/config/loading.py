"""Reading `recrawl.toml`: everything wrong with a file is one line naming file, line, setting and what was expected.

Nothing is read from the environment here; the command line says which file, and what it overrides.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from recrawl.arguments import meant
from recrawl.config.checks import NUMBERS_ALLOWED, RULES, TAG_NUMBERS_ALLOWED, check, check_named
from recrawl.config.notification_settings import Notification
from recrawl.config.secret import shown_value
from recrawl.config.settings import Config
from recrawl.config.source_options import TagSettings
from recrawl.config.toml_lines import lines_of
from recrawl.errors import ConfigError, ParameterError

DEFAULT_FILE = Path("recrawl.toml")
NAMED: Mapping[str, type[msgspec.Struct]] = {"tags": TagSettings, "notify": Notification}
"""Tables of tables, whose names are the owner's."""
TAGS = "tags."
_KINDS = {"str": "text in quotes", "int": "a whole number", "float": "a number", "bool": "true or false",
          "array": "a list in brackets", "object": "a table"}  # fmt: skip


def load(path: Path | str | None = None, overrides: Mapping[str, object] | None = None) -> Config:
    """The settings in a file, `recrawl.toml` here if none is named and there is one, with some replaced.

    Parameters
        path: a file that must exist, or None
        overrides: settings by dotted name ("budget", "fetch.parallel"), None where not given

    Relative paths in a file are relative to its folder. ConfigError names file and line; a wrong override is a
    ParameterError naming it.
    """
    file = Path(path) if path is not None else DEFAULT_FILE
    config = Config()
    if path is not None or file.exists():
        config = read(file)
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    return replaced(config, given) if given else config


def says(path: Path | str | None, name: str) -> Path | None:
    """The file that `load` would read, if it sets this (of those that stand in no table)."""
    file = Path(path) if path is not None else DEFAULT_FILE
    return file if file.exists() and name in tomllib.loads(_text(file)) else None


def read(file: Path) -> Config:
    """The settings in one file."""
    text = _text(file)
    try:
        document = tomllib.loads(text)
        lines = lines_of(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_at(file, _syntax_line(error, text), _syntax(error))) from error
    except RecursionError as error:
        raise ConfigError(f"{file}: too deeply nested") from error
    wrong = _misplaced(document)
    if wrong is not None:
        name, message = wrong
        raise ConfigError(_at(file, _line(lines, name), message))
    try:
        config = _converted(document)
        check_named(config)
    except ParameterError as error:
        raise ConfigError(_at(file, _line(lines, error.argument, error.element), str(error))) from error
    return _anchored(config, file.parent)


def replaced(config: Config, overrides: Mapping[str, object]) -> Config:
    """The same settings but for these, by dotted name."""
    document = msgspec.to_builtins(config)
    for name, value in overrides.items():
        *tables, key = name.split(".")
        place = document
        for table in tables:
            place = place[table]
        place[key] = value
    wrong = _misplaced(document)
    if wrong is not None:
        raise ParameterError(wrong[0], "a setting of docs/settings.md", "an unknown one")
    return _converted(document)


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(_at(file, line, f"not UTF-8 text (byte 0x{data[error.start]:02x})")) from error


def _syntax(error: tomllib.TOMLDecodeError) -> str:
    message = str(error).rsplit(" (at ", 1)[0]
    return f"not TOML: {message[:1].lower()}{message[1:]}"


def _syntax_line(error: tomllib.TOMLDecodeError, text: str) -> int:
    found = re.search(r"\(at line (\d+)", str(error))
    return int(found[1]) if found else max(1, text.rstrip("\n").count("\n") + 1)


def _at(file: Path, line: int | None, message: str) -> str:
    plain = "".join(letter if letter.isprintable() else "?" for letter in message)
    return f"{file}: {plain}" if line is None else f"{file}, line {line}: {plain}"


def _line(lines: Mapping[tuple[str | int, ...], int], name: str, element: tuple[int, ...] | None = None) -> int | None:
    """Of a setting, or of the nearest thing around it that is written in the file."""
    path: tuple[str | int, ...] = (*_steps(name), *(element or ()))
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _steps(name: str) -> list[str]:
    """The tables and the key in a dotted name; that of a tag may have dots itself."""
    table, dot, rest = name.partition(".")
    if not dot or table not in NAMED:
        return name.split(".")
    named, _, key = rest.rpartition(".")
    return [table, named, key] if named else [table, key]


def _misplaced(
    document: Mapping[str, Any], struct: type[msgspec.Struct] = Config, table: str = ""
) -> tuple[str, str] | None:
    """The first key nobody knows, and what to say about it."""
    known = _types(struct)
    for key, value in document.items():
        name = table + key
        if key not in known:
            return name, f"unknown setting {name}{_meant(key, table, list(known))}"
        inner = known[key]
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            wrong = _misplaced(value, inner, f"{name}.")
            if wrong is not None:
                return wrong
        elif name in NAMED and isinstance(value, dict):
            for named, said in value.items():
                wrong = _misplaced(said, NAMED[name], f"{name}.{named}.") if isinstance(said, dict) else None
                if wrong is not None:
                    return wrong
    return None


def _meant(key: str, table: str, here: list[str]) -> str:
    """A guess: a similar name here, or the same name in another table."""
    from recrawl.config.setting_descriptions import WORDS

    elsewhere = [name for name in WORDS if name.rpartition(".")[2] == key.rpartition(".")[2]]
    close = [table + near for near in get_close_matches(key.lower().replace("-", "_"), here, n=1)]
    anywhere = get_close_matches((table + key).lower().replace("-", "_"), list(WORDS), n=1)
    guesses = elsewhere or close or anywhere
    return f" (did you mean {guesses[0]}?)" if guesses else f"; known here: {', '.join(here)}"


def _converted(document: dict[str, Any]) -> Config:
    """As structs, numbers taken where text with a unit is expected, everything checked; ParameterError names it."""
    written = _numbers_as_text(document)
    tables = {table: written.pop(table, {}) for table in NAMED}
    for table, named in tables.items():
        if not isinstance(named, dict):
            raise ParameterError(table, "a table", shown_value(table, named))
    try:
        config = msgspec.convert(written, Config)
    except msgspec.ValidationError as error:
        raise _mistyped(error, written) from error
    read = {table: {name: _named(table, name, said) for name, said in tables[table].items()} for table in NAMED}
    config = msgspec.structs.replace(config, **read)
    check(config)
    return config


def _named(table: str, name: str, said: Any) -> msgspec.Struct:
    """What is said in one of `NAMED`: by itself, for an error within a table of tables would not name it."""
    if not isinstance(said, dict):
        raise ParameterError(f"{table}.{name}", "a table", _shown(f"{table}.{name}", said))
    try:
        return msgspec.convert(said, NAMED[table])
    except msgspec.ValidationError as error:
        raise _mistyped(error, said, NAMED[table], f"{table}.{name}.") from error


def _numbers_as_text(document: dict[str, Any], table: str = "") -> dict[str, Any]:
    """A bare number is seconds, bytes or per second, as everywhere on the command line."""
    out: dict[str, Any] = {}
    for key, value in document.items():
        if isinstance(value, dict):
            out[key] = _numbers_as_text(value, f"{table}{key}.")
        elif _may_be_a_number(table, key) and isinstance(value, (int, float)) and not isinstance(value, bool):
            out[key] = str(value)
        else:
            out[key] = value
    return out


def _may_be_a_number(table: str, key: str) -> bool:
    return table + key in NUMBERS_ALLOWED or (table.startswith(TAGS) and key in TAG_NUMBERS_ALLOWED)


def _mistyped(
    error: msgspec.ValidationError, document: Any, struct: type[msgspec.Struct] = Config, table: str = ""
) -> ParameterError:
    """What msgspec says, in the words of a settings file."""
    message, _, path = str(error).partition(" - at `$")
    steps = [int(index) if index else name for name, index in re.findall(r"\.([\w-]+)|\[(\d+)\]", path)]
    got = document
    for step in steps:
        got = got[step]
    element = tuple(step for step in steps if isinstance(step, int))
    name = ".".join(step for step in steps if isinstance(step, str))
    expected = re.match(r"Expected `([^`]*)`", message)
    kind = expected[1].partition(" | ")[0] if expected else ""
    if not table and name in (*NUMBERS_ALLOWED, "policy"):
        try:
            RULES[name](name, got)
        except ParameterError as better:
            return better
    choices = _choices(struct, name)
    wanted = f"one of {', '.join(choices)}" if choices else _KINDS.get(kind, "of another kind")
    return ParameterError(table + name, wanted, _shown(table + name, got) + meant(got, choices), element or None)


def _choices(struct: Any, name: str) -> list[str]:
    """The values a setting of words may have; none for others."""
    from typing import Literal, get_args, get_origin

    *tables, key = name.split(".")
    for table in tables:
        struct = _types(struct)[table]
    annotation = _types(struct)[key]
    for kind in (annotation, *get_args(annotation)):
        if get_origin(kind) is Literal:
            return [str(choice) for choice in get_args(kind)]
    return []


def _types(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(struct)}


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = shown_value(name, value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _anchored(config: Config, folder: Path) -> Config:
    """Paths in a file made relative to the folder it is in."""
    from msgspec.structs import replace

    events = config.outlets.events
    if events not in ("", "-"):
        config = replace(config, outlets=replace(config.outlets, events=str(folder / events)))
    return config if "://" in config.store else replace(config, store=str(folder / config.store))
