"""Which door a server gets: open on loopback, locked everywhere else, or no server at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from recrawl.config import Web
from recrawl.errors import ConfigError
from recrawl.web.safety import passwords
from recrawl.web.safety.gate import Door
from recrawl.web.safety.hosts import HostList, is_loopback
from recrawl.web.safety.proxies import Proxies

PASSWORD_ENV, TOKEN_ENV = "RECRAWL_PASSWORD", "RECRAWL_TOKEN"


def password_file(store: str, given: Path | None) -> Path:
    """Where the password's hash is kept: as given, or beside the store."""
    return given or Path("recrawl.password" if "://" in store else f"{store}.password")


def make_door(
    host: str,
    store: str,
    environment: Mapping[str, str],
    *,
    names: Iterable[str] = (),
    file: Path | None = None,
    web: Web | None = None,
) -> Door:
    """The door of a server bound to `host`; ConfigError if it would stand open to others.

    Parameters
        store: its address, for the password kept beside it
        environment: where a password or token may be said
        names: further names the server answers to
        file: where the password's hash is kept, which then must be there
        web: the settings of the web page
    """
    keyhole = passwords.Keyhole(_password(store, environment, file), environment.get(TOKEN_ENV) or None)
    if not is_loopback(host) and not keyhole.locked:
        raise ConfigError(
            f"{host} can be reached from other machines: set a password first, with `recrawl serve --set-password`, "
            f"{PASSWORD_ENV} or {TOKEN_ENV}"
        )
    web = web or Web()
    return Door(HostList(host, names), keyhole, proxies=Proxies(web.trusted_proxies), secure=web.secure_cookies)


def _password(store: str, environment: Mapping[str, str], file: Path | None) -> str | None:
    if environment.get(PASSWORD_ENV):
        return passwords.hashed(environment[PASSWORD_ENV])
    kept = password_file(store, file)
    return passwords.read_file(kept) if file is not None or kept.exists() else None
