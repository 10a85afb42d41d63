"""The pages of the documentation that the code writes itself: a hook of mkdocs, which asks for them when it builds.

They are not kept: what the code says is told once. What is written by hand (docs/commands.md, docs/settings.md,
docs/api.md) says what things are for; these pages list all there is.
"""

from __future__ import annotations

import inspect
import re
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import click

import recrawl
from recrawl import cli

SHIM = "https://unpkg.com/iframe-worker/shim"
PLAIN = "The Python extras, and what only some of them bring, are not in this list."


def on_config(config: Any) -> Any:
    """Called by mkdocs first: all design notes are in the navigation, and what nobody gave a place is at its end."""
    folder = Path(config.docs_dir)
    written = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.md"))
    placed = set(_places(config.nav))
    rest = [page for page in written if page not in placed]
    config.nav[-1]["Explanation"][-1]["Design"] = [page for page in rest if page.startswith("design/")]
    if more := [page for page in rest if not page.startswith("design/")]:
        config.nav.append({"More": more})
    return config


def _places(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for each in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _places(each)


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs when it has found the files: put ours with them."""
    from mkdocs.structure.files import File

    for name, write in PAGES.items():
        files.append(File.generated(config, f"{name}.md", content=write()))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Called by mkdocs with a finished page: the one script that it would load from elsewhere is one of ours."""
    from mkdocs.utils import get_relative_url

    return output.replace(SHIM, get_relative_url("assets/file-search.js", page.url))


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """The same of the page that says that there is no such page."""
    return output.replace(SHIM, "/assets/file-search.js")


def commands() -> str:
    """Every command with its help, as `--help` prints it."""
    parts = ["# Commands, in full\n", "What `recrawl COMMAND --help` prints, of every command.\n"]
    for name in cli.COMMANDS:
        command = import_module(cli.COMMANDS[name][0]).command
        for path, each in _with_parts(("recrawl", name), command):
            parts.append(f"## `{' '.join(path)}`\n\n```text\n{_help(path, each)}\n```\n")
    return "\n".join(parts)


def _with_parts(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            assert part is not None
            yield from _with_parts((*path, name), part)


def _help(path: tuple[str, ...], command: click.Command) -> str:
    parent = click.Context(cli.recrawl, info_name=" ".join(path[:-1]), **cli.recrawl.context_settings)
    context = click.Context(command, parent=parent, info_name=path[-1], max_content_width=88, terminal_width=88)
    return command.get_help(context)


def settings() -> str:
    """All settings with what they are for and their defaults."""
    import msgspec

    from recrawl.cli.config import as_toml
    from recrawl.config import Config

    text = as_toml(msgspec.to_builtins(Config()))
    return (
        "# recrawl.toml, in full\n\nEvery setting with its default, as `recrawl config` prints it where there is no "
        f"file. [Settings](../settings.md) says more.\n\n```toml\n{text}```\n"
    )


def _app() -> tuple[Any, Callable[[], None]]:
    from recrawl.clock import SystemClock
    from recrawl.config import Config
    from recrawl.store.opening import open_store
    from recrawl.web.app import make_app

    folder = tempfile.TemporaryDirectory()
    store = open_store(str(Path(folder.name) / "empty.db"))

    def end() -> None:
        store.close()
        folder.cleanup()

    return make_app(store, Config(), SystemClock()), end


def api() -> str:
    """Every path of the API with its parameters, from its own contract."""
    app, end = _app()
    contract = app.openapi()
    end()
    parts = ["# The API, in full\n", "From `/api/v1/openapi.json`. [The API in words](../api.md) says how to use it.\n"]
    for path, methods in sorted(contract["paths"].items()):
        for method, said in methods.items():
            parts.append(f"## `{method.upper()} {path}`\n\n{said.get('description') or said.get('summary', '')}\n")
            rows = [_row(each) for each in said.get("parameters", [])]
            if rows:
                parts.append("| parameter | in | type | |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(parameter: dict[str, Any]) -> str:
    schema = parameter.get("schema", {})
    kinds = [schema, *schema.get("anyOf", [])]
    kind = " or ".join(each["type"] for each in kinds if each.get("type", "null") != "null") or "text"
    bounds = [
        f"{word} {each[key]}" for each in kinds for key, word in (("minimum", "≥"), ("maximum", "≤")) if key in each
    ]
    choice = [" ".join(f"`{value}`" for value in each["enum"]) for each in kinds if "enum" in each]
    needed = ["required"] if parameter.get("required") else []
    described = parameter.get("description", schema.get("description", ""))
    words = ", ".join([*needed, *bounds, *choice]) + (f". {described}" if described else "")
    return f"| `{parameter['name']}` | {parameter['in']} | {kind} | {words.strip('. ')} |"


def metrics() -> str:
    """Every metric with its type and words, as the program exposes it."""
    lines = [
        "# Metrics, in full\n",
        "What `/metrics` exposes; [monitoring](../monitoring.md) says what to watch. Those of a fleet appear once "
        "there was one.\n",
        "| name | type | is |",
        "| --- | --- | --- |",
    ]
    lines += [f"| `{name}` | {kind} | {words} |" for name, kind, words in sorted(all_metrics())]
    return "\n".join(lines) + "\n"


def all_metrics() -> list[tuple[str, str, str]]:
    """Names, types and words of all metrics: those of an empty store, and those of a fleet."""
    from prometheus_client.parser import text_string_to_metric_families

    from recrawl.web import metrics as ours

    app, end = _app()
    families = list(text_string_to_metric_families(ours.Measures(app.state.context).text().decode()))
    end()
    found = {
        (each.name + ("_total" if each.type == "counter" else ""), each.type, each.documentation) for each in families
    }
    source = inspect.getsource(ours)
    fleet = re.findall(r'"(recrawl_\w+)",\s*"([^"]+)"', source)
    known = {name for name, _, _ in found} | {name.removesuffix("_total") for name, _, _ in found}
    return [*found, *((name, "gauge", words) for name, words in set(fleet) if name not in known)]


def python() -> str:
    """Every public name with its signature and what it says of itself."""
    parts = ["# Python, in full\n", "[Your own fetcher](../python.md) shows how the parts go together.\n"]
    for name in sorted(recrawl.__all__, key=str.lower):
        thing = getattr(recrawl, name)
        if inspect.ismodule(thing):
            parts.append(f"## `recrawl.{name}`\n\n{_words(thing, first=True)}\n")
            continue
        parts.append(f"## `{name}`\n\n```text\n{_signature(name, thing)}\n```\n\n{_words(thing)}\n")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            parts += [f"### `{name}.{each}`\n\n```text\n{_signature(each, method)}\n```\n\n{_words(method)}\n"
                      for each, method in _methods(thing)]  # fmt: skip
    return "\n".join(parts)


def _methods(thing: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(thing).items():
        if not name.startswith("_") and callable(getattr(thing, name)) and inspect.getdoc(getattr(thing, name)):
            yield name, member.__func__ if isinstance(member, classmethod | staticmethod) else member


def _signature(name: str, thing: Any) -> str:
    try:
        return f"{name}{inspect.signature(thing)}"
    except (TypeError, ValueError):
        return name


def _words(thing: Any, *, first: bool = False) -> str:
    """Of a docstring, as text: it is written for `help()`, not for Markdown."""
    text = inspect.getdoc(thing) or ""
    return f"```text\n{text.partition(chr(10))[0] if first else text}\n```" if text else ""


def licences() -> str:
    """The parts that a plain installation brings along, with their licences."""
    lines = ["# Licences\n", "recrawl is under the Apache License 2.0. A plain installation brings these along:\n",
             "| part | version | licence |", "| --- | --- | --- |"]  # fmt: skip
    lines += [f"| {name} | {version} | {licence} |" for name, version, licence in parts_of("recrawl")]
    return "\n".join(lines) + f"\n\n{PLAIN} A release's `sbom.json` says the same to programs.\n"


def parts_of(name: str) -> list[tuple[str, str, str]]:
    """What is installed of all that a distribution needs, directly or not: name, version, licence."""
    from packaging.requirements import Requirement

    found: dict[str, tuple[str, str, str]] = {}
    ahead = [name]
    while ahead:
        for line in metadata.distribution(ahead.pop()).requires or []:
            needed = Requirement(line)
            if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
                continue
            key = needed.name.lower().replace("_", "-")
            if key not in found:
                found[key] = (needed.name, metadata.version(needed.name), licence_of(needed.name))
                ahead.append(needed.name)
    return [found[key] for key in sorted(found)]


def licence_of(name: str) -> str:
    """What a distribution says of its licence, in the shortest of its ways."""
    told = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return str(expression)
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or [] if line.startswith("License")]
    if classified:
        return "; ".join(classified)
    return (told.get("License") or "not said").strip().partition("\n")[0]


def walk() -> str:
    """The tour, to read."""
    from recrawl.cli.tour import text

    return (
        "# The tour\n\nFive minutes, on a web of its own on your machine, with each command run before your eyes:\n\n"
        "```sh\nrecrawl demo --tour\n```\n\nThis is what it runs.\n\n" + "\n".join(text())
    )


PAGES = {
    "tour": walk,
    "reference/commands": commands,
    "reference/recrawl.toml": settings,
    "reference/api": api,
    "reference/metrics": metrics,
    "reference/python": python,
    "reference/licences": licences,
}
