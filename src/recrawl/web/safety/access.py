"""Who may use a server: anybody on loopback, whoever has the password elsewhere, or there is no server at all."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from recrawl.config import Push, Web
from recrawl.errors import ConfigError
from recrawl.web.safety.credentials import Credentials, hashed, read_file
from recrawl.web.safety.hosts import HostList, is_loopback
from recrawl.web.safety.proxies import Proxies
from recrawl.web.safety.sessions import Sessions
from recrawl.web.safety.throttle import Throttle

PASSWORD_ENV, TOKEN_ENV = "RECRAWL_PASSWORD", "RECRAWL_TOKEN"


@dataclass(frozen=True)
class Access:
    """What `authentication` knows: names, secrets, sessions. One per server.

    Parameters
        hosts: names the server answers to
        credentials: what opens it
        throttle: limits attempts at the password
        guesses: limits wrong tokens, per client alone, so that nobody's guessing keeps others' programs out
        proxies: whose word about the client counts
        secure: whether cookies insist on https even where nothing shows that it is used
        callers: further names by which hubs and sites call in (`safety.callers`), and nobody else
    """

    hosts: HostList
    credentials: Credentials = field(default_factory=Credentials)
    sessions: Sessions = field(default_factory=Sessions)
    throttle: Throttle = field(default_factory=Throttle)
    guesses: Throttle = field(default_factory=lambda: Throttle(burst_of_all=math.inf))
    proxies: Proxies = field(default_factory=Proxies)
    secure: bool = False
    callers: HostList = field(default_factory=lambda: HostList("localhost"))


def password_file(store: str, given: Path | None) -> Path:
    """Where the password's hash is kept: as given, or beside the store."""
    return given or Path("recrawl.password" if "://" in store else f"{store}.password")


def make_access(
    host: str,
    store: str,
    environment: Mapping[str, str],
    *,
    names: Iterable[str] = (),
    file: Path | None = None,
    web: Web | None = None,
    push: Push | None = None,
) -> Access:
    """Who may use a server bound to `host`; ConfigError if anybody could from elsewhere.

    Parameters
        store: its address, for the password kept beside it
        environment: where a password or token may be said
        names: further names the server answers to
        file: where the password's hash is kept, which then must be there
        web, push: the settings of the web page, and of who may call in
    """
    known = Credentials(_password(store, environment, file), environment.get(TOKEN_ENV) or None)
    if not is_loopback(host) and not known.locked:
        raise ConfigError(
            f"{host} can be reached from other machines: set a password first, with `recrawl serve --set-password`, "
            f"{PASSWORD_ENV} or {TOKEN_ENV}"
        )
    web = web or Web()
    called = urlsplit(push.callback).hostname if push is not None and push.callback else None
    return Access(
        HostList(host, names),
        known,
        proxies=Proxies(web.trusted_proxies),
        secure=web.secure_cookies,
        callers=HostList(host, (*names, *([called] if called else []))),
    )


def _password(store: str, environment: Mapping[str, str], file: Path | None) -> str | None:
    if environment.get(PASSWORD_ENV):
        return hashed(environment[PASSWORD_ENV])
    kept = password_file(store, file)
    return read_file(kept) if file is not None or kept.exists() else None
