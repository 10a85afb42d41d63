"""Lists of urlwatch (`urls.yaml`): a YAML document per job, told apart from a list of addresses by its first key."""

from __future__ import annotations

import re
from typing import Any

from recrawl.crawl.catalogue.bounded_yaml import documents
from recrawl.crawl.catalogue.carried_over import CarriedOver, shortly
from recrawl.crawl.catalogue.source_lists import ListedSource

FIRST_KEYS = frozenset({
    "name", "url", "navigate", "command", "kind", "filter", "headers", "cookies", "method", "data", "max_tries",
    "timeout", "user_visible_url", "url_for_human", "enabled", "tags", "ssl_no_verify", "ignore_cached", "note",
})  # fmt: skip
NEEDLESS = frozenset({
    "html2text", "strip", "striplines", "beautify", "pdf2text", "format-json", "pretty-xml", "ical2text", "csv2text",
})  # fmt: skip
"""Filters that make text of a document or tidy it up: recrawl does so by itself."""
_MARKED = ("element-by-id", "element-by-class", "element-by-tag", "element-by-style")
_FIRST = re.compile(r"(?:-\s+)?([\w.-]+)\s*:(?:\s|$)")
_SAFE_NAME = re.compile(r"[\w-]+")


def is_urlwatch(text: str) -> bool:
    """Whether a list begins like one of urlwatch.

    >>> is_urlwatch("# mine\\n---\\nname: News\\nurl: https://a.example/"), is_urlwatch("https://a.example/")
    (True, False)
    """
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", "---", "%"))), "")
    found = _FIRST.match(first)
    return found is not None and found[1] in FIRST_KEYS


def read_urlwatch(text: str, name: str) -> list[ListedSource]:
    """The jobs of a list; one that watches no page has an address that is refused by its name."""
    jobs: list[tuple[int, Any]] = []
    for line, said in documents(text, name):
        jobs += [(line, each) for each in (said if isinstance(said, list) else [said])]
    return [_job(line, said) for line, said in jobs if said is not None]


def _job(line: int, said: Any) -> ListedSource:
    if not isinstance(said, dict):
        return ListedSource(line, "a document that is no job: a job has a url, a name, a filter …")
    rest = {key: value for key, value in said.items() if value not in (None, "", [], {})}
    address = rest.pop("url", None) or rest.get("navigate") or ""
    job = CarriedOver(line, str(address))
    if not address:
        lacks = "a shell command, which recrawl does not run"
        job.url = lacks if "command" in rest else "a job without a url"
    if rest.pop("navigate", None) or rest.pop("kind", None) == "browser" or rest.pop("use_browser", None) is True:
        job.browser()
    rest.pop("kind", None)
    job.titled(rest.pop("name", None))
    if rest.pop("enabled", True) is False:
        job.fields["state"] = "paused"
    tags = rest.pop("tags", [])
    for tag in tags if isinstance(tags, list) else str(tags).split(","):
        job.add("tags", str(tag).strip(), f"tag {shortly(tag)}")
    job.headed(rest.pop("headers", None))
    cookies = rest.pop("cookies", None)
    if isinstance(cookies, dict):
        job.headed({"Cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())}, "cookies as header")
    _filters(job, rest.pop("filter", []))
    for key in rest:
        job.leave(f"{key}" if _SAFE_NAME.fullmatch(key) else shortly(key))
    return job.done()


def _filters(job: CarriedOver, said: Any) -> None:
    """One after the other; what is picked out of what was picked out before, we cannot say."""
    filters = list(_named(said))
    picking = [(name, how) for name, how in filters if name in ("css", "xpath", *_MARKED)]
    if picking:
        _select(job, *picking[0])
    for name, how in picking[1:]:
        job.leave(f"filter {name} {shortly(_path(how))} within what another one picked")
    greps = [how for name, how in filters if name in ("grep", "keep_lines_containing")]
    if len(greps) == 1 and isinstance(_path(greps[0]), str):
        job.counted_if(f"matches {_path(greps[0])}", f"filter grep {shortly(_path(greps[0]))}")
        job.leave("that lines which grep picks may go unsaid (a change counts when such a line comes)")
    elif greps:
        job.leave(f"{len(greps)} filters grep, one after the other")
    for name, how in filters:
        _ignore(job, name, how)


def _ignore(job: CarriedOver, name: str, how: Any) -> None:
    """What takes text away; what is neither this, nor picks, nor is needless, is left behind."""
    pattern = _path(how)
    if name in ("grepi", "delete_lines_containing") and isinstance(pattern, str):
        job.ignored_lines(f"/{pattern}/")
    elif name == "re.sub" and isinstance(pattern, str) and not (isinstance(how, dict) and how.get("repl")):
        job.add("ignore_text", pattern, f"filter re.sub {shortly(pattern)}")
    elif name not in NEEDLESS and name not in ("css", "xpath", "grep", "keep_lines_containing", *_MARKED):
        job.leave(f"filter {name} {shortly(pattern)}" if pattern else f"filter {name}")


def _named(said: Any) -> Any:
    """Name and argument of each, in all the ways in which they may be written."""
    if isinstance(said, str):  # the old way: css:.price,html2text
        said = [part.strip() for part in said.split(",")]
    for each in [said] if isinstance(said, dict) else said if isinstance(said, list) else []:
        if isinstance(each, dict):
            yield from ((str(name), how) for name, how in each.items())
        elif isinstance(each, str):
            name, _, how = each.partition(":")
            yield name.strip(), how.strip() or None


def _select(job: CarriedOver, name: str, how: Any) -> None:
    path, more = _path(how), how if isinstance(how, dict) else {}
    if not isinstance(path, str):
        job.leave(f"filter {name}")
        return
    marks = {"element-by-id": f"[id={_quoted(path)}]", "element-by-class": f"[class~={_quoted(path)}]",
             "element-by-style": f"[style={_quoted(path)}]", "xpath": f"xpath:{path}"}  # fmt: skip
    job.selected([marks.get(name, path)])
    if exclude := more.get("exclude"):
        job.add("ignore", f"xpath:{exclude}" if name == "xpath" else str(exclude), f"exclude {shortly(exclude)}")
    for key in more:
        if key not in ("selector", "path", "exclude") and not (key == "method" and more[key] == "html"):
            job.leave(f"{key} of filter {name}")


def _path(how: Any) -> Any:
    """What a filter is about: said alone, or under one of its names."""
    if not isinstance(how, dict):
        return how
    return next((how[key] for key in ("selector", "path", "pattern", "re", "query", "command") if key in how), None)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
