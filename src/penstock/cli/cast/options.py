"""Options that all commands of casts have."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.live.cast.lan_sockets import LanAddress

InterfaceOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Of this machine, on the network of the others.",
        show_default="the system's choice",
    ),
]
GroupOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS:PORT",
        help="Where senders are announced; the same for all that are to meet.",
    ),
]
InsecureOption: TypeAlias = Annotated[
    bool,
    typer.Option("--insecure", help="In the clear: who is on the network may read and forge."),
]
INTERFACE = ""
# Copies of values in live.cast.lan_sockets, so that --help need not import it.
GROUP = "239.255.74.52:7452"


def lan_of(interface: str, group: str) -> LanAddress:
    """The network that the options name."""
    from penstock.live.cast.lan_sockets import LanAddress

    host, _, port = group.rpartition(":")
    try:
        if not ipaddress.IPv4Address(host).is_multicast or not 0 < int(port) < 1 << 16:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"--group {group!r} is no multicast group: write one such as {GROUP}"
        ) from None
    if interface:
        try:
            ipaddress.IPv4Address(interface)
        except ValueError:
            raise UsageError(
                f"--interface {interface!r} is no address of a machine: write one such as 10.0.0.5"
            ) from None
    return LanAddress(host, int(port), interface or "0.0.0.0")
