"""Where a synthetic web listens: hosts told apart by port, by loopback address or by name."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address
from typing import Literal

from recrawl.errors import ParameterError

HostsBy = Literal["port", "address", "name"]
LOOPBACK = "127.0.0.1"


def listen(hosts: int, by: HostsBy, address: str, port: int) -> tuple[list[socket.socket], list[str]]:
    """A bound socket for every host, or one for all, and what each host is called in URLs; port 0 takes free ones."""
    if by == "name":
        sockets = [_listening(LOOPBACK, port)]
        return sockets, [f"h{k}.synth.localhost:{_port(sockets[0])}" for k in range(hosts)]
    if by == "address":
        addresses = [f"127.0.{1 + k // 250}.{1 + k % 250}" for k in range(hosts)]
        first = _listening("127.0.1.1", port)
        sockets = [first, *(_listening(each, _port(first)) for each in addresses[1:])]
        return sockets, [f"{each}:{_port(first)}" for each in addresses]
    sockets = [_listening(address, port and port + k) for k in range(hosts)]
    return sockets, [f"{address}:{_port(each)}" for each in sockets]


def _port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def bound_to(address: str, hosts_by: HostsBy) -> str:
    """The address as it stands in URLs."""
    try:
        found = IPv4Address(address)
    except ValueError:
        raise ParameterError("bind", "an IPv4 address of this machine", repr(address)) from None
    if found.is_unspecified:
        raise ParameterError("bind", "one address, which is the one in the URLs of the sources", repr(address))
    if hosts_by != "port" and address != LOOPBACK:
        raise ParameterError("bind", f"{LOOPBACK}, as hosts told apart by {hosts_by} are on loopback", repr(address))
    return str(found)


def _listening(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
    except OSError:
        listener.close()
        raise
    return listener
