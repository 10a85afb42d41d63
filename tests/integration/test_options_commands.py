"""What can be said of single sources and of tags, from the outside, on a store in a file."""

import json
from pathlib import Path

import pytest

from recrawl.cli import run
from recrawl.config import SourceOptions
from recrawl.store.opening import open_store

EVERY = [
    "--digest", "raw", "--ignore", "nav", "--ignore", "#ads, .banner", "--ignore-text", r"\d+ views; or so",
    "--keep", ".price", "--keep", "json:$.price", "--keep-text", "^Price",
    "--number", "price", "--when", "number < 9", "--when", "appears sold out",
    "--no-ignore-noise", "--no-restless", "--no-robots", "--no-hints", "--interval", "2h",
    "--active-hours", "08:00-12:00 Europe/Berlin", "--active-hours", "14:00-18:00", "--no-notify",
]  # fmt: skip
SAID = SourceOptions(
    digest="raw",
    ignore=("nav", "#ads, .banner"),
    ignore_text=(r"\d+ views; or so",),
    keep=(".price", "json:$.price"),
    keep_text=("^Price",),
    number="price",
    when=("number < 9", "appears sold out"),
    ignore_noise=False,
    restless=False,
    robots=False,
    hints=False,
    interval=7200.0,
    active_hours=("08:00-12:00 Europe/Berlin", "14:00-18:00"),
    notify=False,
)


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("RECRAWL_CONFIG", raising=False)

    def say(*arguments, status=0):
        assert run([str(each) for each in arguments]) == status, capsys.readouterr()
        out = capsys.readouterr()
        return out.out if status == 0 else out.err

    return say


def kept(url="https://a.example/"):
    store = open_store("recrawl.db")
    try:
        return store.source(url)
    finally:
        store.close()


def added(said, *urls, more=()):
    return said("add", "--as-is", *urls, *more)


def test_everything_can_be_said_and_is_shown(said):
    added(said, "a.example", more=EVERY)
    assert kept().options == SAID
    (shown,) = json.loads(said("sources", "--json"))
    assert shown["options"]["interval"] == 7200.0
    assert shown["options"]["robots"] is False
    assert shown["options"]["ignore"] == ["nav", "#ads, .banner"]


def test_one_thing_is_changed_and_the_others_stay(said):
    added(said, "a.example", more=EVERY)
    added(said, "a.example", more=["--update", "--robots", "--unset", "interval", "--unset", "ignore"])
    options = kept().options
    assert (options.robots, options.interval, options.ignore, options.digest) == (True, None, (), "raw")
    assert "both given and unset" in said(
        "add", "--as-is", "a.example", "--update", "--robots", "--unset", "robots", status=2
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--interval", "often"], "interval must be a time such as"),
        (["--interval", "0"], "interval must be a time longer than nothing"),
        (["--ignore", "p["], "ignore[0] must be a CSS selector such as"),
        (["--ignore-text", "(a"], "ignore_text[0] must be a regular expression such as"),
        (["--active-hours", "all day"], "active_hours[0] must be hours such as"),
        (["--unset", "everything"], "'everything' is not one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(said, given, words):
    assert words in said("add", "--as-is", "a.example", *given, status=2)
    assert not Path("recrawl.db").exists()


def test_a_number_stays_named_where_a_condition_is_about_it_unless_a_tag_may_name_it(said):
    added(said, "a.example", more=["--when", "number < 9", "--number", "price"])
    assert "together with the number" in said("add", "--as-is", "c.example", "--when", "number < 9", status=2)
    taken_back = ["add", "--as-is", "--update", "a.example", "--unset", "number"]
    assert "together with the number" in said(*taken_back, status=2)
    assert kept().options.number == "price"
    added(said, "b.example", more=["--when", "number < 9", "--tag", "shop"])


def test_the_catalogue_written_as_csv_and_read_again_is_the_same(said):
    added(said, "a.example", more=EVERY)
    added(said, "b.example", more=["--tag", "news"])
    said("export", "list.csv")
    Path("recrawl.db").unlink()
    assert "2 added" in said("import", "list.csv")
    assert kept().options == SAID
    assert kept("https://b.example/").options == SourceOptions()


def test_what_a_tag_says_is_taken_back_by_none(said):
    Path("recrawl.toml").write_text('[tags.shop]\nnumber = "price"\nwhen = ["number < 100"]\nkeep = [".price"]\n')
    taken_back = ["--number", "none", "--when", "none", "--keep", "none", "--ignore", "none"]
    added(said, "a.example", more=["--tag", "shop", *taken_back])
    assert (kept().options.number, kept().options.when) == ("none", ("none",))
    words = said("add", "--as-is", "--update", "a.example", "--keep", "none", "--keep", ".x", status=2)
    assert "keep must be none alone, or what is wanted" in words
    assert "together with the number" in said(
        "add", "--as-is", "--update", "a.example", "--when", "number < 9", status=2
    )


def test_tags_are_given_taken_away_and_listed(said):
    added(said, "a.example", "b.example", "c.example")
    assert "no source has a tag" in said("tag")
    assert "1 https://a.example/: news, world" in said("tag", "1", "2", "--add", "news", "--add", "world")
    assert said("tag", "2", "--remove", "news", "--add", "sport") == "2 https://b.example/: world, sport\n"
    assert [line.split() for line in said("tag").splitlines()] == [["2", "world"], ["1", "news"], ["1", "sport"]]
    said("tag", "--tag", "world", "--add", "planet", "--remove", "world")
    assert [kept(f"https://{name}.example/").tags for name in "abc"] == [("news", "planet"), ("sport", "planet"), ()]
    assert said("tag", "3") == "3 https://c.example/: no tags\n"


def test_a_tag_stands_for_all_that_have_it(said):
    added(said, "a.example", "b.example", more=["--tag", "news"])
    added(said, "c.example")
    assert said("pause", "--tag", "news").splitlines() == [
        "paused: 1 https://a.example/",
        "paused: 2 https://b.example/",
    ]
    assert said("pause", "--tag", "news", "1", "3", "--resume").count("resumed") == 2
    assert "2 removed" in said("remove", "--tag", "news", "--yes")


def test_a_tag_that_nobody_has_is_named_with_the_nearest(said):
    added(said, "a.example", more=["--tag", "News"])
    assert "no source has the tag 'newz'; did you mean 'News'?" in said("pause", "--tag", "newz", status=2)
    assert "see `recrawl tag`" in said("pause", "--tag", "prices", status=2)
    assert "which sources?" in said("pause", status=2)
    assert "which sources?" in said("tag", "--add", "x", status=2)


@pytest.mark.parametrize(
    "command",
    ["sources", "sources --json", "changes", "changes 1", "items", "search word", "export", "whatif --budget 1/s"],
)
def test_commands_that_look_say_of_a_tag_that_there_is_none(said, command):
    added(said, "a.example", more=["--tag", "News"])
    words = command.split()
    assert "no source has the tag 'newz'; did you mean 'News'?" in said(*words, "--tag", "newz", status=2)
    said(*words, "--tag", " News ")


def test_what_the_settings_say_of_a_tag_is_shown_of_its_sources(said):
    Path("recrawl.toml").write_text('[tags.news]\nimportance = 3\nhalf_life = "2h"\n')
    added(said, "a.example", more=["--tag", "news"])
    (shown,) = json.loads(said("sources", "--json"))
    assert (shown["importance"], shown["half_life_s"]) == (3.0, 7200.0)
