import pytest

from recrawl import cli, policies
from recrawl.cli.policy_arguments import entry_of
from recrawl.errors import ParameterError
from recrawl.sim.comparison import Contender, default_entries, grouped_entries


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("azr", "'azar'"),
        ("Miniflux", "'miniflux'"),
        ("azar:flled", "'filled'"),
        ("learned_whittle:atc=thompson", "'act'"),
        ("nutch_adaptive:scalde", "'scaled'"),
        ("uniform:grouped,group=3", "'groups'"),
    ],
)
def test_a_misspelt_policy_or_option_is_answered_with_the_nearest(written, meant):
    with pytest.raises(ParameterError) as caught:
        entry_of(written)
    assert meant in str(caught.value).partition("did you mean")[2]
    assert "__init__" not in str(caught.value)


def test_what_has_no_intervals_cannot_be_scaled():
    with pytest.raises(ParameterError, match=r"an option of --policy learned_whittle must be one of .* got 'scaled'"):
        entry_of("learned_whittle:scaled")


@pytest.mark.parametrize("entry", [*default_entries(scaled=True), grouped_entries()[0]], ids=lambda entry: entry.label)
def test_everything_that_runs_by_default_can_be_written(entry):
    assert entry_of(entry.label) == entry


@pytest.mark.parametrize("name", policies.NAMES)
def test_every_policy_can_be_named(name):
    assert entry_of(name) == Contender(name)


def test_scaling_policies_that_were_chosen_is_said_to_be_written_otherwise(tmp_path, capsys):
    assert cli.run(["replay", str(tmp_path / "s.toml"), "--scaled", "--policy", "miniflux"]) == 2
    assert "NAME:scaled" in capsys.readouterr().err
