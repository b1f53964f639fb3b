"""Addresses: what people write, and what machines call them."""

from __future__ import annotations

import re
import socket

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.net.address import HostPort, Sockaddr, parse, port_of, resolve, sockaddr_of
from tests.live.loopback import run


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("udp://127.0.0.1:7400", HostPort("127.0.0.1", 7400)),
        ("127.0.0.1:7400", HostPort("127.0.0.1", 7400)),
        ("localhost:1", HostPort("localhost", 1)),
        ("udp://[::1]:65535", HostPort("::1", 65535)),
    ],
)
def test_an_address_is_read(text: str, address: HostPort) -> None:
    assert parse(text) == address
    assert parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("7400", "an address is HOST:PORT"),
        ("127.0.0.1", "an address is HOST:PORT"),
        (":7400", "an address is HOST:PORT"),
        ("127.0.0.1:", "an address is HOST:PORT"),
        ("127.0.0.1:seven", "an address is HOST:PORT"),
        ("127.0.0.1:٣", "an address is HOST:PORT"),
        ("127.0.0.1:-1", "an address is HOST:PORT"),
        ("127.0.0.1:0", "a port is 1 to 65535"),
        ("127.0.0.1:65536", "a port is 1 to 65535"),
        ("tcp://127.0.0.1:7400", "only UDP is spoken here"),
        ("::1:7400", "write an IPv6 address in brackets"),
    ],
)
def test_what_is_no_address_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        parse(text)


def test_who_listens_may_leave_the_port_open() -> None:
    assert parse("127.0.0.1:0", port_min=0).port == 0


@pytest.mark.parametrize(
    ("address", "port"),
    [
        (("10.0.0.7", 53), "10.0.0.7:53"),
        (("::1", 53, 0, 0), "[::1]:53"),
        (("fe80::1", 53, 0, 2), "[fe80::1%2]:53"),
    ],
)
def test_a_port_leads_back_to_its_address(address: Sockaddr, port: str) -> None:
    assert port_of(address) == port
    assert sockaddr_of(port) == address


def test_numbers_and_names_are_resolved() -> None:
    assert run(resolve(HostPort("127.0.0.1", 7400))) == (socket.AF_INET, ("127.0.0.1", 7400))
    family, address = run(resolve(HostPort("localhost", 7400), family=socket.AF_INET))
    assert (family, address) == (socket.AF_INET, ("127.0.0.1", 7400))


def test_an_unknown_name_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError, match=r"cannot find 'a b': .*: check the address"):
        run(resolve(HostPort("a b", 7400)))
