"""Two machines on one: network namespaces that see each other over two cables, and nobody else.

`near` and `far` are joined by a management cable (10.231.0.0/24) and a web cable (10.232.0.0/24); near is .1 on
both. Neither has a way out. A thread that is `inside` a namespace starts processes and threads there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from until import until

MANAGEMENT, WEB = "10.231.0", "10.232.0"
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET


class Cables:
    """The two namespaces and what joins them."""

    def __init__(self) -> None:
        self.near, self.far = f"recrawl-{os.getpid()}-near", f"recrawl-{os.getpid()}-far"

    def lay(self) -> None:
        """Make everything; `PermissionError` where that is not allowed."""
        for name in (self.near, self.far):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        for cable, network in (("management", MANAGEMENT), ("web", WEB)):
            _ip("-n", self.near, "link", "add", cable, "type", "veth", "peer", "name", cable, "netns", self.far)
            for name, host in ((self.near, 1), (self.far, 2)):
                _ip("-n", name, "address", "add", f"{network}.{host}/24", "dev", cable)
                _ip("-n", name, "link", "set", cable, "up")

    def cut(self) -> None:
        """The management cable is pulled at the far end."""
        _ip("-n", self.far, "link", "set", "management", "down")

    def mend(self) -> None:
        """And put back."""
        _ip("-n", self.far, "link", "set", "management", "up")

    def far_processes(self) -> set[int]:
        """Those on the far side."""
        return set(_inside(self.far))

    def remove(self) -> None:
        """With every process that is left inside."""
        for name in (self.near, self.far):
            for pid in _inside(name):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            until(lambda name=name: not _inside(name), at_most_s=10.0)
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


@contextmanager
def two_machines() -> Iterator[Cables]:
    """The calling thread is on the near one meanwhile; skips the test where namespaces are not permitted."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces need the ip command (iproute2)")
    cables = Cables()
    try:
        try:
            cables.lay()
        except PermissionError as error:
            pytest.skip(f"network namespaces are not permitted here: {error}")
        with inside(cables.near):
            yield cables
    finally:
        cables.remove()


@contextmanager
def inside(name: str) -> Iterator[None]:
    """The calling thread is in a namespace meanwhile, and so is what it starts."""
    with open("/proc/thread-self/ns/net") as before, open(f"/run/netns/{name}") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(before.fileno())


def _enter(network: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(network, _NEW_NETWORK):
        raise OSError(ctypes.get_errno(), "the namespace cannot be entered")


def _inside(name: str) -> list[int]:
    listed = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout
    return [int(pid) for pid in listed.split() if int(pid) != os.getpid()]


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(f"ip {' '.join(words)}: {done.stderr.strip()}")
