"""Addresses of brokers that listen at every address of their machine, such as 0.0.0.0:7451.

Such an address is that of the machine where it is read. The first broker that has reached that
machine from another one replaces it, by the address that it has used itself.
"""

from __future__ import annotations

from ipaddress import ip_address


def is_wildcard(address: str) -> bool:
    """Whether an address, `HOST:PORT`, is of no machine."""
    try:
        return ip_address(_host_of(address)).is_unspecified
    except ValueError:
        return False


def as_seen_here(address: str, distance: int, parent: str) -> str:
    """What clients here are told of an address that a parent has announced.

    `parent` is where this broker has reached it, "" if that is not known; between the parent and
    the address lie `distance` brokers, all on one machine if it is a wildcard.
    """
    if not is_wildcard(address):
        return address
    if not parent or distance == 0:
        return parent
    host, _, _ = parent.rpartition(":")
    _, _, port = address.rpartition(":")
    return f"{host}:{port}"


def as_passed_on(address: str, distance: int, parent: str) -> str:
    """What children are told of it: who is on the machine of the wildcard keeps that."""
    return address if _is_loopback(parent) else as_seen_here(address, distance, parent)


def _is_loopback(address: str) -> bool:
    host = _host_of(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_of(address: str) -> str:
    host, _, _ = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]")
