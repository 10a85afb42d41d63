"""What a hub is asked for is judged before anybody is called back."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from recrawl.errors import ParameterError
from recrawl.synthweb import subscriptions
from recrawl.synthweb.subscriptions import USUAL_LEASE_S, Asked, Subscriptions, asked

TOPIC = "http://127.0.0.1:8600/s3/atom.xml"
SOUND = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.callback": "http://127.0.0.1:9000/back?id=1"}


def read(remote: str = "127.0.0.1", **other: str) -> Asked:
    fields = SOUND | {f"hub.{name}": value for name, value in other.items()}
    return asked(urlencode(fields).encode(), {TOPIC: 3}, remote)


def test_a_sound_request_is_understood() -> None:
    found = read(secret="sh", lease_seconds="60")
    assert found == Asked("subscribe", 3, TOPIC, "http://127.0.0.1:9000/back?id=1", "sh", 60)
    assert read().lease_s == USUAL_LEASE_S


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mode", "publish"),
        ("topic", "http://127.0.0.1:8600/other"),
        ("callback", "http://example.org/back"),
        ("callback", "http://10.0.0.1/back"),
        ("callback", "ftp://127.0.0.1/back"),
        ("callback", "http://127.0.0.1:99999/back"),
        ("callback", "http://[::1/back"),
        ("callback", "http://127.0.0.1/back#part"),
        ("callback", "http://127.0.0.1/a b"),
        ("callback", "http://127.0.0.1/" + "a" * 3000),
        ("callback", ""),
        ("secret", "s" * 200),
        ("lease_seconds", "0"),
        ("lease_seconds", "-5"),
        ("lease_seconds", "soon"),
        ("lease_seconds", "9" * 13),
    ],
)
def test_what_makes_no_sense_is_refused_by_the_name_of_its_field(field: str, value: str) -> None:
    with pytest.raises(ParameterError, match=f"hub.{field}"):
        read(**{field: value})


def test_it_calls_back_to_this_machine_and_to_whoever_asks() -> None:
    assert read(remote="10.1.2.3", callback="http://10.1.2.3/back").callback == "http://10.1.2.3/back"
    for host in ("localhost", "a.localhost", "[::1]", "127.8.8.8"):
        assert read(callback=f"https://{host}:8443/back").callback == f"https://{host}:8443/back"


def test_whoever_renews_has_the_new_terms_and_misses_nothing() -> None:
    kept = Subscriptions()
    kept.begin(read(), expires=100.0, told=5)
    kept.begin(read(secret="new"), expires=200.0, told=9)
    (only,) = kept.all
    assert (only.secret, only.expires, only.told) == ("new", 200.0, 5)
    assert (kept.expire(199.0), kept.expire(200.0), len(kept)) == (0, 1, 0)


def test_there_is_room_for_so_many_and_for_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST", 1)
    kept = Subscriptions()
    kept.begin(read(), expires=100.0, told=0)
    assert not kept.full(read())
    assert kept.full(read(callback="http://127.0.0.1:9000/other"))
    assert kept.end(TOPIC, SOUND["hub.callback"])
    assert not kept.end(TOPIC, SOUND["hub.callback"])
    assert not kept.full(read(callback="http://127.0.0.1:9000/other"))
