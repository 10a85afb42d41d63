"""Asks an ASGI application, as a browser or a program would, without a network."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.types import ASGIApp, Message


@dataclass
class Answer:
    """What came back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


@dataclass
class Visitor:
    """One client; `browser` ones keep cookies and send what browsers send."""

    app: ASGIApp
    host: str = "localhost:8080"
    browser: bool = True
    cookies: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    address: str = "127.0.0.1"
    scheme: str = "http"

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        place, _, query = path.partition("?")
        said = {"host": self.host, **self.headers}
        if self.browser:
            said["user-agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
            said["sec-fetch-site"] = "same-origin"
            if method != "GET":
                said["origin"] = f"http://{self.host}"
        if self.cookies:
            said["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        said |= {name.lower(): value for name, value in (headers or {}).items()}
        said = {name: value for name, value in said.items() if value is not None}
        if body:
            said.setdefault("content-length", str(len(body)))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": self.scheme,
            "path": unquote(place),
            "raw_path": place.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in said.items()],
            "client": (self.address, 50000),
            "server": ("127.0.0.1", 8080),
            "state": {},
        }
        answer = asyncio.run(_called(self.app, scope, body))
        for name, value in answer.headers:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def form(self, path: str, fields: Mapping[str, str], *, token: bool = True, **headers: str) -> Answer:
        """Send a form, with the token of the session unless told not to."""
        said = dict(fields)
        if token:
            said["csrf"] = self.token()
        body = urlencode(said).encode()
        return self.ask("POST", path, body, {"content-type": "application/x-www-form-urlencoded", **headers})

    def send(self, method: str, path: str, data: Any = None, **headers: str) -> Answer:
        """Send JSON."""
        body = b"" if data is None else json.dumps(data).encode()
        return self.ask(method, path, body, {"content-type": "application/json", **headers})

    def token(self) -> str:
        """What the forms of this session carry."""
        page = self.get("/login" if self.get("/").status == 303 else "/sources").text
        found = re.search(r'name="csrf" value="([\w-]+)"', page)
        assert found, "no form on the page"
        return found[1]


async def _called(app: ASGIApp, scope: dict[str, Any], body: bytes) -> Answer:
    sent, parts = False, []
    start: dict[str, Any] = {}

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return {"type": "http.disconnect"}
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    headers = [(name.decode(), value.decode("latin-1")) for name, value in start.get("headers", [])]
    return Answer(start["status"], headers, b"".join(parts))
