"""Where processes listen, by the kernel's account: those that a test started, and nobody else's.

Processes are known by a word in their environment. Whoever is started inherits it, also what detaches itself.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from pathlib import Path

MARK = "STARTED_BY_TEST"
_LISTENING = "0A"


def listening(mark: str) -> set[str]:
    """Addresses on which processes listen that have MARK=`mark` in their environment."""
    inodes = {inode for pid in _marked(mark) for inode in _sockets(pid)}
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            _, place, _, state, *_, inode = line.split()[:10]
            if state == _LISTENING and inode in inodes:
                found.add(_address(place.partition(":")[0]))
    return found


def beyond_loopback(addresses: set[str]) -> list[str]:
    """Those that can be reached from other machines."""
    return sorted(each for each in addresses if not _plain(each).is_loopback)


def _plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    parsed = ipaddress.ip_address(address)
    return (parsed.version == 6 and parsed.ipv4_mapped) or parsed


def _marked(mark: str) -> list[int]:
    word, found = f"{MARK}={mark}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # gone meanwhile, or somebody else's
            if word in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def _sockets(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                kind, _, inode = str(link.readlink()).partition("[")
                if kind == "socket:":
                    found.add(inode.rstrip("]"))
    return found


def _address(written: str) -> str:
    """The kernel writes an address as words of four bytes, each in the machine's order."""
    packed = b"".join(bytes.fromhex(written[k : k + 8])[::-1] for k in range(0, len(written), 8))
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
