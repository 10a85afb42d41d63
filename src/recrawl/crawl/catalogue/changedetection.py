"""Backups of changedetection.io: a zip with `url-watches.json`, or with a folder per watch and per tag in newer ones.

The same JSON alone, unpacked, will do. Old states of the pages stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recrawl.config.page_secrets import MARK
from recrawl.crawl.catalogue.bounded_zip import unpacked
from recrawl.crawl.catalogue.carried_over import CarriedOver, shortly, slashed, xpath_or_css
from recrawl.crawl.catalogue.source_lists import CHANGEDETECTION, ListedSource, Listing
from recrawl.errors import ParameterError

LARGEST_JSON = 64 * 2**20
UNITS = {"weeks": "w", "days": "d", "hours": "h", "minutes": "m", "seconds": "s"}
SYSTEM, PLAIN = "system", "html_requests"
"""Fetched as the settings say, and without a browser."""
_HANDLED = frozenset({
    "url", "title", "tag", "tags", "paused", "time_between_check", "time_between_check_use_default", "include_filters",
    "css_filter", "subtractive_selectors", "ignore_text", "trigger_text", "headers", "fetch_backend", "processor",
    "notification_urls", "notification_muted", "restock_settings", "method", "time_schedule_limit", "uuid",
    "browser_steps",
})  # fmt: skip
_OWN_RECORD = frozenset({
    "check_count", "consecutive_filter_failures", "content-type", "content_type", "date_created", "fetch_time",
    "filter_failure_notification_send", "has_ldjson_price_data", "history", "history_n", "last_changed", "last_checked",
    "last_error", "last_notification_error", "last_viewed", "newest_history_key", "notification_alert_count",
    "page_title", "previous_md5", "previous_md5_before_filters", "remote_server_reply", "restock", "viewed",
    "browser_steps_last_error_step", "track_ldjson_price_data", "use_page_title_in_list", "extra_title", "name",
    "favicon", "snapshot_text_extracted", "last_check_status", "conditions_match_logic", "history_snapshot_max_length",
    "notification_format", "processor_config_restock_diff", "trim_text_whitespace", "strip_ignored_lines",
})  # fmt: skip
"""What it notes for itself, or what has no counterpart because recrawl always does so."""
_USUAL: Mapping[str, Any] = {
    "filter_text_added": True, "filter_text_removed": True, "filter_text_replaced": True, "follow_price_changes": True,
    "in_stock_only": True, "method": "GET",
}  # fmt: skip


class Backup(msgspec.Struct):
    """What is read of one: watches by their ids, titles of tags by theirs, and the settings of the whole."""

    watches: dict[str, dict[str, Any]]
    tags: dict[str, dict[str, Any]]
    settings: dict[str, Any]


def read_zip(data: bytes, name: str) -> Listing:
    """The watches of a backup."""
    return _carried(_backup(unpacked(data, _is_wanted, name), name))


def read_json(data: bytes, name: str) -> Listing:
    """The watches of an `url-watches.json`."""
    return _carried(_of_old(_decoded(data, name)))


def _is_wanted(path: str) -> bool:
    folder, _, file = path.rpartition("/")
    if file in ("watch.json", "tag.json"):
        return bool(folder) and "/" not in folder
    return not folder and file in ("url-watches.json", "changedetection.json")


def _backup(files: Mapping[str, bytes], name: str) -> Backup:
    if not files:
        expected = "a backup of changedetection.io, with url-watches.json or a folder per watch in it"
        raise ParameterError(name, expected, "another zip file: unpack it first")
    main = "url-watches.json" if files.get("url-watches.json") else "changedetection.json"
    whole = _of_old(_decoded(files.get(main) or b"{}", f"{main} in {name}"))
    for path, content in files.items():
        folder, _, file = path.rpartition("/")
        if folder:
            into = whole.watches if file == "watch.json" else whole.tags
            into[folder] = _of_one(content, path)
    return whole


def _of_one(content: bytes, path: str) -> dict[str, Any]:
    """A watch or a tag; one that cannot be read costs no other, and has an address that is refused by its name."""
    try:
        return _decoded(content, path)
    except ParameterError:
        return {"url": f"{shortly(path)[1:-1]}, which is no JSON of changedetection.io"}


def _decoded(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > LARGEST_JSON:
        raise ParameterError(name, f"at most {LARGEST_JSON // 2**20} MiB of JSON", f"{len(data):,} bytes")
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ParameterError(name, "JSON of changedetection.io", "something else") from error


def _of_old(said: dict[str, Any]) -> Backup:
    settings = _table(said, "settings")
    application = _table(settings, "application")
    tags = {id: each for id, each in _table(application, "tags").items() if isinstance(each, dict)}
    watches = {id: each for id, each in _table(said, "watching").items() if isinstance(each, dict)}
    return Backup(watches, tags, {**_table(settings, "requests"), **application})


def _carried(backup: Backup) -> Listing:
    entries = [_watch(number, said, backup) for number, said in enumerate(backup.watches.values(), 1)]
    return Listing(
        entries, notify_urls=tuple(_texts(backup.settings.get("notification_urls"))), watcher=CHANGEDETECTION
    )


def _watch(number: int, said: dict[str, Any], backup: Backup) -> ListedSource:
    url = said.get("url")
    watch = CarriedOver(number, url.strip() if isinstance(url, str) else "")
    if watch.url.startswith("source:"):
        watch.url = watch.url.removeprefix("source:").strip()
        watch.give("digest", "raw", "that its source is compared")
    if "{{" in watch.url or "{%" in watch.url:
        watch.leave("what its address computes")
    watch.titled(said.get("title") or said.get("page_title"))
    if said.get("paused") is True:
        watch.fields["state"] = "paused"
    _tags(watch, said, backup)
    _when_fetched(watch, said)
    _how_fetched(watch, said, backup)
    _what_counts(watch, said)
    if said.get("processor") == "restock_diff":
        _price(watch, _table(said, "restock_settings"))
    elif said.get("processor") not in (None, "", "text_json_diff"):
        watch.leave(f"processor {shortly(said['processor'])}")
    if said.get("notification_muted") is True:
        watch.give("notify", False, "that it is muted")
    own = _texts(said.get("notification_urls"))
    watch.notify_urls = tuple(own) if own else watch.notify_urls
    for key, value in said.items():
        if key not in _HANDLED and key not in _OWN_RECORD and value not in _nothing(key):
            watch.leave(shortly(key)[1:-1])
    return watch.done()


def _tags(watch: CarriedOver, said: dict[str, Any], backup: Backup) -> None:
    names = [each for part in _texts(said.get("tag")) for each in part.split(",")]
    for id in _texts(said.get("tags")):
        tag = backup.tags.get(id, {})
        names.append(str(tag.get("title") or ""))
        if any(tag.get(key) for key in ("include_filters", "subtractive_selectors", "ignore_text", "trigger_text")):
            watch.leave(f"filters of its tag {shortly(tag.get('title'))} (say them in [tags.NAME] of recrawl.toml)")
        watch.notify_urls += tuple(_texts(tag.get("notification_urls")))
    for name in dict.fromkeys(each.strip() for each in names if each.strip()):
        watch.add("tags", name, f"tag {shortly(name)}")


def _when_fetched(watch: CarriedOver, said: dict[str, Any]) -> None:
    """An interval of its own was somebody's word, and stays; the usual one becomes the budget's affair."""
    parts = _table(said, "time_between_check")
    written = "".join(f"{parts[unit]}{letter}" for unit, letter in UNITS.items() if parts.get(unit))
    if written and said.get("time_between_check_use_default") is False:
        watch.give("interval", written, f"interval {shortly(written)}")
    schedule = _table(said, "time_schedule_limit")
    if schedule.get("enabled") is True:
        watch.leave("the hours in which it may be fetched (--active-hours says them)")


def _how_fetched(watch: CarriedOver, said: dict[str, Any], backup: Backup) -> None:
    backend = said.get("fetch_backend") or SYSTEM
    if backend == SYSTEM:
        backend = backup.settings.get("fetch_backend") or PLAIN
    if backend not in (PLAIN, SYSTEM):
        watch.browser()
    if str(said.get("method") or "GET").upper() != "GET":
        watch.leave(f"method {shortly(said['method'])}: it will be fetched by GET")
    watch.headed(said.get("headers"))
    _steps(watch, said.get("browser_steps"))


def _steps(watch: CarriedOver, said: Any) -> None:
    """What is done in the browser: all of it or nothing, for what follows rests on what was done before."""
    steps: list[str] = []
    for each in said if isinstance(said, list) else []:
        doing = each if isinstance(each, dict) else {}
        operation = str(doing.get("operation") or "Choose one")
        if operation == "Choose one" or (operation == "Goto site" and not steps):
            continue
        step = _step(operation, *(str(doing.get(key) or "").strip() for key in ("selector", "optional_value")))
        if step is None:
            watch.leave(f"what the browser does before ({shortly(operation)} has no counterpart; --step says others)")
            return
        steps.append(step)
    if steps:
        watch.give("steps", steps, "what the browser does before")


def _step(operation: str, select: str, value: str) -> str | None:
    if any(each.startswith(("/", MARK)) or "{{" in each or "{%" in each for each in (select, value)):
        return None  # an XPath, a text that is computed, or that we would take for a secret of ours
    match operation:
        case "Click element" if select:
            return f"click {select}"
        case "Enter text in field" if select and value:
            quote = '"' if "'" in select else "'"
            return f"type {quote}{select}{quote} {value}" if " " in select else f"type {select} {value}"
        case "Wait for seconds":
            return f"wait {value or 1}"
    return None


def _what_counts(watch: CarriedOver, said: dict[str, Any]) -> None:
    filters = [*_texts(said.get("include_filters")), *_texts(said.get("css_filter"))]
    usable = [xpath_or_css(each) for each in filters if not each.startswith(("jq:", "jqraw:"))]
    for each in filters:
        if each.startswith(("jq:", "jqraw:")):
            watch.leave(f"filter {shortly(each)}")
    watch.selected(usable)
    for each in _texts(said.get("subtractive_selectors")):
        watch.add("ignore", xpath_or_css(each), f"removed elements {shortly(each)}")
    for each in _texts(said.get("ignore_text")):
        watch.ignored_lines(each)
    triggers = _texts(said.get("trigger_text"))
    for each in triggers:
        pattern, flags = slashed(each)
        is_pattern = each.strip().startswith("/") and flags is not None
        condition = f"matches {flags}{pattern}" if is_pattern else f"appears {each.strip()}"
        watch.counted_if(condition, f"trigger text {shortly(each)}")
    if triggers and watch.fields.get("when"):
        watch.leave("that a trigger text lets all changes count as long as it is there (here: when it comes)")


def _price(watch: CarriedOver, said: dict[str, Any]) -> None:
    """What is in stock, and what it costs; we watch one number."""
    if said.get("in_stock_processing", "in_stock_only") != "off":
        watch.leave("whether it is in stock (--number stock watches it, or a condition such as 'appears sold out')")
    if said.get("follow_price_changes", True) is False:
        return
    watch.give("number", "price", "its price")
    for key, condition in (("price_change_threshold_percent", "number moves {}%"), ("price_change_min", "number < {}"),
                           ("price_change_max", "number > {}")):  # fmt: skip
        if said.get(key):
            watch.counted_if(condition.format(said[key]), f"{key} {shortly(said[key])}")


def _table(said: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = said.get(key)
    return dict(found) if isinstance(found, dict) else {}


def _texts(said: Any) -> list[str]:
    """The texts in a list, or in lines of a text."""
    parts = said.splitlines() if isinstance(said, str) else said if isinstance(said, list) else []
    return [part.strip() for part in parts if isinstance(part, str) and part.strip()]


def _nothing(key: str) -> tuple[Any, ...]:
    """What a key says where nobody said anything."""
    return (None, "", False, 0, [], {}, "System default", _USUAL.get(key, ""))
