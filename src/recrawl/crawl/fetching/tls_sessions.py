"""TLS as a client that comes back: sessions are taken up again, which spares both the dearest part of a handshake.

A session stands for a server whose certificate was checked for that very name, by the same rules. It is taken up under
no other name, and the server says for how long it may be. Nothing is kept on disk.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict

MOST_SESSIONS = 1024
"""Some kilobytes each."""


class ResumingContext(ssl.SSLContext):
    """A client's context that remembers the latest session of each host; the certificates trusted are the machine's."""

    _sessions: OrderedDict[str, ssl.SSLSession]

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """A connection to a host, taking up its session if there is one."""
        known = session or self._sessions.get(str(server_hostname))
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, known)

    def remember(self, connection: ssl.SSLObject) -> None:
        """Keep what is needed to come back; servers hand it out some time after the handshake."""
        session, host = connection.session, connection.server_hostname
        if session is None or host is None or not session.has_ticket:
            return
        self._sessions[host] = session
        self._sessions.move_to_end(host)
        if len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)


def client_context(*, verify: bool) -> ResumingContext:
    """As `ssl.create_default_context` makes it, for HTTP/1.1."""
    context = ResumingContext(ssl.PROTOCOL_TLS_CLIENT)
    context._sessions = OrderedDict()
    context.verify_flags = ssl.create_default_context().verify_flags
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
