import tomllib
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.config import Config, QuietHours, TagSettings, load, quiet_until
from recrawl.config.checks import NUMBERS_ALLOWED, RULES
from recrawl.config.loading import NAMED
from recrawl.config.setting_descriptions import WORDS
from recrawl.config.toml_lines import lines_of
from recrawl.errors import ConfigError, ParameterError

DOCS = Path(__file__).resolve().parents[2] / "docs" / "settings.md"


def settings_of(struct=Config, table=""):
    for field in msgspec.structs.fields(struct):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from settings_of(field.type, f"{table}{field.name}.")
        elif not table and field.name in NAMED:
            yield from settings_of(NAMED[field.name], f"{field.name}.NAME.")
        else:
            yield table + field.name, field.default


@pytest.fixture
def refusal(tmp_path):
    def refuse(text):
        file = tmp_path / "recrawl.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ConfigError) as refused:
            load(file)
        return str(refused.value).removeprefix(f"{file}, ")

    return refuse


def test_without_a_file_everything_is_at_its_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load() == Config()


def test_the_file_in_the_current_folder_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("recrawl.toml").write_text('budget = "2/s"\n[politeness]\ndelay = "5s"\n')
    config = load()
    assert (config.budget_per_s, config.politeness.delay_s, config.fetch) == (2.0, 5.0, Config().fetch)


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(no such file"):
        load(tmp_path / "none.toml")


def test_paths_are_relative_to_the_file_they_are_in(tmp_path):
    file = tmp_path / "recrawl.toml"
    file.write_text('[outlets]\nevents = "found.jsonl"\n')
    assert load(file).store == str(tmp_path / "recrawl.db")
    assert load(file).outlets.events == str(tmp_path / "found.jsonl")
    file.write_text('store = "postgresql://db/recrawl"\n[outlets]\nevents = "-"\n')
    assert (load(file).store, load(file).outlets.events) == ("postgresql://db/recrawl", "-")
    assert load(file, {"store": "here.db"}).store == "here.db"


def test_overrides_replace_what_the_file_says_and_none_replaces_nothing(tmp_path):
    file = tmp_path / "recrawl.toml"
    file.write_text('budget = "2/s"\n[fetch]\nparallel = 3\n')
    config = load(file, {"budget": "5/s", "fetch.parallel": None, "fetch.timeout": 7})
    assert (config.budget_per_s, config.fetch.parallel, config.fetch.timeout_s) == (5.0, 3, 7.0)


def test_a_wrong_override_is_named():
    with pytest.raises(ParameterError, match="budget must be a rate such as"):
        load(None, {"budget": "plenty"})
    with pytest.raises(ParameterError, match="nonsense must be a setting"):
        load(None, {"nonsense": 1})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('budget = "1/s"\n\n[fetch\n', "line 3: not TOML: expected ']'"),
        ("budget = \n", "line 1: not TOML: invalid value"),
        ('a = "x', "line 1: not TOML"),
        (b'budget = "1/s"\nstore = "\xff"\n', "line 2: not UTF-8 text (byte 0xff)"),
        ('store = "a"\nbuget = "1/s"\n', "line 2: unknown setting buget (did you mean budget?)"),
        ('[fetch]\n\ntimeot = "3s"\n', "line 3: unknown setting fetch.timeot (did you mean fetch.timeout?)"),
        ('[fetch]\nmax-size = "3MB"\n', "line 2: unknown setting fetch.max-size (did you mean fetch.max_size?)"),
        ('timeout = "3s"\n', "line 1: unknown setting timeout (did you mean fetch.timeout?)"),
        ('policy = "mini-flux"\n', "got 'mini-flux'; did you mean 'miniflux'?"),
        ('policy = "relaxed"\n', "line 1: policy must be one that can run live (learned_whittle, round_robin,"),
        ('[fetch]\nbudget = "1/s"\n', "line 2: unknown setting fetch.budget (did you mean budget?)"),
        ("[pages]\nqqq = 1\n", "line 2: unknown setting pages.qqq; known here: digest, render, keep_text"),
        ('[fetch]\nparallel = "many"\n', "line 2: fetch.parallel must be a whole number, got 'many'"),
        ("[fetch]\nverify_tls = 1\n", "line 2: fetch.verify_tls must be true or false, got 1"),
        ("[fetch]\nproxy = true\n", "line 2: fetch.proxy must be text in quotes, got true"),
        ("fetch = 3\n", "line 1: fetch must be a table, got 3"),
        ('objective = "fame"\n', "line 1: objective must be one of ephemeral, freshness, discovery, changes"),
        ('[politeness]\nscope = "x"\n', "line 2: politeness.scope must be one of url, host, domain, got 'x'"),
        ('half_life = "soon"\n', "line 1: half_life must be a time such as"),
        ('half_life = "0s"\n', "line 1: half_life must be a time longer than nothing"),
        ('\nfetch = { parallel = 2, max_size = "big" }\n', "line 2: fetch.max_size must be a size such as"),
        ('[fetch]\nmax_size = "big"\n', "line 2: fetch.max_size must be a size such as"),
        ('burst = "0"\n', "line 1: burst must be a number of requests, at least 1, or empty"),
        ("cold_start = 1.5\n", "line 1: cold_start must be between 0 and 1, got 1.5"),
        ("cold_start = nan\n", "line 1: cold_start must be between 0 and 1, got nan"),
        ("[fetch]\nmax_redirects = 21\n", "line 2: fetch.max_redirects must be from 0 to 20, got 21"),
        ('[fetch]\nuser_agent = "a\\r\\nX: y"\n', "line 2: fetch.user_agent must be printable ASCII"),
        ('[fetch]\nproxy = "socks5://x"\n', "line 2: fetch.proxy must be an address"),
        ('[politeness]\nbackoff = "2d"\n', "politeness.max_backoff must be at least politeness.backoff"),
        (
            '[politeness]\nquiet_hours = [\n  "22:00-07:00",  # night\n  "7pm",\n]\n',
            "line 4: politeness.quiet_hours[1] must be hours such as 22:00-07:00",
        ),
        ('[politeness]\nquiet_hours = ["22:00-07:00 Mars/Base"]\n', "line 2: politeness.quiet_hours[0] must be hours"),
        ('[politeness]\nquiet_hours = "22:00-07:00"\n', "line 2: politeness.quiet_hours must be a list"),
        ("[tags.news]\nimportanse = 2\n", "line 2: unknown setting tags.news.importanse (did you mean tags.news.imp"),
        ("[tags.news]\ndelay = 2\n", "line 2: unknown setting tags.news.delay (did you mean politeness.delay?)"),
        ("[tags.news]\nimportance = 0\n", "line 2: tags.news.importance must be a number > 0, got 0"),
        ('[tags."a.b c"]\n\nrobots = "no"\n', "line 3: tags.a.b c.robots must be true or false, got 'no'"),
        ('[tags.news]\ninterval = "often"\n', "line 2: tags.news.interval must be a time such as"),
        ('[tags.news]\ndigest = "html"\n', "line 2: tags.news.digest must be one of text, raw, got 'html'"),
        ('[tags.news]\nignore = ["nav", "p["]\n', "line 2: tags.news.ignore[1] must be a CSS selector such as"),
        ('[tags.news]\nignore_text = ["("]\n', "line 2: tags.news.ignore_text[0] must be a regular expression"),
        ('[tags.news]\nactive_hours = ["all day"]\n', "line 2: tags.news.active_hours[0] must be hours such as"),
        ("tags = 3\n", "line 1: tags must be a table, got 3"),
        ("[tags]\nnews = 3\n", "line 2: tags.news must be a table, got 3"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_line_and_what_was_expected(text, said, refusal):
    assert said in refusal(text)


@pytest.mark.parametrize("name", sorted(NUMBERS_ALLOWED))
def test_a_bare_number_is_seconds_bytes_or_per_second(name):
    written = 3000
    config = load(None, {name: written} | ({"politeness.max_backoff": "9d"} if name == "politeness.backoff" else {}))
    assert msgspec.to_builtins(config)  # refused nothing


def test_numbers_are_what_the_texts_say():
    config = load(None, {"budget": "90/min", "retention.size": "1GB", "fetch.max_size": "2MB", "max_age": "2w"})
    assert (config.budget_per_s, config.burst_requests) == (1.5, 1.5)
    assert load(None, {"budget": "1/h"}).burst_requests == 1.0
    assert load(None, {"burst": 20}).burst_requests == 20.0
    assert (config.retention.size_bytes, Config().retention.size_bytes) == (10**9, 0)
    assert (config.fetch.max_size_bytes, config.max_age_s, config.half_life_s) == (2 * 10**6, 14 * 86400.0, 43200.0)
    retention, politeness = config.retention, config.politeness
    assert (retention.items_s, retention.crawls_s, retention.prices_s) == (180 * 86400.0, 30 * 86400.0, 30 * 86400.0)
    assert (politeness.backoff_s, politeness.max_backoff_s, politeness.min_interval_s) == (60.0, 86400.0, 30.0)
    assert (config.pages.keep_text_bytes, config.fetch.idle_timeout_s) == (200_000, 10.0)


def test_every_setting_is_described_and_every_rule_is_of_a_setting():
    assert [name for name, _ in settings_of()] == list(WORDS)
    assert set(RULES) <= set(WORDS)


def test_every_setting_is_in_the_documentation_as_it_is():
    rows = [line.split(" | ") for line in DOCS.read_text().splitlines() if line.startswith("| `")]
    shown = {row[0].strip("| `"): row[1].strip("`") for row in rows}
    expected = {
        name: "" if default is None else msgspec.json.encode(default).decode() for name, default in settings_of()
    }
    assert shown == expected
    assert {row[0].strip("| `"): row[2].strip(" |") for row in rows} == WORDS


# -- where keys stand


TRICKY = '''# [not.a.table]
title = """
[nor] = this
""" # comment
'quoted.key' = 1
a.b . c = [ # dotted
  "x]", 'y#', [1,
  2], { d = "}", e.f = 3 },
]
[t."u v"] # table
k = { x = 1, y = [ {z = 1} ] }
[[list]]
name = 1
[[list]]
name = 2
[list.sub]
deep = 2024-01-01T00:00:00Z
'''


def test_every_key_is_found_on_its_line():
    lines = lines_of(TRICKY)
    for path, line in {
        ("title",): 2, ("quoted.key",): 5, ("a", "b", "c"): 6, ("a", "b", "c", 1): 7, ("a", "b", "c", 2, 1): 8,
        ("a", "b", "c", 3, "d"): 8, ("a", "b", "c", 3, "e", "f"): 8, ("t", "u v"): 10, ("t", "u v", "k", "x"): 11,
        ("t", "u v", "k", "y", 0, "z"): 11, ("list", 0, "name"): 13, ("list", 1, "name"): 15,
        ("list", 1, "sub", "deep"): 17,
    }.items():  # fmt: skip
        assert lines[path] == line, path


def leaves(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*path, key)
        yield from leaves(each, (*path, key))


def test_exactly_what_the_parser_found_has_a_line():
    assert set(leaves(tomllib.loads(TRICKY))) == set(lines_of(TRICKY))
    assert lines_of(TRICKY.replace("\n", "\r\n")) == lines_of(TRICKY)


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=4)
VALUES = st.recursive(st.integers(0, 9) | KEYS, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=3))
def test_any_document_is_walked_to_its_end(tables):
    def written(value):
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")

    text = ""
    for table, pairs in tables.items():
        text += f"[{written(table)}]\n"
        for key, value in pairs.items():
            text += f"{written(key)} = {written(value)}\n"
    assert set(lines_of(text)) == set(leaves(tomllib.loads(text)))


# -- quiet hours


def test_quiet_hours_pass_midnight_and_end_at_the_clock_of_their_place():
    berlin = ZoneInfo("Europe/Berlin")
    night = QuietHours.parse("quiet_hours", "22:00-07:00 Europe/Berlin")
    late = datetime(2026, 7, 1, 23, 30, tzinfo=berlin).timestamp()
    assert night.until(late) == datetime(2026, 7, 2, 7, 0, tzinfo=berlin).timestamp()
    assert night.until(datetime(2026, 7, 2, 7, 0, tzinfo=berlin).timestamp()) is None
    assert night.until(datetime(2026, 7, 2, 21, 59, 59, tzinfo=berlin).timestamp()) is None


def test_a_night_in_which_the_clock_is_set_forward_is_shorter():
    berlin = ZoneInfo("Europe/Berlin")
    night = QuietHours.parse("quiet_hours", "22:00-07:00 Europe/Berlin")
    evening = datetime(2026, 3, 28, 22, 0, tzinfo=berlin).timestamp()
    assert night.until(evening) == evening + 8 * 3600


def test_stretches_that_touch_are_one_and_all_day_is_no_end():
    touching = [QuietHours.parse("q", text) for text in ("22:00-24:00 UTC", "00:00-06:00 UTC")]
    assert quiet_until(touching, 86400.0 - 60) == 86400.0 + 6 * 3600
    everything = [QuietHours.parse("q", text) for text in ("00:00-12:00 UTC", "12:00-24:00 UTC")]
    assert quiet_until(everything, 5.0) == 5.0
    assert quiet_until([], 5.0) == 5.0


def test_local_time_is_the_default():
    hours = QuietHours.parse("q", "00:00-23:59")
    end = hours.until(datetime(2026, 5, 5, 12, 0).timestamp())
    assert end == datetime(2026, 5, 5, 23, 59).timestamp()


@pytest.mark.parametrize("text", ["", "22-7", "22:00", "24:00-06:00", "22:60-07:00", "07:00-07:00", "1:00-25:00"])
def test_what_are_no_hours_is_refused(text):
    with pytest.raises(ParameterError, match=r"hours such as 22:00-07:00"):
        QuietHours.parse("q", text)


# -- tags


TAGGED = """
[tags.prices]
interval = 7200
active_hours = ["08:00-18:00 Europe/Berlin"]
importance = 3
ignore_text = ['\\d+ views']

[tags."my own sites"]
robots = false
"""


def test_what_is_said_of_tags_is_read_and_printed_as_a_file_that_says_the_same(tmp_path):
    from recrawl.cli.config import as_toml

    file = tmp_path / "recrawl.toml"
    file.write_text(TAGGED)
    config = load(file)
    assert config.tags["prices"].interval == "7200"
    assert config.tags["my own sites"] == TagSettings(robots=False)
    file.write_text(as_toml(msgspec.to_builtins(config)))
    assert load(file).tags == config.tags
