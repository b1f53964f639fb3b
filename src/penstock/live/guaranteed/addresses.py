"""Where brokers of streams are: `tcp://HOST:PORT`, `HOST:PORT` or `HOST`, one or several."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from errno import EADDRINUSE
from ipaddress import ip_address
from typing import Final

from penstock.api.units import quoted
from penstock.kernel.errors import UsageError
from penstock.live.net import address
from penstock.live.net.address import HostPort

_log: Final = logging.getLogger("penstock.link")
DEFAULT_ADDRESS: Final = "tcp://127.0.0.1:7451"
DEFAULT_PORT: Final = 7451
_VARIABLE: Final = "PENSTOCK_STREAMS"


def parse_address(text: str) -> HostPort:
    """One address; without a port it is that of streams."""
    plain = text.strip().removeprefix("tcp://")
    if "://" in plain:
        raise UsageError(f"streams speak TCP: write tcp://HOST:PORT, not {text!r}")
    # Without a port there is no colon, but those of an IPv6 address in brackets.
    has_port = ":" in plain and not plain.endswith("]")
    return address.parse(plain if has_port else f"{plain}:{DEFAULT_PORT}")


def broker_addresses(given: str | Sequence[str] | None) -> list[HostPort]:
    """All addresses, in the order in which they are tried; None is what the environment says."""
    if given is None:
        found_there = os.environ.get(_VARIABLE)
        given = found_there.split(",") if found_there else DEFAULT_ADDRESS
    texts = [given] if isinstance(given, str) else list(given)
    if not texts:
        raise UsageError('no address is given: write one, such as "tcp://127.0.0.1:7451"')
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f'{quoted(text)} is no address: write "tcp://HOST:PORT"')
    found = [parse_address(text) for text in texts]
    for where in found:
        if not _is_here(where.host):
            _log.warning(
                "%s is not on this machine, and nothing is encrypted: use trusted networks only",
                where,
                extra={"address": str(where)},
            )
    return found


def is_same(listen: HostPort, parent: HostPort) -> bool:
    """Whether a broker that listens there is plainly its own parent.

    By the addresses alone: another name of this machine is found out by the HELLO that comes back.
    """
    if listen.port != parent.port:
        return False
    if listen.host == parent.host:
        return True
    # To connect to a wildcard address is to connect to this machine.
    is_parent_here = _is_loopback(parent.host) or _is_wildcard(parent.host)
    if _is_wildcard(listen.host):
        return is_parent_here
    names = {"localhost", "127.0.0.1", "::1"}
    return listen.host in names and (parent.host in names or _is_wildcard(parent.host))


def reachable(where: HostPort) -> HostPort:
    """An address that says where it leads: to connect to a wildcard is to connect to loopback."""
    if not _is_wildcard(where.host):
        return where
    return HostPort("::1" if ":" in where.host else "127.0.0.1", where.port)


def why_not_listening(error: OSError) -> str:
    """What the system says, without the address again, and what to do."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return f"{error.strerror or error}: listen at an address of this machine"
    if error.errno == EADDRINUSE:
        return f"{os.strerror(error.errno)}: stop what runs there, or choose another port"
    return f"{os.strerror(error.errno)}: choose another address"


def _is_wildcard(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_here(host: str) -> bool:
    """Whether what is sent there stays on this machine; of other host names that is not asked."""
    if _is_loopback(host) or _is_wildcard(host) or host == socket.gethostname():
        return True
    try:
        address = ip_address(host)
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Sends nothing; to an address of its own a machine goes from the same one.
            probe.connect((host, DEFAULT_PORT))
            return ip_address(probe.getsockname()[0]) == address
    except (ValueError, OSError):
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
