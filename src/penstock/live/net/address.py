"""Network addresses: the text that users write, and the ports that machines use.

A machine's port is the text of a socket address, so no table of peers is needed: each can be
computed from the other.
"""

from __future__ import annotations

import asyncio
import socket
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from penstock.kernel.errors import UsageError
from penstock.kernel.machine import Port

Sockaddr: TypeAlias = tuple[str, int] | tuple[str, int, int, int]

_SCHEME: Final = "udp://"
_PORT_MAX: Final = 65_535
# More than the clients and neighbours of a broker; beyond it the text is recomputed each time.
_CACHED_MAX: Final = 8_192


class HostPort(NamedTuple):
    """A host name or IP address, and a UDP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return _join(self.host, self.port)


def parse(text: str, *, port_min: int = 1) -> HostPort:
    """Parses `udp://HOST:PORT` or `HOST:PORT`; an IPv6 host is written in brackets."""
    if not isinstance(text, str):
        raise UsageError(f"an address is text such as udp://127.0.0.1:7400, not {text!r}")
    host, colon, port = text.removeprefix(_SCHEME).rpartition(":")
    if "://" in host:
        raise UsageError(f"only UDP is spoken here: write {_SCHEME}HOST:PORT, not {text!r}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise UsageError(f"write an IPv6 address in brackets, as in [::1]:7400, not {text!r}")
    if not colon or not host or not (port.isascii() and port.isdigit()):
        raise UsageError(f"an address is HOST:PORT, as in 127.0.0.1:7400, not {text!r}")
    if not port_min <= int(port) <= _PORT_MAX:
        raise UsageError(f"a port is {port_min} to {_PORT_MAX}, not {port}")
    return HostPort(host, int(port))


async def resolve(address: HostPort, *, family: int = socket.AF_UNSPEC) -> tuple[int, Sockaddr]:
    """The address family and socket address of a host, looked up by name if necessary."""
    host, port = address
    try:
        # An IP address needs no lookup, and so no thread.
        found = socket.getaddrinfo(
            host, port, family, socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )
    except OSError:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                host, port, family=family, type=socket.SOCK_DGRAM
            )
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot find {host!r}: {why}: check the address") from None
    return int(found[0][0]), found[0][4]  # type: ignore[return-value]


@lru_cache(maxsize=_CACHED_MAX)
def port_of(address: Sockaddr) -> Port:
    """The port by which machines know this address."""
    if len(address) == 4 and address[3]:
        return _join(f"{address[0]}%{address[3]}", address[1])
    return _join(address[0], address[1])


@lru_cache(maxsize=_CACHED_MAX)
def sockaddr_of(port: Port) -> Sockaddr:
    """The address of a port that `port_of` returned."""
    host, _, port_number = port.rpartition(":")
    if not host.startswith("["):
        return host, int(port_number)
    host, _, scope = host[1:-1].partition("%")
    return host, int(port_number), 0, int(scope or 0)


def _join(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
