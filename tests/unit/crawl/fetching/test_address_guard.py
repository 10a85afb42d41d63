"""Only public addresses are visited, however they are written and whatever DNS says."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.crawl.fetching.address_guard import (
    Guard,
    Refusal,
    RefusedAddressError,
    anywhere,
    host_refusal,
    is_localhost,
    literal,
    refusal,
)
from recrawl.crawl.fetching.dns import Resolver

REFUSED = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.1": "private",
    "10.255.255.255": "private",
    "100.64.0.1": "carrier-grade NAT",
    "100.127.255.255": "carrier-grade NAT",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.169.254": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.1": "reserved",
    "192.0.2.1": "reserved",
    "192.168.1.1": "private",
    "198.18.0.1": "private",
    "198.51.100.7": "reserved",
    "203.0.113.7": "reserved",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "broadcast",
    "::": "unspecified",
    "::1": "loopback",
    "::7f00:1": "IPv4-compatible",
    "::ffff:127.0.0.1": "IPv4-mapped",
    "::ffff:10.0.0.1": "IPv4-mapped",
    "::ffff:169.254.169.254": "IPv4-mapped",
    "::ffff:8.8.8.8": "reserved",
    "::ffff:0:127.0.0.1": "IPv4-translated",
    "64:ff9b::7f00:1": "NAT64",
    "64:ff9b::a9fe:a9fe": "NAT64",
    "64:ff9b:1::a00:1": "NAT64",
    "2002:7f00:1::": "6to4",
    "2002:c0a8:101::1": "6to4",
    "2001:0:7f00:1::": "Teredo",
    "2001:0:808:808:0:0:80ff:fffe": "Teredo",
    "2001:db8::1": "reserved",
    "3fff::1": "reserved",
    "100::1": "reserved",
    "4000::1": "reserved",
    "fc00::1": "private",
    "fd12:3456::1": "private",
    "fe80::1": "link-local",
    "fe80::1%eth0": "link-local",
    "fec0::1": "private",
    "ff02::1": "multicast",
    "nonsense": "not an address",
}
PUBLIC = (
    "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1",
    "172.15.255.255", "172.32.0.1", "192.0.1.1", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1",
    "64:ff9b::808:808", "2002:808:808::1",
)  # fmt: skip


@pytest.mark.parametrize(("address", "kind"), REFUSED.items())
def test_an_address_that_is_not_public_is_refused_by_its_kind(address: str, kind: str) -> None:
    assert kind in refusal(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not_refused(address: str) -> None:
    assert refusal(address) == ""


@given(st.ip_addresses())
def test_nothing_that_the_standard_library_knows_as_not_global_gets_through(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        known_gateway = address.version == 6 and address in ipaddress.IPv6Network("64:ff9b::/96")
        assert refusal(str(address)) or known_gateway


@given(st.ip_addresses(v=4))
def test_wrapping_an_address_never_opens_a_way_to_it(inner: ipaddress.IPv4Address) -> None:
    number = int(inner)
    wraps = [0xFFFF << 32 | number, number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80]
    if refusal(str(inner)):
        for value in wraps:
            assert refusal(str(ipaddress.IPv6Address(value)))


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("[::1]", "::1"),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
        ("example.com", None),
        ("face.b00c", None),
        ("1.example", None),
        ("", None),
    ],
)
def test_addresses_are_known_in_every_spelling(host: str, address: str | None) -> None:
    found = literal(host)
    assert (found and ipaddress.ip_address(found)) == (address and ipaddress.ip_address(address))


def test_local_names_are_loopback_without_asking_anybody() -> None:
    assert is_localhost("LOCALHOST.")
    assert is_localhost("a.b.localhost")
    assert not is_localhost("notlocalhost")
    assert host_refusal("x.localhost") == "a loopback address"
    assert host_refusal("example.com") == ""


def resolve(
    host: str, *answers: str, rule: Refusal = refusal, error: Exception | None = None, timeout_s: float = 5.0
) -> list[str]:
    def lookup(_: str, __: int) -> list[str]:
        if error is not None:
            raise error
        return list(answers)

    async def scene() -> list[str]:
        resolver = Resolver(rule=rule, lookup=lookup, timeout_s=timeout_s)
        return [each["host"] for each in await resolver.resolve(host, 80)]

    return asyncio.run(scene())


def test_private_answers_of_a_name_are_left_out() -> None:
    assert resolve("mixed.example", "10.0.0.1", "1.1.1.1") == ["1.1.1.1"]


def test_a_name_with_only_private_answers_is_refused() -> None:
    with pytest.raises(RefusedAddressError, match=r"evil\.example is a link-local address"):
        resolve("evil.example", "169.254.169.254", "::1")


def test_private_answers_are_taken_where_they_are_allowed() -> None:
    assert resolve("inside.example", "10.0.0.1", rule=anywhere) == ["10.0.0.1"]
    assert resolve("x.localhost", error=OSError("never asked"), rule=anywhere) == ["127.0.0.1"]


def test_lookups_that_fail_say_so() -> None:
    with pytest.raises(socket.gaierror):
        resolve("nowhere.example", error=socket.gaierror(socket.EAI_NONAME, "unknown"))
    with pytest.raises(OSError, match="no address"):
        resolve("empty.example")
    with pytest.raises(OSError, match="not a valid name"):
        resolve("a" * 70 + ".example", error=UnicodeError("label too long"))


def test_a_lookup_that_hangs_is_given_up() -> None:
    released = threading.Event()

    async def scene() -> None:
        resolver = Resolver(lookup=lambda *_: [str(released.wait(10))], timeout_s=0.05)
        with pytest.raises(socket.gaierror, match="took too long"):
            await resolver.resolve("slow.example", 80)

    asyncio.run(scene())
    released.set()


def test_no_socket_is_made_for_a_refused_address() -> None:
    info = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    with pytest.raises(RefusedAddressError, match=r"127\.0\.0\.1 is a loopback address"):
        Guard().socket(info)
    Guard(anywhere).socket(info).close()
