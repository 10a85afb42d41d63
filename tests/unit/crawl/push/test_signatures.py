from __future__ import annotations

import hmac

import pytest

from recrawl.crawl.push.signatures import METHODS, Signature

BODY, SECRET = b"<feed>some news</feed>", "s3cret"


def header(method: str, secret: str = SECRET, body: bytes = BODY) -> str:
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


def is_right(told: str, body: bytes = BODY) -> bool:
    signature = Signature(told, SECRET)
    for start in range(0, len(body), 5):
        signature.update(body[start : start + 5])
    return signature.is_right()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_specification_is_known(method: str) -> None:
    assert is_right(header(method))
    assert is_right(f" {header(method).upper().replace(method.upper(), method)} ")
    assert not is_right(header(method), BODY + b"!")
    assert not is_right(header(method, "another"))


@pytest.mark.parametrize(
    "told",
    ["", "sha1", "sha1=", "md5=" + "0" * 32, "sha1=" + "g" * 40, "sha256=" + "0" * 40, "none=" + "0" * 40, "é=0"],
)
def test_what_is_no_signature_is_wrong(told: str) -> None:
    assert not is_right(told)


def test_one_method_is_not_another(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_right(header("sha256").replace("sha256", "sha1"))
