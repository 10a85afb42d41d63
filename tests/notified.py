"""Those who are notified in tests: an SMTP server and an HTTP sink on loopback, which keep what they got."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class Mailbox:
    """Keeps the mails that a server took; `refusing` more of them, it says that it cannot now."""

    def __init__(self, refusing: int = 0) -> None:
        self.mails: list[EmailMessage] = []
        self.refusing = refusing
        self.address = ""

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refusing:
            self.refusing -= 1
            return "451 not now"
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"

    @property
    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for mail in self.mails]

    def text(self, place: int = -1) -> str:
        part = self.mails[place].get_body(("plain", "html"))
        assert part is not None
        return str(part.get_content())


class _AnyPort(Controller):
    """A server on whatever port is free."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def mail_server(refusing: int = 0) -> Iterator[Mailbox]:
    """A real SMTP server on a free port."""
    box = Mailbox(refusing)
    server = _AnyPort(box, hostname="127.0.0.1", port=0)
    server.start()
    try:
        box.address = f"mailto://127.0.0.1:{server.port}?to=me@example.org&from=recrawl@example.org&format=text"
        yield box
    finally:
        server.stop()


class Sink:
    """Keeps what was posted; the first answers are those it is given, then 200."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.posted: list[dict[str, Any]] = []
        self.tries = 0
        self.address = ""
        self.open = threading.Event()
        self.open.set()

    @property
    def titles(self) -> list[str]:
        return [each["title"] for each in self.posted]


@contextmanager
def http_sink(*answers: int) -> Iterator[Sink]:
    """A service that takes JSON on a free port."""
    sink = Sink(*answers)

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sink.tries += 1
            sink.open.wait(20.0)
            status = sink.answers.pop(0) if sink.answers else 200
            if status == 200:
                sink.posted.append(json.loads(body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    sink.address = f"json://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield sink
    finally:
        sink.open.set()
        server.shutdown()
        thread.join()
        server.server_close()
